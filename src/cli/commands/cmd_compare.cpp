// gprof-cli compare: runs two programs in turn and judges the difference. docs/commands/compare.md
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/machine/scratch_folder.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/arguments/capture_arguments.h"
#include "cli/arguments/diff_arguments.h"
#include "cli/arguments/options.h"
#include "cli/arguments/program_arguments.h"
#include "cli/arguments/selection_arguments.h"
#include "cli/commands/commands.h"
#include "cli/recording/recorded.h"
#include "cli/recording/series.h"
#include "cli/talk.h"
#include "gate/diff/diff.h"
#include "gate/runs/run_set.h"
#include "gprof/error.h"
#include "launch/run/trace_output.h"

namespace gprof::cli {
namespace {

constexpr char kCompareUsage[] = "usage: gprof-cli compare [options] -- BASE [ARGS...] ::: NEW [ARGS...]";

constexpr char kChooseFolder[] = "choose a folder for the traces with -o";

class Compare : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    AddSeriesOptions(app);
    AddOutputOptions(app);
    program_.AddFlushOption(app);
    program_.AddTraceOptions(app);
    capture_.AddOptions(app);
    program_.AddProgramOptions(app, ShowOutput::kOnStderrIfWanted);
    AddStepOption(app, &step_, "Filters");
    selection_.AddOptions(app);
    diff_.AddOptions(app, true);
  }

  int Run() override {
    if (!is_for_git_) return CompareBoth();
    try {
      return CodeForGit(static_cast<ExitCode>(CompareBoth()));
    } catch (const Error& error) {
      Tell(error);
      return CodeForGit(error.code());
    }
  }

 private:
  // What `git bisect run` makes of an exit code: 125 skips the commit, from 128 on it ends the bisection, and all else
  // but 0 is a bad commit. Only a regression is one.
  static int CodeForGit(ExitCode code) {
    constexpr int kEndsBisection = 128;
    switch (code) {
      case ExitCode::kGood:
      case ExitCode::kGateFailed:
        return CodeOf(code);
      case ExitCode::kUsage:
      case ExitCode::kBug:
        return kEndsBisection;
      default:
        return CodeOf(code) >= kEndsBisection ? CodeOf(code) : CodeOf(ExitCode::kLaunchFailed);
    }
  }

  int CompareBoth() {
    LaunchOptions launch = program_.Read(kCompareUsage);
    launch.capture = capture_.Read(launch.trace_cuda, launch.trace_nvtx);
    launch.may_overwrite = may_overwrite_;
    const auto [base, now] = SplitCommands(launch.command);
    RefuseWhatCannotBeCompared(launch);
    DiffOptions options = diff_.Options();
    options.are_pairs = true;
    RunSetOptions loading;
    loading.selection = selection_.Read();
    loading.selected = Describe(loading.selection);
    loading.analysis.step = step_;
    std::optional<ScratchFolder> temporary;
    if (folder_.empty()) temporary.emplace("compare", ExitCode::kLaunchFailed, kChooseFolder);
    const std::string folder = temporary ? temporary->path() : folder_;
    Series series({ProgramIn(folder, launch, "base", "new", base), ProgramIn(folder, launch, "new", "base", now)},
                  series_);
    MakeFolder(folder);
    const SeriesResult result = series.Run();
    if (!result.is_complete) return TellEarlyEnd(series, result, launch);
    for (const std::size_t program : {0, 1}) RefuseEmpty(series.file(program));
    return Judge(series, options, loading, temporary ? &*temporary : nullptr);
  }

  void AddSeriesOptions(CLI::App& app) {
    constexpr char kGroup[] = "Runs";
    app.add_option("-n,--runs", series_.runs, "measured runs per program (default 10)")
        ->type_name("N")
        ->check(WholeNumber(1, 10'000))
        ->group(kGroup);
    app.add_option("--warmup", series_.warm_ups, "warm-up runs per program, not measured (default 1)")
        ->type_name("K")
        ->check(WholeNumber(0, 10'000))
        ->group(kGroup);
    app.add_option("--separator", separator_, "word that separates the two command lines (default :::)")
        ->type_name("WORD")
        ->group(kGroup);
    app.add_flag("--git-bisect", is_for_git_,
                 "exit codes for git bisect run: 125, which skips the commit, where nothing can be told")
        ->group(kGroup);
  }

  void AddOutputOptions(CLI::App& app) {
    constexpr char kGroup[] = "Output";
    app.add_option("-o,--output", folder_,
                   "folder for the traces and the run files base.runs.json and new.runs.json (default: "
                   "deleted at the end)")
        ->type_name("FOLDER")
        ->group(kGroup);
    app.add_flag("-f,--force-overwrite", may_overwrite_, "overwrite files of an earlier comparison in that folder")
        ->group(kGroup);
  }

  std::pair<std::vector<std::string>, std::vector<std::string>> SplitCommands(
      const std::vector<std::string>& words) const {
    const auto middle = std::find(words.begin(), words.end(), separator_);
    if (middle == words.end()) {
      throw Error(ExitCode::kUsage, "only one program given, nothing to compare it with",
                  "put " + separator_ + " between the two command lines; " + kCompareUsage);
    }
    if (std::find(middle + 1, words.end(), separator_) != words.end()) {
      throw Error(ExitCode::kUsage, "compare takes two programs, but there is a second " + separator_,
                  "if it is an argument of a program, choose another separator with --separator WORD");
    }
    if (middle == words.begin() || middle + 1 == words.end()) {
      throw Error(ExitCode::kUsage,
                  "no program " + std::string(middle == words.begin() ? "before " : "after ") + separator_,
                  kCompareUsage);
    }
    return {{words.begin(), middle}, {middle + 1, words.end()}};
  }

  static void RefuseWhatCannotBeCompared(const LaunchOptions& launch) {
    if (launch.TracesNothing()) {
      throw Error(ExitCode::kUsage, "-t none records nothing to compare", "remove it");
    }
  }

  static void MakeFolder(const std::string& folder) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed)
      throw Error(ExitCode::kLaunchFailed, "cannot create the folder '" + folder + "': " + failed.message(),
                  kChooseFolder);
  }

  static SeriesProgram ProgramIn(const std::string& folder, const LaunchOptions& launch, const std::string& label,
                                 const std::string& other, const std::vector<std::string>& command) {
    const std::string stem = (std::filesystem::path(folder) / label).string();
    SeriesProgram program;
    program.launch = launch;
    program.launch.command = command;
    program.launch.output = PatternOf(stem) + "-%n.trace";
    program.file.path = stem + ".runs.json";
    program.file.label = label;
    program.file.counterpart = (std::filesystem::path(folder) / (other + ".runs.json")).string();
    return program;
  }

  static int TellEarlyEnd(const Series& series, const SeriesResult& result, const LaunchOptions& launch) {
    if (result.failure.empty()) {
      const std::size_t runs = series.file(0).runs.size() + series.file(1).runs.size();
      Say(SignalName(result.stop_signal) + " stopped the comparison after " +
          CountOf(static_cast<int64_t>(runs), "run") + "; no verdict");
      return 128 + result.stop_signal;
    }
    const bool is_shown = launch.program_output == ProgramOutput::kOnStderr;
    throw Error(ExitCode::kLaunchFailed, result.failure + "; no verdict",
                is_shown ? "" : "-w true shows the output of the programs");
  }

  static void RefuseEmpty(const RunFile& file) {
    const auto is_empty = [](const RecordedRun& run) {
      const Recorded recorded = run.Counts() ? ScanTrace(run.trace) : Recorded{};
      return (recorded.HasNothing() && !recorded.is_damaged) || recorded.IsSeenOnly();
    };
    if (!std::all_of(file.runs.begin(), file.runs.end(), is_empty)) return;
    throw Error(ExitCode::kUnreadable,
                "nothing was recorded in any run of '" + file.command.front() + "' (" + file.label +
                    "): the tracer saw no CUDA or NVTX call",
                "gprof-cli doctor checks whether recording works on this machine");
  }

  int Judge(const Series& series, const DiffOptions& options, const RunSetOptions& loading,
            ScratchFolder* temporary) const {
    // What was recorded must not be lost to what goes wrong here.
    if (temporary != nullptr) temporary->Keep();
    try {
      const RunSet base = LoadSide(series.file(0), loading, temporary != nullptr);
      const RunSet now = LoadSide(series.file(1), loading, temporary != nullptr);
      const Diff diff = CompareRuns(base, now, options);
      const int code = diff_.Show(diff, loading.selected);
      if (temporary != nullptr) temporary->Keep(false);
      return code;
    } catch (const Error&) {
      if (temporary != nullptr) Say("traces kept in '" + temporary->path() + "'");
      throw;
    }
  }

  // Called by its command line; files of a temporary folder are gone when somebody reads where they were.
  static RunSet LoadSide(const RunFile& file, const RunSetOptions& loading, bool is_temporary) {
    RunSet set = LoadRunSet({file.path}, loading);
    set.name = ShellLine(file.command);
    // That these do not count is what --warmup says.
    std::erase_if(set.notes, [](const std::string& note) { return note.find("warm-up run") != std::string::npos; });
    for (Measurement& run : set.runs) {
      if (is_temporary) run.source = std::filesystem::path(run.source).filename().string();
    }
    return set;
  }

  ProgramArguments program_;
  CaptureArguments capture_;
  SelectionArguments selection_;
  DiffArguments diff_;
  SeriesOptions series_{.runs = 10, .warm_ups = 1};
  std::string separator_ = ":::", folder_, step_;
  bool may_overwrite_ = false, is_for_git_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeCompare() { return std::make_unique<Compare>(); }

}  // namespace gprof::cli
