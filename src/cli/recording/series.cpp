#include "cli/recording/series.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cli/recording/leftovers.h"
#include "cli/talk.h"
#include "gprof/error.h"
#include "launch/run/relay.h"
#include "launch/run/trace_output.h"

namespace gprof::cli {
namespace {

constexpr std::string_view kTraceEnding = ".trace";
constexpr std::string_view kRunFileEnding = ".runs.json";
constexpr std::string_view kSeparators = "-_.";

std::string WithoutTraceEnding(const std::string& name) {
  return name.ends_with(kTraceEnding) ? name.substr(0, name.size() - kTraceEnding.size()) : name;
}

// "out/run-%n.trace" -> "out/run": what stands between the number and the rest of the name goes with it.
std::string WithoutNumber(const std::string& pattern) {
  const std::size_t slash = pattern.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : pattern.substr(0, slash + 1);
  std::string name = WithoutTraceEnding(pattern.substr(folder.size()));
  const std::string mark(1, '\0');  // is in no file name
  name = WithNumber(name, mark);
  for (std::size_t at = 0; (at = name.find(mark, at)) != std::string::npos;) {
    const bool has_separator = at > 0 && kSeparators.find(name[at - 1]) != std::string_view::npos;
    if (has_separator) --at;
    name.erase(at, has_separator ? 2 : 1);
  }
  return folder + (name.empty() ? "run" : name);
}

// "run 3 of './app'", and in a comparison "run 3 of './app' (new)".
std::string NameOfLastRun(const RunFile& file) {
  const RecordedRun& run = file.runs.back();
  return (run.is_warm_up ? "warm-up run " : "run ") + std::to_string(run.number) + " of '" + file.command.front() +
         "'" + (file.label.empty() ? "" : " (" + file.label + ")");
}

// Between two programs.
int LateSignal(const LaunchResult& end) {
  const int signal = SettleSignals();
  return end.late_signal != 0 ? end.late_signal : signal;
}

bool HasFailed(const LaunchResult& result) { return result.exit_code != 0 && !result.was_ended_by_capture; }

// As many digits as the last one has: names sort, and what a run sees in its environment is as long as in any other.
std::string NumberText(const SeriesOptions& options, uint32_t number, bool is_warm_up) {
  const std::size_t width = std::to_string(is_warm_up ? options.warm_ups : options.runs).size();
  const std::string digits = std::to_string(number);
  return (is_warm_up ? "warmup-" : "") + std::string(width - digits.size(), '0') + digits;
}

// The run file, and the traces whose names are known before their programs run.
std::vector<std::string> FilesOf(const SeriesProgram& program, const SeriesOptions& options) {
  std::vector<std::string> files = {program.file.path};
  const auto add = [&](uint32_t number, bool is_warm_up) {
    const std::string pattern = WithNumber(program.launch.output, NumberText(options, number, is_warm_up));
    std::string path = ExpandPattern(pattern, 1, 0);
    // Where the pid is part of the name, nobody can know it yet.
    if (path == ExpandPattern(pattern, 2, 0)) files.push_back(std::move(path));
  };
  for (uint32_t number = 1; number <= options.warm_ups; ++number) add(number, true);
  for (uint32_t number = 1; number <= options.runs; ++number) add(number, false);
  return files;
}

}  // namespace

SeriesProgram ProgramOfOutput(const LaunchOptions& launch) {
  SeriesProgram program;
  program.launch = launch;
  std::string& pattern = program.launch.output;
  const bool has_number = WithNumber(pattern, "1") != WithNumber(pattern, "2");
  const std::string folder = pattern.substr(0, pattern.rfind('/') == std::string::npos ? 0 : pattern.rfind('/'));
  if (WithNumber(folder, "1") != WithNumber(folder, "2")) {
    throw Error(ExitCode::kUsage, "'" + pattern + "' would spread the traces of one series over several folders",
                "use %n in the file name, not in the folder");
  }
  const std::string stem = has_number ? WithoutNumber(pattern) : WithoutTraceEnding(pattern);
  if (stem.empty() || stem.ends_with('/')) {
    throw Error(ExitCode::kUsage, "'" + pattern + "' cannot name the traces of a series",
                "example: -o run.trace, or -o 'run-%n.trace'");
  }
  if (!has_number) pattern = stem + "-%n" + std::string(kTraceEnding);
  program.file.path = ExpandPattern(stem, getpid(), 0) + std::string(kRunFileEnding);
  return program;
}

SeriesProgram ProgramOfDefaultOutput(LaunchOptions launch, const SeriesOptions& options) {
  const std::string name = launch.output;
  launch.is_default_output = false;
  for (unsigned number = 1;; ++number) {
    launch.output = NumberedName(name, number);
    SeriesProgram program = ProgramOfOutput(launch);
    const std::vector<std::string> files = FilesOf(program, options);
    const auto is_taken = [](const std::string& path) { return std::filesystem::exists(path); };
    if (launch.may_overwrite || std::none_of(files.begin(), files.end(), is_taken)) return program;
  }
}

Series::Series(std::vector<SeriesProgram> programs, const SeriesOptions& options)
    : programs_(std::move(programs)), options_(options) {
  for (SeriesProgram& program : programs_) {
    program.file.command = program.launch.command;
    program.file.planned_runs = options_.runs;
    program.file.planned_warm_ups = options_.warm_ups;
    CheckProgramOf(program.launch);
  }
  RefuseExistingFiles();
}

void Series::RefuseExistingFiles() const {
  for (const SeriesProgram& program : programs_) {
    for (const std::string& path : FilesOf(program, options_)) RefuseExisting(path, program.launch.may_overwrite);
  }
}

LaunchOptions Series::OptionsFor(const SeriesProgram& program, uint32_t number, bool is_warm_up) const {
  LaunchOptions options = program.launch;
  options.output = WithNumber(options.output, NumberText(options_, number, is_warm_up));
  if (is_warm_up && !options_.keeps_warm_ups) options.finish_trace = nullptr;
  return options;
}

void Series::SayProgress(uint32_t number, bool is_warm_up) const {
  const char* const what = programs_.size() > 1 ? "round " : "run ";
  const uint32_t count = is_warm_up ? options_.warm_ups : options_.runs;
  programs_.front().launch.say((is_warm_up ? "warm-up " : "") + std::string(what) + std::to_string(number) + " of " +
                               std::to_string(count));
}

SeriesResult Series::Run() {
  if (options_.runs + options_.warm_ups > 1 && input_.IsForOneProgram()) {
    programs_.front().launch.warn(
        "stdin is a pipe: the first run reads it all and later runs get nothing; a file (< FILE) is reread "
        "by every run");
  }
  bool goes_on = true;
  for (uint32_t number = 1; goes_on && number <= options_.warm_ups; ++number) goes_on = RunRound(number, true);
  for (uint32_t number = 1; goes_on && number <= options_.runs; ++number) goes_on = RunRound(number, false);
  result_.is_complete = goes_on;
  RestoreInheritedSignals();
  return result_;
}

bool Series::RunRound(uint32_t number, bool is_warm_up) {
  SayProgress(number, is_warm_up);
  std::vector<SeriesProgram*> turn;
  for (SeriesProgram& program : programs_) turn.push_back(&program);
  if (number % 2 == 0) std::reverse(turn.begin(), turn.end());
  return std::all_of(turn.begin(), turn.end(),
                     [&](SeriesProgram* program) { return RunOne(program, number, is_warm_up); });
}

bool Series::RunOne(SeriesProgram* program, uint32_t number, bool is_warm_up) {
  RecoverEarlierRuns();
  input_.Rewind();
  LaunchOptions options = OptionsFor(*program, number, is_warm_up);
  const bool has_warned = order_ >= programs_.size();
  if (has_warned) options.warn = [](const std::string&) {};
  LaunchResult end = RunTraced(options);
  RecordedRun run;
  run.trace = end.trace_path;
  run.is_warm_up = is_warm_up;
  run.number = number;
  run.order = ++order_;
  run.exit_code = end.exit_code;
  run.signal = end.signal;
  run.start_unix_ns = end.start_unix_ns;
  run.wall_ns = end.wall_ns;
  const int late_signal = LateSignal(end);
  const bool was_disturbed = end.is_displaced || end.stop_signal != 0 || (late_signal != 0 && HasFailed(end));
  if (end.stop_signal == 0) end.stop_signal = late_signal;
  run.outcome = was_disturbed ? RunOutcome::kInterrupted : HasFailed(end) ? RunOutcome::kFailed : RunOutcome::kGood;
  if (is_warm_up && run.outcome == RunOutcome::kGood && !options_.keeps_warm_ups) {
    unlink(run.trace.c_str());
    run.trace.clear();
  }
  program->file.runs.push_back(run);
  WriteFile(program->file.path, RunFileText(program->file));
  return GoesOn(program->file, end);
}

bool Series::GoesOn(const RunFile& file, const LaunchResult& end) {
  if (result_.exit_code == 0) result_.exit_code = end.exit_code;
  result_.stop_signal = end.stop_signal;
  if (end.stop_signal != 0) return false;
  if (file.runs.back().outcome != RunOutcome::kFailed) return true;
  const std::string failure = NameOfLastRun(file) + " " + EndingText(end.exit_code, end.signal);
  if (options_.keeps_going) {
    programs_.front().launch.warn(failure + "; ignored");
    return true;
  }
  result_.failure = failure;
  return false;
}

}  // namespace gprof::cli
