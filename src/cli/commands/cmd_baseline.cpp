// gprof-cli baseline: what runs are compared with, kept as small documents. docs/commands/baseline.md
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
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
#include "cli/commands/commands.h"
#include "cli/pager.h"
#include "cli/recording/leftovers.h"
#include "cli/render/render_baseline.h"
#include "cli/render/render_history.h"
#include "cli/talk.h"
#include "gate/baseline/history.h"
#include "gate/budget/rule_words.h"
#include "gate/runs/run_set.h"
#include "report/json_values.h"

namespace gprof::cli {
namespace {

namespace fs = std::filesystem;

// Builds that must come out the same twice set SOURCE_DATE_EPOCH.
std::string Now() {
  std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  const std::string fixed = EnvironmentText({"SOURCE_DATE_EPOCH"});
  if (!fixed.empty()) seconds = static_cast<std::time_t>(std::strtoll(fixed.c_str(), nullptr, 10));
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

class BaselineCommand : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("ACTION", action_, "save, list, show, accept or history")
        ->required()
        ->check(OneOf({"save", "list", "show", "accept", "history"}));
    app.add_option("NAME", name_, "baseline name");
    app.add_option("TRACE", paths_,
                   "for save and accept: runs, as for gprof-cli check; for history: later runs, one point each")
        ->type_name("");
    app.add_option("--reason", reason_, "reason for the change; required by accept")->type_name("TEXT");
    app.add_option("--dir", folder_, std::string("baseline folder (default ") + kBaselineFolder + ")")
        ->type_name("FOLDER");
    app.add_option("--by", who_, "author of the change (default: from the CI environment or the user name)")
        ->type_name("NAME");
    app.add_flag("-f,--force-overwrite", is_forced_, "let save replace an existing baseline and discard its history");
    app.add_option("--format", format_, "for list, show and history: text (default) or json; history also html")
        ->type_name("text|json|html")
        ->check(OneOf({"text", "json", "html"}));
    app.add_option("--metric,--figure", figures_, "for history: only this metric; repeatable")
        ->type_name("METRIC")
        ->allow_extra_args(false);
    app.add_option("-o,--output", output_, "for history: write to a file")->type_name("FILE");
    AddPagerOption(app);
    runs_.AddOptions(app);
    AddMemoryLimitOption(app);
  }

  int Run() override {
    if (format_ == "html" && action_ != "history")
      throw Error(ExitCode::kUsage, "--format html is only available for history",
                  "usage: gprof-cli baseline history NAME --format html");
    if (action_ == "list") return List();
    if (name_.empty())
      throw Error(ExitCode::kUsage, "no baseline name given", "usage: gprof-cli baseline " + action_ + " NAME");
    CheckBaselineName(name_);
    if (action_ == "show") return Show();
    if (action_ == "history") return ShowHistory();
    if (paths_.empty()) {
      throw Error(ExitCode::kUsage, "no runs to save as a baseline",
                  "usage: gprof-cli baseline " + action_ + " NAME TRACE...");
    }
    return action_ == "save" ? Save() : AcceptRuns();
  }

 private:
  std::string PathOf(const std::string& name) const { return (fs::path(folder_) / (name + ".json")).string(); }

  bool IsThere() const {
    std::error_code error;
    return fs::exists(PathOf(name_), error);
  }

  Baseline Read(const std::string& name) const { return ParseBaseline(ReadInputFile(PathOf(name)), PathOf(name)); }

  BaselineChange Change(const RunSet& runs) const {
    BaselineChange change;
    change.time = Now();
    change.who = who_.empty()
                     ? EnvironmentText({"GITHUB_ACTOR", "GITLAB_USER_LOGIN", "BUILD_USER_ID", "USER", "LOGNAME"})
                     : who_;
    change.reason = reason_;
    change.commit = runs.runs.front().fingerprint.commit;
    change.run_count = runs.runs.size();
    return change;
  }

  // A baseline with holes in it would let through what falls into them.
  RunSet Load() const {
    RecoverEarlierRuns();
    RunSet runs = LoadRunSet(paths_, runs_.Read());
    for (const std::string& note : runs.notes) Say(note);
    for (const Measurement& run : runs.runs) {
      if (!run.is_complete) Warn(run.source + " is incomplete: rules that need the missing data will be inconclusive");
    }
    if (runs.runs.size() == 1) Say("only one run: rules on times need several, see docs/commands/baseline.md");
    return runs;
  }

  void Write(const Baseline& baseline) const {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) throw Error(ExitCode::kUnreadable, "cannot create the folder '" + folder_ + "': " + error.message());
    WriteFile(PathOf(name_), BaselineText(baseline));
    Say("wrote " + PathOf(name_) + ", " + CountOf(static_cast<int64_t>(baseline.set.runs.size()), "run"));
  }

  int Save() const {
    if (IsThere() && !is_forced_) {
      throw Error(ExitCode::kUsage, "the baseline '" + name_ + "' already exists",
                  "gprof-cli baseline accept " + name_ +
                      " TRACE... --reason TEXT replaces it and keeps its history; -f discards the history");
    }
    Baseline baseline;
    baseline.name = name_;
    baseline.set = Load();
    baseline.made = Change(baseline.set);
    Write(baseline);
    return CodeOf(ExitCode::kGood);
  }

  int AcceptRuns() const {
    if (reason_.empty()) {
      throw Error(ExitCode::kUsage, "accept needs a reason", "add --reason 'why this is the new expected performance'");
    }
    if (!IsThere()) BaselinePath(name_, folder_);  // says which ones there are
    Baseline baseline = Read(name_);
    RunSet runs = Load();
    BaselineChange change = Change(runs);
    Accept(std::move(runs), std::move(change), &baseline);
    Write(baseline);
    return CodeOf(ExitCode::kGood);
  }

  int Show() const {
    if (!IsThere()) BaselinePath(name_, folder_);
    if (format_ == "json") {
      WriteResult(ReadInputFile(PathOf(name_)));
      return CodeOf(ExitCode::kGood);
    }
    WritePaged(RenderBaseline(Read(name_), DetectTerminal(STDOUT_FILENO)));
    return CodeOf(ExitCode::kGood);
  }

  // What each path has is one point: the runs of a night, or of a commit.
  std::vector<HistoryPoint> Points() const {
    std::vector<HistoryPoint> points = PointsOf(Read(name_));
    for (const std::string& path : paths_) points.push_back(PointOf(LoadRunSet({path}, runs_.Read()), path));
    return points;
  }

  // Those that were asked for; else the main ones and, where there is room for them, all that changed.
  void Choose(History* history) const {
    const std::vector<HistoryPoint>& points = history->points;
    std::vector<FigureHistory>& shown = history->figures;
    for (const std::string& id : figures_) {
      shown.push_back(HistoryOf(RequireMetric(id), points));
      if (shown.back().values.empty())
        throw Error(ExitCode::kInconclusive, "no point in the history has the metric " + id,
                    "gprof-cli baseline show " + name_);
    }
    if (!shown.empty()) return;
    for (const MetricInfo& info : MetricCatalogue()) {
      FigureHistory figure = HistoryOf(info, points);
      const auto main = MainFigures();
      const bool is_main = std::find(main.begin(), main.end(), info.id) != main.end();
      const bool has_changed = figure.change || figure.trend;
      if (!figure.values.empty() && (is_main || (has_changed && format_ != "text"))) {
        shown.push_back(std::move(figure));
      } else if (has_changed) {
        ++history->more_changed;
      }
    }
  }

  int ShowHistory() const {
    if (!IsThere()) BaselinePath(name_, folder_);
    History history;
    history.name = name_;
    history.points = Points();
    Choose(&history);
    const std::string text = format_ == "json"   ? RenderHistoryJson(history)
                             : format_ == "html" ? RenderHistoryHtml(history)
                                                 : RenderHistory(history, DetectTerminal(STDOUT_FILENO));
    WriteFile(output_.empty() ? "-" : output_, text);
    if (!output_.empty() && output_ != "-") Say("wrote " + output_);
    return CodeOf(ExitCode::kGood);
  }

  // One that cannot be read is named, and does not hide the others.
  int List() const {
    if (!name_.empty()) throw Error(ExitCode::kUsage, "list takes no name", "gprof-cli baseline show " + name_);
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
      if (at->path().extension() == ".json") names.push_back(at->path().stem().string());
    }
    std::sort(names.begin(), names.end());
    std::vector<Baseline> baselines;
    for (const std::string& name : names) {
      try {
        baselines.push_back(Read(name));
      } catch (const Error& problem) {
        Warn(problem.what());
      }
    }
    if (names.empty()) Say("no baselines in " + folder_);
    const Terminal terminal = DetectTerminal(STDOUT_FILENO);
    WriteResult(format_ == "json" ? RenderBaselinesJson(baselines) : RenderBaselines(baselines, terminal));
    return CodeOf(ExitCode::kGood);
  }

  std::string action_, name_, reason_, who_, folder_ = kBaselineFolder, format_ = "text", output_;
  std::vector<std::string> paths_, figures_;
  bool is_forced_ = false;
  RunSetArguments runs_;
};

}  // namespace

std::unique_ptr<Command> MakeBaseline() { return std::make_unique<BaselineCommand>(); }

}  // namespace gprof::cli
