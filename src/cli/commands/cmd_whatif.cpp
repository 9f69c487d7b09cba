// gprof-cli what-if: delays parts of a running program and measures what they are worth. docs/commands/what-if.md
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "analysis/facts/delays/delay_plan.h"
#include "analysis/facts/delays/delay_samples.h"
#include "analysis/facts/delays/program_progress.h"
#include "analysis/facts/delays/worth_table.h"
#include "base/expression/regular_expression.h"
#include "base/machine/scratch_folder.h"
#include "base/table.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/arguments/attach_arguments.h"
#include "cli/arguments/options.h"
#include "cli/arguments/program_arguments.h"
#include "cli/commands/commands.h"
#include "cli/proof/trial.h"
#include "cli/recording/leftovers.h"
#include "cli/recording/name_frames.h"
#include "cli/render/text_layout.h"
#include "cli/talk.h"
#include "gprof/error.h"
#include "gprof/trace/env.h"
#include "import/read_trace.h"
#include "launch/attach/attach.h"
#include "launch/attach/attach_target.h"
#include "launch/run/input.h"
#include "launch/run/launch.h"
#include "report/json_values.h"

namespace gprof::cli {
namespace {

constexpr char kWhatIfUsage[] = "usage: gprof-cli what-if [options] [--] APP [ARGS...]|--attach PID";
// Every delay comes about so often: enough for an interval of some tenths of a nanosecond.
constexpr int64_t kRounds = 8;
constexpr uint32_t kMostRuns = 50;

using IsWanted = std::function<bool(const ThingUse&)>;

bool IsOfPython(const std::string& line) { return line.substr(0, line.rfind(':')).ends_with(".py"); }

// "line:FILE:N".
void CheckLine(const std::string& word) {
  const std::size_t colon = word.rfind(':');
  const std::string file = colon < kLineThing.size() ? "" : word.substr(kLineThing.size(), colon - kLineThing.size());
  const std::string number = word.substr(colon + 1);
  const bool is_number = !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  if (!file.empty() && is_number) return;
  throw Error(ExitCode::kUsage, "'" + word + "' is no line of a file", "example: line:train.py:42");
}

// "range:load*" of names, "kernel:REGEX", and kinds alone.
IsWanted WantedBy(const std::string& word) {
  constexpr char kExample[] = "for example kernel:gemm";
  if (IsKernelThing(word)) {
    const RegularExpression expression(word.substr(kKernelThing.size()), kExample);
    return [expression](const ThingUse& use) {
      return use.kind == ThingKind::kKernel && expression(std::string_view(use.name).substr(kKernelThing.size()));
    };
  }
  if (word.starts_with(kLineThing)) {
    CheckLine(word);
    return [word](const ThingUse& use) { return ShownThing(use.name) == word; };
  }
  const bool is_open = word.ends_with('*');
  const std::string name = is_open ? word.substr(0, word.size() - 1) : word;
  const bool is_known = word == "launches" || word == "sync" || word == "copies" || word.starts_with("api:") ||
                        word.starts_with("range:");
  if (!is_known) {
    throw Error(ExitCode::kUsage, "'" + word + "' is nothing that can be delayed",
                "--of takes launches, sync, copies, api:NAME, kernel:REGEX, range:NAME and line:FILE:N");
  }
  return [name, is_open](const ThingUse& use) { return is_open ? use.name.starts_with(name) : use.name == name; };
}

struct Runs {
  DelaySamples samples;
  uint32_t count = 0;
};

class WhatIf : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    constexpr char kGroup[] = "Delays";
    app.add_option(
           "--of", things_,
           "what to delay, comma-separated: launches, sync, copies, api:NAME, kernel:REGEX, range:NAME, line:FILE:N "
           "(default: "
           "launches, copies, waits, and the largest NVTX ranges and kernels)")
        ->type_name("LIST")
        ->delimiter(',')
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false)
        ->group(kGroup);
    app.add_option(
           "--progress", progress_,
           "NVTX range that counts as progress, by name or path (default: the step, or else the kernel with the "
           "most GPU time)")
        ->type_name("NAME|PATH")
        ->group(kGroup);
    app.add_option("-n,--runs", runs_, "runs with delays (default: as many as are needed, at most 50)")
        ->type_name("N")
        ->check(WholeNumber(1, 1000))
        ->group(kGroup);
    app.add_option("--seed", seed_, "of the order of the delays (default 1)")->type_name("N")->group(kGroup);
    app.add_option("-f,--format", format_, "text (default) or json")
        ->type_name("text|json")
        ->check(OneOf({"text", "json"}))
        ->group("Output");
    app.add_option("-o,--output", folder_, "folder that keeps the traces of all runs (default: deleted)")
        ->type_name("FOLDER")
        ->group("Output");
    AddAttachOptions(app);
    program_.AddTraceOptions(app);
    program_.AddProgramOptions(app, ShowOutput::kOnStderrIfWanted);
  }

  int Run() override {
    IsWanted is_wanted = Wanted();
    LaunchOptions launch = attached_.empty() ? program_.Read(kWhatIfUsage) : ReadAttached();
    launch.python_lines = PythonLines();
    RecordStacksOfLines(&launch);
    std::optional<ScratchFolder> temporary;
    if (folder_.empty())
      temporary.emplace("what-if", ExitCode::kLaunchFailed, "choose a folder for the traces with -o");
    const std::string folder = temporary ? temporary->path() : folder_;
    std::filesystem::create_directories(folder);
    launch.may_overwrite = true;

    launch.say("run without delays");
    const std::string undelayed = folder + "/undelayed.trace";
    const int stop_signal = RunOnce(launch, undelayed);
    if (stop_signal != 0) return 128 + stop_signal;
    Runs all;
    const PlannedDelays plan = Plan(undelayed, is_wanted, &all);
    const uint32_t runs = RunsFor(plan, launch);
    for (uint32_t number = 1; number <= runs; ++number) {
      launch.say(fmt::format("run {} of {} with delays", number, runs));
      launch.delays = DelayRequest(plan, seed_ * 1000 + number);
      const std::string file = fmt::format("{}/delayed-{}.trace", folder, number);
      if (has_ended_ || RunOnce(launch, file) != 0) break;  // what is known so far is told
      ++all.count;
      const Trace trace = ReadTrace(file);
      const DelaySamples samples = ReadDelayWindows(AnalysisInput(trace), progress_);
      CheckDelays(samples, plan);
      Join(samples, &all.samples);
    }
    if (all.count == 0) throw Error(ExitCode::kInconclusive, "stopped before a run with delays was complete");
    return Tell(all);
  }

 private:
  // Of --of, as the launcher passes them on.
  std::string PythonLines() const {
    std::string lines;
    for (const std::string& word : things_) {
      if (word.starts_with(kLineThing) && IsOfPython(word))
        lines += (lines.empty() ? "" : ",") + word.substr(kLineThing.size());
    }
    return lines;
  }

  std::vector<std::string> LinesOfCalls() const {
    std::vector<std::string> lines;
    std::ranges::copy_if(things_, std::back_inserter(lines),
                         [](const std::string& word) { return word.starts_with(kLineThing) && !IsOfPython(word); });
    return lines;
  }

  // Whose calls are told apart by their stacks: all of them have one then, and its functions their lines.
  void RecordStacksOfLines(LaunchOptions* launch) const {
    if (LinesOfCalls().empty()) return;
    launch->variables.emplace_back(trace::env::kCudaStacks, "kernel:0,memory:0,sync:0,other:0");
    launch->finish_trace = [is_quiet = launch->is_quiet](const FinishedTrace& trace) { NameFrames(trace, is_quiet); };
  }

  IsWanted Wanted() const {
    if (things_.empty()) return nullptr;
    std::vector<IsWanted> any;
    for (const std::string& word : things_) any.push_back(WantedBy(word));
    return
        [any](const ThingUse& use) { return std::ranges::any_of(any, [&](const IsWanted& one) { return one(use); }); };
  }

  // A tracer keeps the settings of the first attachment, which may have been without a word of delays.
  void CheckDelays(const DelaySamples& samples, const PlannedDelays& plan) const {
    if (attached_.empty() || samples.windows > 0) return;
    throw Error(ExitCode::kInconclusive, "nothing was delayed in process " + attached_,
                fmt::format("a recording has to be longer than two windows of {} (--duration); a program that was "
                            "attached to before, without what-if, has to be restarted",
                            FormatNs(plan.window_ns)));
  }

  void AddAttachOptions(CLI::App& app) {
    constexpr char kGroup[] = "Process";
    app.add_option("--attach", attached_, "a program that runs already, in place of APP")
        ->type_name("PID")
        ->group(kGroup);
    app.add_option("--duration", duration_, "with --attach: how long each recording of it takes (default 10)")
        ->type_name("SEC")
        ->group(kGroup);
    app.add_flag("--experimental", is_experimental_, "needed for --attach, as for gprof-cli attach")->group(kGroup);
  }

  LaunchOptions ReadAttached() {
    if (!PythonLines().empty() || !LinesOfCalls().empty()) {
      throw Error(ExitCode::kUsage, "--of line: has to be asked for when the program starts",
                  "start the program under what-if, without --attach");
    }
    LaunchOptions trace = program_.ReadTraceOptions();
    PrepareForAttach(is_experimental_, &trace);
    trace.say = [](const std::string& text) { Say(text); };
    trace.may_delay = true;
    return trace;
  }

  // The signal that ended it, 0 where none did.
  int RunOnce(const LaunchOptions& launch, const std::string& file) {
    return attached_.empty() ? RunProgram(launch, file) : RecordAttached(launch, file);
  }

  int RecordAttached(const LaunchOptions& trace, const std::string& file) {
    AttachOptions options;
    options.pid = ChooseProcess("what-if", attached_, "");
    options.trace = trace;
    options.duration_ns = ReadSeconds("--duration", duration_);
    RecoverEarlierRuns();
    FindAttachTarget(options.pid);
    const AttachResult result = RunAttached(options, OpenOutput(PatternOf(file), options.pid, true));
    has_ended_ = result.has_program_ended;
    return result.stop_signal;
  }

  int RunProgram(const LaunchOptions& launch, const std::string& file) {
    LaunchResult result = RunInTurn(launch, file, &input_);
    if (result.exit_code != 0 && result.stop_signal == 0) {
      throw Error(
          ExitCode::kLaunchFailed,
          "'" + launch.command.front() + "' " + EndingText(result.exit_code, result.signal) + "; nothing was measured",
          launch.program_output == ProgramOutput::kOnStderr ? "" : "-w true shows the output of the program");
    }
    return result.stop_signal;
  }

  PlannedDelays Plan(const std::string& path, const IsWanted& is_wanted, Runs* all) {
    const Trace trace = ReadTrace(path);
    const AnalysisInput input(trace);
    const std::optional<ProgramProgress> progress = FindProgress(input, progress_);
    if (!progress) {
      throw Error(ExitCode::kInconclusive,
                  progress_.empty()
                      ? "no progress to measure: the program has no step that repeats at least five times, "
                        "and no kernel that is launched at least 20 times"
                      : "no NVTX range '" + progress_ + "' repeats at least five times",
                  "put an NVTX range around an iteration, and name it with --progress");
    }
    steady_ns_ = progress->window().DurationNs();
    is_kernel_ = progress->is_kernel;
    const PlannedDelays plan = PlanDelays(input, *progress, is_wanted, LinesOfCalls());
    if (plan.things.empty()) {
      throw Error(
          ExitCode::kInconclusive, "nothing to delay: the program does nothing of that within '" + progress->name + "'",
          LinesOfCalls().empty() ? "gprof-cli report shows what it does; what runs within CUDA graphs cannot be delayed"
                                 : "a line of C++ is known by its calls of CUDA, in code with debug information (-g)");
    }
    all->samples.progress = progress->name;
    return plan;
  }

  uint32_t RunsFor(const PlannedDelays& plan, const LaunchOptions& launch) const {
    const int64_t needed_ns = kRounds * plan.RoundNs();
    const auto needed = static_cast<uint32_t>(
        std::clamp<int64_t>((needed_ns + steady_ns_ - 1) / std::max<int64_t>(1, steady_ns_), 1, kMostRuns));
    const uint32_t runs = runs_ != 0 ? runs_ : needed;
    launch.say(fmt::format("{} to delay, a window is {}; {} of about {} each",
                           CountOf(static_cast<int64_t>(plan.things.size()), "thing"), FormatNs(plan.window_ns),
                           CountOf(runs, "run"), FormatNs(steady_ns_)));
    return runs;
  }

  int Tell(const Runs& all) const {
    const std::vector<Worth> worths = MeasureWorth(all.samples);
    const bool is_told =
        std::ranges::any_of(worths, [](const Worth& worth) { return worth.verdict != WorthVerdict::kCannotTell; });
    WriteResult(format_ == "json" ? JsonOf(all, worths) : TextOf(all, worths));
    return CodeOf(is_told ? ExitCode::kGood : ExitCode::kInconclusive);
  }

  std::string UnitWord() const { return is_kernel_ ? "launch" : "step"; }

  std::string TextOf(const Runs& all, const std::vector<Worth>& worths) const {
    const DelaySamples& samples = all.samples;
    std::string text =
        fmt::format("Progress   {} '{}', {} without delays ({} of them)\n", is_kernel_ ? "launches of" : "step",
                    samples.progress, FormatNs(static_cast<int64_t>(samples.UnitNs())), samples.undelayed_units);
    text += fmt::format("Delays     {} in {}", CountOf(samples.windows, "window"), CountOf(all.count, "run"));
    if (samples.unusable > 0)
      text += fmt::format(", {} not used: too little progress in or beside them", samples.unusable);
    text += fmt::format("\nCost       the delays made the program {:.1f}% slower on average\n\n",
                        std::max(0.0, samples.SlowDownPercent()));
    const Table table = WorthTable(worths);
    const Terminal terminal = DetectTerminal(STDOUT_FILENO);
    text += RenderTable(cli::TextOf(table, terminal.columns / 3), terminal.columns, Style(terminal.has_color), kMargin);
    text += "\n" + std::string(kMargin, ' ') + "1 ns costs: ns of a " + UnitWord() +
            " for each ns of the thing; 0 is hidden behind other work, 1 on the path.\n";
    text += std::string(kMargin, ' ') + "Halving saves: of a " + UnitWord() +
            ", where the slope holds that far; at most that, as other work may then be in the way.\n";
    return text;
  }

  static std::string JsonOf(const Runs& all, const std::vector<Worth>& worths) {
    Json json;
    json["schema"] = "gprof.what_if/1";
    json["progress"] = all.samples.progress;
    json["step_ns"] = all.samples.UnitNs();
    json["steps"] = all.samples.undelayed_units;
    json["runs"] = all.count;
    json["windows"] = all.samples.windows;
    json["windows_not_used"] = all.samples.unusable;
    json["slow_down_percent"] = all.samples.SlowDownPercent();
    json["table"] = TableJson(WorthTable(worths), "delays");
    return ToText(json);
  }

  ProgramArguments program_;
  std::vector<std::string> things_;
  std::string progress_, format_ = "text", folder_, attached_, duration_ = "10";
  bool is_experimental_ = false;
  bool has_ended_ = false;  // what is attached to
  uint32_t runs_ = 0;       // 0: as many as are needed
  uint64_t seed_ = 1;
  SharedInput input_;
  int64_t steady_ns_ = 0;
  bool is_kernel_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeWhatIf() { return std::make_unique<WhatIf>(); }

}  // namespace gprof::cli
