// gprof-cli try: runs a program with changes that need no source, and says which make it faster. docs/commands/try.md
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/findings/change_catalogue.h"
#include "base/expression/regular_expression.h"
#include "base/machine/scratch_folder.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/arguments/capture_arguments.h"
#include "cli/arguments/options.h"
#include "cli/arguments/program_arguments.h"
#include "cli/arguments/result_arguments.h"
#include "cli/commands/commands.h"
#include "cli/proof/change_values.h"
#include "cli/proof/trials.h"
#include "cli/render/proof/render_trials.h"
#include "cli/talk.h"
#include "gate/budget/value_text.h"
#include "gate/trials/judge_trials.h"
#include "gprof/error.h"
#include "import/read_trace.h"
#include "report/report.h"

namespace gprof::cli {
namespace {

constexpr char kTryUsage[] = "usage: gprof-cli try [options] [--all|CHANGE...] -- APP [ARGS...]";

AppliedChange ChangeNamed(const std::string& name, const Variables& variables, const std::string& cache) {
  if (const ChangeInfo* info = FindChange(name)) return ApplyChange(*info, variables, cache);
  if (name.starts_with('-'))
    throw Error(ExitCode::kUsage, name + " stands behind the names of changes", "put options before them");
  std::vector<std::string> known;
  for (const ChangeInfo& info : ChangeCatalogue()) known.emplace_back(info.name);
  throw Error(ExitCode::kUsage, "unknown change '" + name + "'",
              NearestHint(name, known, "gprof-cli try --list lists them"));
}

std::vector<std::string> ChangesThatFindingsAskFor(const std::string& trace, const std::string& step) {
  std::vector<const Analysis*> analyses;
  for (const Analysis& analysis : AllAnalyses()) analyses.push_back(&analysis);
  AnalysisOptions options;
  options.step = step;
  const Trace records = ReadTrace(trace);
  const Report report = RunAnalyses(records, analyses, options);
  return ChangesToTry(report);
}

class Try : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app_ = &app;
    AddChangeOptions(app);
    AddResultOptions(app);
    result_.AddOptions(app);
    program_.AddFlushOption(app);
    program_.AddTraceOptions(app);
    capture_.AddOptions(app);
    program_.AddProgramOptions(app, ShowOutput::kOnStderrIfWanted);
  }

  int Run() override {
    if (lists_) {
      WriteResult(RenderChanges(DetectTerminal(STDOUT_FILENO)));
      return CodeOf(ExitCode::kGood);
    }
    ScratchFolder scratch("try", ExitCode::kLaunchFailed);
    TrialsOptions options = ReadOptions(scratch.path());
    const std::vector<std::string> names = TakeNames(&options.launch);
    std::vector<AppliedChange> changes = ChangesOf(names, options, scratch.path());
    Trials trials(options);
    const Trial base = trials.WarmUp();
    if (base.end == TrialEnd::kInterrupted) return 128 + base.stop_signal;
    if (IsOpen(names)) {
      if (!base.trace.empty())
        AddNamed(ChangesThatFindingsAskFor(base.trace, step_), options, scratch.path(), &changes);
      if (changes.empty()) return TellNothingToTry();
    }
    CheckRuns(changes);
    const TrialsResult result = trials.Run(std::move(changes));
    Show(result, options.launch);
    if (result.stop_signal != 0) return 128 + result.stop_signal;
    return CodeOf(result.rounds == 0 ? ExitCode::kInconclusive : ExitCode::kGood);
  }

 private:
  void AddChangeOptions(CLI::App& app) {
    constexpr char kGroup[] = "Changes";
    app.add_flag("--all", tries_all_, "all changes of the catalogue that apply here")->group(kGroup);
    app.add_flag("--list", lists_, "list the changes of the catalogue, and run nothing")->group(kGroup);
    app.add_option("--set", settings_, "a change of your own: an environment variable; repeatable")
        ->type_name("NAME=VALUE")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false)
        ->group(kGroup);
    app.add_option("-n,--runs", runs_,
                   "rounds, in each of which the program runs as it is and with each change "
                   "(default 10)")
        ->type_name("N")
        ->check(WholeNumber(1, 10'000))
        ->group(kGroup);
    app.add_option("--warmup", warm_ups_, "warm-up runs of each, not measured (default 1)")
        ->type_name("K")
        ->check(WholeNumber(0, 10'000))
        ->group(kGroup);
    AddStepOption(app, &step_, kGroup);
    app.add_option("--min-change", min_change_, "ignore smaller changes of the time (default 2%)")
        ->type_name("SHARE")
        ->group(kGroup);
  }

  void AddResultOptions(CLI::App& app) {
    constexpr char kGroup[] = "Results that have to stay the same";
    app.add_option("--compare-file", files_, "a file that the program writes; repeatable")
        ->type_name("FILE")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false)
        ->group(kGroup);
    app.add_option("--ignore-lines", ignored_lines_, "leave out lines of stdout that match, such as times")
        ->type_name("REGEX")
        ->group(kGroup);
    app.add_flag("--ignore-output", ignores_output_, "do not compare stdout")->group(kGroup);
  }

  TrialsOptions ReadOptions(const std::string& folder) {
    TrialsOptions options;
    options.launch = program_.Read(kTryUsage);
    options.launch.capture = capture_.Read(options.launch.trace_cuda, options.launch.trace_nvtx);
    options.analysis.step = step_;
    options.folder = std::filesystem::absolute(folder).string();
    options.runs = runs_;
    options.warm_ups = warm_ups_;
    options.files = files_;
    options.compares_output = !ignores_output_;
    if (!ignored_lines_.empty()) options.ignores_line = RegularExpression(ignored_lines_, "--ignore-lines '^time'");
    if (!min_change_.empty()) {
      const std::optional<double> share = ReadShare(min_change_);
      if (!share || *share < 0) {
        throw Error(ExitCode::kUsage, "--min-change needs a percentage, not '" + min_change_ + "'",
                    "example: --min-change 2%");
      }
      options.rules.min_relative = *share;
    }
    return options;
  }

  // What stands before "--".
  std::vector<std::string> TakeNames(LaunchOptions* launch) const {
    std::vector<std::string> names;
    const std::vector<std::string> words = app_->remaining();
    const auto end = std::find(words.begin(), words.end(), "--");
    if (end == words.begin() || end == words.end()) return names;
    names.assign(words.begin(), end);
    launch->command.assign(end + 1, words.end());
    if (launch->command.empty()) throw Error(ExitCode::kUsage, "no program to run", kTryUsage);
    return names;
  }

  // Nobody has said what to try: the findings do.
  bool IsOpen(const std::vector<std::string>& names) const { return names.empty() && settings_.empty() && !tries_all_; }

  std::vector<AppliedChange> ChangesOf(std::vector<std::string> names, const TrialsOptions& options,
                                       const std::string& folder) const {
    std::vector<AppliedChange> changes;
    if (tries_all_) {
      names.clear();
      for (const ChangeInfo& info : ChangeCatalogue()) names.emplace_back(info.name);
    }
    AddNamed(names, options, folder, &changes);
    for (const std::string& text : settings_) changes.push_back(ChangeOfVariable(text));
    return changes;
  }

  static void AddNamed(const std::vector<std::string>& names, const TrialsOptions& options, const std::string& folder,
                       std::vector<AppliedChange>* changes) {
    for (const std::string& name : names) {
      changes->push_back(ChangeNamed(name, options.launch.variables, folder + "/cache"));
    }
  }

  int TellNothingToTry() const {
    Say("no finding of this program asks for a change that could be tried; --all tries those of the catalogue, --set "
        "one of yours");
    return CodeOf(ExitCode::kInconclusive);
  }

  // Too few cannot show anything, however large.
  void CheckRuns(const std::vector<AppliedChange>& changes) const {
    const auto tried = std::count_if(changes.begin(), changes.end(), [](const auto& c) { return c.why_not.empty(); });
    const uint32_t least = LeastRunsForAChange(RulesOfTrials({}, static_cast<std::size_t>(tried)).false_alarms);
    if (runs_ >= least) return;
    throw Error(ExitCode::kUsage, std::to_string(runs_) + " rounds cannot show that one of so many changes helps",
                "use -n " + std::to_string(least) + " or more");
  }

  void Show(const TrialsResult& result, const LaunchOptions& launch) const {
    const std::string program = ShellLine(launch.command);
    result_.Show([&] { return RenderTrialsText(result, program, DetectTerminal(STDOUT_FILENO)); },
                 [&] { return RenderTrialsMarkdown(result, program); },
                 [&] { return RenderTrialsJson(result, program); });
  }

  CLI::App* app_ = nullptr;
  ProgramArguments program_;
  CaptureArguments capture_;
  ResultArguments result_;
  std::vector<std::string> settings_, files_;
  std::string ignored_lines_, step_, min_change_;
  uint32_t runs_ = 10, warm_ups_ = 1;
  bool tries_all_ = false, lists_ = false, ignores_output_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeTry() { return std::make_unique<Try>(); }

}  // namespace gprof::cli
