// gprof-cli check: holds runs against a budget. docs/commands/check.md
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/input_file.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/arguments/options.h"
#include "cli/arguments/run_set_arguments.h"
#include "cli/ci/ci_formats.h"
#include "cli/ci/ci_outputs.h"
#include "cli/commands/commands.h"
#include "cli/recording/leftovers.h"
#include "cli/render/render_check.h"
#include "cli/talk.h"
#include "gate/budget/init_budget.h"
#include "gate/check/check.h"
#include "gate/runs/run_set.h"

namespace gprof::cli {
namespace {

constexpr const char* kUsage = "usage: gprof-cli check TRACE... --budget FILE";

class CheckCommand : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("TRACE", paths_, "runs: traces, folders of traces, run files, baselines or JSON reports")
        ->type_name("");
    app.add_option("--budget", budget_, "file with the rules")->type_name("FILE")->group("Rules");
    app.add_option("--fail-if", fail_if_,
                   "extra rule: fail when CONDITION holds, for example 'gpu.idle_percent > 20'; repeatable")
        ->type_name("CONDITION")
        ->allow_extra_args(false)
        ->group("Rules");
    app.add_option("--warn-if", warn_if_, "extra rule: warn when CONDITION holds; repeatable")
        ->type_name("CONDITION")
        ->allow_extra_args(false)
        ->group("Rules");
    app.add_option("--baseline", baseline_,
                   "what to compare with in rules on increases and decreases: runs as above, or a baseline name")
        ->type_name("PATH|NAME")
        ->group("Rules");
    app.add_option("--dir", folder_, std::string("baseline folder (default ") + kBaselineFolder + ")")
        ->type_name("FOLDER")
        ->group("Rules");
    app.add_flag("--ignore-fingerprint", options_.ignores_fingerprint,
                 "judge times even if the runs used different GPUs or software versions")
        ->group("Rules");
    app.add_option("--init", init_, "write a budget derived from these runs to a file and exit; - for stdout")
        ->type_name("FILE")
        ->group("Rules");
    app.add_flag("-f,--force-overwrite", is_forced_, "let --init overwrite an existing file")->group("Rules");
    runs_.AddOptions(app);
    app.add_flag("--verbose", is_verbose_, "also list the rules that passed")->group("Output");
    app.add_option("--format", format_, "text (default), md for Markdown, or json")
        ->type_name("text|md|json")
        ->check(OneOf({"text", "md", "json"}))
        ->group("Output");
    app.add_option("-o,--output", output_, "write to a file (atomically)")->type_name("FILE")->group("Output");
    outputs_.AddOptions(app);
    AddMemoryLimitOption(app);
  }

  int Run() override {
    if (!init_.empty() && !paths_.empty()) return Init();
    outputs_.Check();
    const CheckResult result = JudgeOrTell();
    std::exception_ptr failure;
    try {
      outputs_.Write(result);
    } catch (const Error&) {
      // A verdict is not lost because a file of it is.
      failure = std::current_exception();
    }
    Write(result);
    if (failure) std::rethrow_exception(failure);
    return CodeOf(ExitCodeOf(result.verdict));
  }

 private:
  CheckResult JudgeOrTell() {
    try {
      return Judge();
    } catch (const Error& error) {
      outputs_.WriteError(error);
      throw;
    }
  }

  CheckResult Judge() {
    if (paths_.empty()) throw Error(ExitCode::kUsage, "no runs to check", kUsage);
    Budget budget = ReadRules();
    const std::string baseline_name = baseline_.empty() ? budget.baseline : baseline_;
    RecoverEarlierRuns();
    const RunSetOptions read = runs_.Read(budget.step);
    const RunSet runs = LoadRunSet(paths_, read);
    std::optional<RunSet> baseline;
    if (!baseline_name.empty()) baseline = LoadRunSet({BaselinePath(baseline_name, folder_)}, BaselineOptions(read));
    return Check(budget, runs, baseline ? &*baseline : nullptr, options_);
  }

  // The commit is that of the runs that are judged, not of what they are compared with.
  static RunSetOptions BaselineOptions(RunSetOptions options) {
    options.commit.clear();
    return options;
  }

  Budget ReadRules() const {
    Budget budget;
    if (!budget_.empty())
      budget = ParseBudget(
          ReadInputFile(budget_, "create one from a trace with gprof-cli check TRACE --init " + budget_), budget_);
    for (const std::string& text : fail_if_) budget.rules.push_back(ParseCondition(text, "--fail-if"));
    for (const std::string& text : warn_if_) {
      budget.rules.push_back(ParseCondition(text, "--warn-if"));
      budget.rules.back().is_warning = true;
    }
    if (budget.rules.empty()) {
      const std::string condition = baseline_.empty() ? "gpu.idle_percent > 20" : "gpu.window_ns > baseline + 5%";
      throw Error(ExitCode::kUsage, "no rules given",
                  "add --budget FILE or --fail-if '" + condition + "'; --init FILE creates a budget");
    }
    if (budget.name.empty()) budget.name = "the command line";
    return budget;
  }

  int Init() const {
    if (!budget_.empty() || !fail_if_.empty() || !warn_if_.empty()) {
      throw Error(ExitCode::kUsage, "--init only writes a budget", "remove --budget, --fail-if and --warn-if");
    }
    std::error_code error;
    if (init_ != "-" && !is_forced_ && std::filesystem::exists(init_, error)) {
      throw Error(ExitCode::kUsage, "'" + init_ + "' already exists", "add -f to overwrite it");
    }
    RecoverEarlierRuns();
    const RunSet runs = LoadRunSet(paths_, runs_.Read());
    for (const std::string& note : runs.notes) Say(note);
    for (const Measurement& run : runs.runs) {
      if (!run.is_complete) Warn(run.source + " is incomplete: the budget covers only the data that was recovered");
    }
    const std::string baseline = baseline_.empty() ? "" : FromBudget(BaselinePath(baseline_, folder_));
    WriteFile(init_, InitBudget(runs, baseline));
    if (runs.runs.size() == 1 && baseline.empty()) {
      Warn(
          "a single run shows no noise, so limits on times are guesses; for better ones record several runs: gprof-cli "
          "profile --repeat 5 --warmup 1 -o perf.trace -- " +
          ProgramWords(runs.runs.front()) + ", then --init with perf.runs.json");
    }
    if (init_ != "-")
      Say("wrote " + init_ + "; next: gprof-cli check " + ShellQuoted(paths_.front()) + " --budget " +
          ShellQuoted(init_));
    return CodeOf(ExitCode::kGood);
  }

  static std::string ProgramWords(const Measurement& run) {
    return run.fingerprint.program.empty() ? "APP" : Printable(run.fingerprint.program);
  }

  // A budget names its baseline from where the budget is.
  std::string FromBudget(const std::string& path) const {
    if (init_ == "-") return path;
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::absolute(init_, error).parent_path();
    const std::filesystem::path relative = std::filesystem::relative(path, folder, error);
    return error || relative.empty() ? path : relative.string();
  }

  void Write(const CheckResult& result) const {
    const bool is_file = !output_.empty() && output_ != "-";
    const Terminal terminal = DetectTerminal(is_file ? -1 : STDOUT_FILENO);
    const std::string text = format_ == "json" ? RenderCheckJson(result)
                             : format_ == "md" ? RenderSummary(result)
                                               : RenderCheckText(result, is_verbose_, terminal);
    if (!is_file) {
      WriteResult(text);
      return;
    }
    WriteFile(output_, text);
    Say(result.line);
  }

  std::vector<std::string> paths_, fail_if_, warn_if_;
  std::string budget_, baseline_, init_, output_, folder_ = kBaselineFolder;
  std::string format_ = "text";
  bool is_forced_ = false, is_verbose_ = false;
  RunSetArguments runs_;
  CiOutputs outputs_;
  CheckOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeCheck() { return std::make_unique<CheckCommand>(); }

}  // namespace gprof::cli
