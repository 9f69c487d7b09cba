#include "cli/proof/bisection.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "cli/talk.h"
#include "gate/bisect/exact_search.h"
#include "gate/bisect/noisy_search.h"
#include "gate/budget/value_text.h"
#include "gate/diff/diff.h"
#include "gate/diff/diff_words.h"
#include "gate/runs/run_set.h"
#include "gate/statistics/rank_test.h"
#include "gprof/error.h"
#include "launch/run/attendant.h"
#include "launch/run/relay.h"

namespace gprof::cli {
namespace {

constexpr char kStateFile[] = "state.json";

template <class Entries>
double TypicalNs(const Entries& entries) {
  std::vector<double> times;
  for (const auto& entry : entries) times.push_back(static_cast<double>(entry.wall_ns));
  return times.empty() ? 0 : MedianOf(times);
}

std::string NameOfTrace(std::size_t number) { return fmt::format("run-{:03}.trace", number); }

}  // namespace

Bisection::Bisection(const BisectOptions& options, const std::string& question, VersionSource* source)
    : options_(options), source_(source), runner_(options.analysis), is_warm_(source->versions().size()) {
  std::error_code failed;
  std::filesystem::create_directories(Path("runs"), failed);
  if (failed) {
    throw Error(ExitCode::kLaunchFailed, "cannot create the folder '" + options.folder + "': " + failed.message(),
                "choose another folder with -o");
  }
  if (std::optional<BisectState> earlier = ReadBisectState(Path(kStateFile))) state_ = std::move(*earlier);
  if (!state_.question.empty() && state_.question != question) {
    throw Error(ExitCode::kUsage, "the folder '" + options.folder + "' is of another bisection",
                "start over with --restart, or choose another folder with -o");
  }
  state_.question = question;
  if (!state_.runs.empty()) {
    Say("going on with " + CountOf(static_cast<int64_t>(state_.runs.size()), "run") + " of earlier");
  }
  StartSearch();
}

void Bisection::StartSearch() {
  figure_.name = state_.figure;
  if (options_.metric) figure_ = *options_.metric;
  const uint32_t count = static_cast<uint32_t>(source_->versions().size());
  if (figure_.is_deterministic) {
    search_ = std::make_unique<ExactBisection>(count, options_.rules);
  } else {
    search_ = std::make_unique<NoisySearch>(count, options_.rules);
  }
  for (const BisectRun& run : state_.runs) search_->Add({run.version, run.value});
  for (const BisectSkip& skip : state_.skipped) search_->Skip(skip.version);
}

BisectOutcome Bisection::Run() {
  start_ns_ = MonotonicNs();
  BisectOutcome outcome;
  try {
    SayCost();
    while (const std::optional<uint32_t> next = search_->Next(Costs())) {
      outcome.why_ended = WhyOver();
      if (!outcome.why_ended.empty()) break;
      Test(*next);
    }
  } catch (const Stop& stop) {
    outcome.stop_signal = stop.signal;
    outcome.why_ended = SignalName(stop.signal) + " stopped it";
  }
  outcome.found = search_->Result();
  if (outcome.found.is_varying) outcome.why_ended = figure_.name + " varies from run to run of one version";
  outcome.figure = figure_;
  outcome.runs = static_cast<uint32_t>(state_.runs.size());
  outcome.builds = static_cast<uint32_t>(state_.builds.size());
  outcome.skipped = state_.skipped;
  for (const BisectRun& run : state_.runs) outcome.wall_ns += run.wall_ns;
  for (const BisectBuild& build : state_.builds) outcome.wall_ns += build.wall_ns;
  if (!outcome.found.changes.empty()) AddWhatChanged(&outcome);
  RestoreInheritedSignals();
  return outcome;
}

std::string Bisection::WhyOver() const {
  if (options_.budget_ns != 0 && MonotonicNs() - start_ns_ >= options_.budget_ns) return "the time budget is used up";
  if (options_.most_runs != 0 && state_.runs.size() >= options_.most_runs) return "no more runs are allowed";
  return "";
}

double Bisection::TypicalRunNs() const { return TypicalNs(state_.runs); }
double Bisection::TypicalBuildNs() const { return TypicalNs(state_.builds); }

std::vector<double> Bisection::Costs() const {
  const double run_ns = std::max(TypicalRunNs(), 1.0);
  std::vector<double> costs;
  for (uint32_t version = 0; version < source_->versions().size(); ++version) {
    double cost = run_ns;
    if (!is_warm_[version]) cost += run_ns * options_.warm_ups;
    if (!options_.build.empty() && state_.BuildOf(version) == nullptr) cost += TypicalBuildNs();
    costs.push_back(cost);
  }
  return costs;
}

void Bisection::Test(uint32_t version) {
  VersionPlace place;
  if (!IsReady(version, &place)) return;
  for (uint32_t i = 0; !is_warm_[version] && i < options_.warm_ups; ++i) {
    const Trial trial = RunOnce(place, Path("runs/warm-up.trace"));
    unlink(trial.trace.c_str());
    if (trial.end != TrialEnd::kGood) return Skip(version, "the program " + trial.how);
  }
  is_warm_[version] = true;
  const Trial trial = RunOnce(place, Path("runs/" + NameOfTrace(state_.runs.size() + 1)));
  if (trial.end != TrialEnd::kGood) return Skip(version, "the program " + trial.how);
  Keep(version, trial);
}

bool Bisection::IsReady(uint32_t version, VersionPlace* place) {
  *place = source_->PlaceOf(version);
  return Build(version, *place) && Apply(version, *place);
}

bool Bisection::Build(uint32_t version, const VersionPlace& place) {
  if (options_.build.empty() || state_.BuildOf(version) != nullptr) return true;
  const std::string log = Path("build-" + std::to_string(version) + ".log");
  if (!options_.launch.is_quiet) Say("building " + source_->versions()[version].short_id);
  const ShellResult result = RunShell(options_.build, place.folder, place.for_commands, log);
  if (result.stop_signal != 0) throw Stop{result.stop_signal};
  if (!result.IsGood()) {
    Skip(version, "it cannot be built: " + LastLineOf(log));
    return false;
  }
  state_.builds.push_back({version, result.wall_ns});
  WriteBisectState(Path(kStateFile), state_);
  return true;
}

// Into one place, so that what was there before is gone.
bool Bisection::Apply(uint32_t version, const VersionPlace& place) {
  if (options_.apply.empty() || applied_ == version) return true;
  const std::string log = Path("apply-" + std::to_string(version) + ".log");
  applied_.reset();
  const ShellResult result = RunShell(options_.apply, place.folder, place.for_commands, log);
  if (result.stop_signal != 0) throw Stop{result.stop_signal};
  if (!result.IsGood()) {
    Skip(version, "it cannot be applied: " + LastLineOf(log));
    return false;
  }
  applied_ = version;
  return true;
}

Trial Bisection::RunOnce(const VersionPlace& place, const std::string& trace) {
  LaunchOptions launch = options_.launch;
  launch.output = trace;
  launch.may_overwrite = true;
  for (const Variables* variables : {&place.for_commands, &place.of_the_version}) {
    launch.variables.insert(launch.variables.end(), variables->begin(), variables->end());
  }
  const FolderChange change(place.folder);
  Trial trial;
  try {
    trial = runner_.Run(launch);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kNotFound && error.code() != ExitCode::kNotExecutable) throw;
    trial.end = TrialEnd::kFailed;
    trial.how = std::string("cannot be started: ") + error.what();
  }
  if (trial.end == TrialEnd::kInterrupted) throw Stop{trial.stop_signal};
  return trial;
}

void Bisection::Skip(uint32_t version, const std::string& why) {
  const SourceVersion& skipped = source_->versions()[version];
  if (version == 0 || version + 1 == source_->versions().size()) {
    throw Error(ExitCode::kLaunchFailed,
                std::string("the ") + (version == 0 ? "good" : "bad") + " version, " + skipped.short_id +
                    ", cannot be measured: " + why,
                "logs are in '" + options_.folder + "'; -w true shows the output of the program");
  }
  if (!options_.launch.is_quiet) Say("skipping " + skipped.short_id + ": " + why);
  search_->Skip(version);
  state_.skipped.push_back({version, why});
  WriteBisectState(Path(kStateFile), state_);
}

void Bisection::Keep(uint32_t version, const Trial& trial) {
  if (figure_.name.empty()) figure_ = FigureOf(trial.measured);
  const std::optional<double> value = ValueOf(trial.measured, figure_);
  if (!value) {
    const std::string why = WhyNotRecorded(trial.measured, figure_.id);
    throw Error(ExitCode::kInconclusive,
                "a run of " + source_->versions()[version].short_id + " has no " + figure_.name +
                    (why.empty() ? "" : ": " + why),
                "choose another figure with --metric");
  }
  state_.figure = figure_.name;
  const std::string name = trial.trace.empty() ? "" : std::filesystem::path(trial.trace).filename().string();
  state_.runs.push_back({version, *value, trial.wall_ns, name});
  search_->Add({version, *value});
  WriteBisectState(Path(kStateFile), state_);
  SayProgress(state_.runs.back());
}

void Bisection::SayCost() const {
  if (options_.launch.is_quiet) return;
  const int64_t versions = static_cast<int64_t>(source_->versions().size()) - 1;
  const int64_t places =
      static_cast<int64_t>(std::ceil(std::log(static_cast<double>(std::max<int64_t>(versions, 2))) / std::log(2.0)));
  const std::string runs = figure_.is_deterministic ? std::to_string(places + 3) + " runs"
                                                    : "20 to 50 runs where runs vary by 2%, fewer where they vary less";
  Say(CountOf(versions, source_->noun()) + " to choose from: " + runs +
      (options_.build.empty() ? "" : ", about " + std::to_string(places + 2) + " builds") +
      "; Ctrl-C ends it with what is known by then");
}

void Bisection::SayProgress(const BisectRun& run) const {
  if (options_.launch.is_quiet) return;
  const SearchResult result = search_->Result();
  std::string text = fmt::format("run {}: {} {}", state_.runs.size(), source_->versions()[run.version].short_id,
                                 FormatValue(run.value, figure_.unit));
  if (!result.likely.empty() && result.likely.front().probability > result.no_change_probability) {
    const FoundChange& likely = result.likely.front();
    text += fmt::format("; {:.0f}% {}", 100 * likely.probability, source_->versions()[likely.first_after].short_id);
  }
  if (result.runs_left > 0) {
    const double left_ns = result.runs_left * TypicalRunNs() + TypicalBuildNs();
    text += fmt::format("; about {} left ({})", CountOf(result.runs_left, "run"),
                        FormatDuration(static_cast<int64_t>(left_ns)));
  }
  Say(text);
}

// Of the versions that were measured nearest to the change on one side of it, as long as nothing else changed there.
std::vector<std::string> Bisection::TracesNear(uint32_t version, bool is_after) const {
  std::optional<uint32_t> nearest;
  for (const BisectRun& run : state_.runs) {
    if (run.trace.empty() || (is_after ? run.version < version : run.version > version)) continue;
    const bool is_nearer = !nearest || (is_after ? run.version < *nearest : run.version > *nearest);
    if (is_nearer) nearest = run.version;
  }
  std::vector<std::string> traces;
  for (const BisectRun& run : state_.runs) {
    if (nearest && run.version == *nearest && !run.trace.empty()) traces.push_back(Path("runs/" + run.trace));
  }
  return traces;
}

void Bisection::AddWhatChanged(BisectOutcome* outcome) const {
  const FoundChange& change = outcome->found.changes.front();
  std::vector<double> before, after;
  const uint32_t end = outcome->found.changes.size() > 1 ? outcome->found.changes[1].first_after : UINT32_MAX;
  for (const BisectRun& run : state_.runs) {
    if (run.version <= change.last_before) before.push_back(run.value);
    if (run.version >= change.first_after && run.version < end) after.push_back(run.value);
  }
  if (!before.empty()) outcome->before = MedianOf(before);
  if (!after.empty()) outcome->after = MedianOf(after);
  const std::vector<std::string> old_traces = TracesNear(change.last_before, false);
  const std::vector<std::string> new_traces = TracesNear(change.first_after, true);
  if (old_traces.empty() || new_traces.empty()) return;
  RunSetOptions loading;
  loading.analysis = options_.analysis;
  const Diff diff = CompareRuns(LoadRunSet(old_traces, loading), LoadRunSet(new_traces, loading));
  for (std::string text : {WorkText(diff), GpuText(diff), WallText(diff), StepText(diff), LaunchText(diff),
                           ReplacedText(diff), CounterText(diff)}) {
    if (!text.empty()) outcome->what_changed.push_back(std::move(text));
  }
}

}  // namespace gprof::cli
