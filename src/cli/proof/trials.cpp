#include "cli/proof/trials.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <sstream>
#include <utility>

#include "base/input_file.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/talk.h"
#include "gate/trials/judge_trials.h"
#include "gprof/error.h"
#include "launch/run/relay.h"

namespace gprof::cli {
namespace {

// A change that makes a run that much longer does not help; what hangs is ended then.
constexpr int64_t kLongestFactor = 5, kLongestExtraNs = 10'000'000'000;

std::string WithoutLines(const std::string& text, const std::function<bool(const std::string&)>& is_ignored) {
  if (!is_ignored) return text;
  std::string kept;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!is_ignored(line)) kept += line + "\n";
  }
  return kept;
}

Outcome OutcomeOf(Change change) {
  switch (change) {
    case Change::kImproved:
      return Outcome::kBetter;
    case Change::kRegressed:
      return Outcome::kWorse;
    case Change::kSame:
      return Outcome::kSame;
    case Change::kChanged:
    case Change::kInconclusive:
      break;
  }
  return Outcome::kCannotTell;
}

}  // namespace

std::string_view OutcomeName(Outcome outcome) {
  constexpr std::string_view kNames[] = {"better", "worse",         "same",          "cannot tell",
                                         "failed", "other results", "does not apply"};
  return kNames[static_cast<std::size_t>(outcome)];
}

Trial Trials::RunOnce(const AppliedChange& change) {
  LaunchOptions launch = options_.launch;
  launch.output = options_.folder + "/run.trace";
  launch.may_overwrite = true;
  launch.program_output = ProgramOutput::kInFile;
  launch.output_file = options_.folder + "/output";
  if (longest_ns_ != 0) launch.time_limit_ns = kLongestFactor * longest_ns_ + kLongestExtraNs;
  launch.variables.insert(launch.variables.end(), change.variables.begin(), change.variables.end());
  launch.command.insert(launch.command.begin(), change.wrapper.begin(), change.wrapper.end());
  Trial trial = runner_.Run(launch);
  if (options_.launch.program_output == ProgramOutput::kOnStderr) WriteTo(STDERR_FILENO, trial.output);
  if (trial.end == TrialEnd::kInterrupted) throw Stop{trial.stop_signal};
  ++result_.runs;
  result_.wall_ns += trial.wall_ns;
  return trial;
}

// A file that is not there is a result, too.
std::string Trials::ResultsOf(const Trial& trial) const {
  std::string results;
  if (options_.compares_output) results = WithoutLines(trial.output, options_.ignores_line);
  for (const std::string& file : options_.files) {
    const bool is_there = access(file.c_str(), R_OK) == 0;
    results += '\0' + file + '\0' + (is_there ? ReadInputFile(file) : "missing");
  }
  return results;
}

Trial Trials::WarmUp() {
  constexpr uint32_t kLeast = 2;  // one says nothing of whether results are the same each time
  Trial trial;
  try {
    for (uint32_t i = 0; i < std::max(options_.warm_ups, kLeast); ++i) {
      if (!options_.launch.is_quiet) Say("warm-up run of the program as it is");
      trial = RunOnce({});
      if (trial.end != TrialEnd::kGood) {
        throw Error(ExitCode::kLaunchFailed, "the program as it is " + trial.how + "; nothing was tried",
                    "-w true shows its output");
      }
      const std::string results = ResultsOf(trial);
      if (i > 0 && results != expected_) {
        throw Error(ExitCode::kInconclusive,
                    "the program prints or writes something else in each run, so results cannot be compared",
                    "--ignore-lines REGEX leaves out lines with times and the like, --ignore-output all of stdout");
      }
      expected_ = results;
      longest_ns_ = std::max(longest_ns_, trial.wall_ns);
    }
  } catch (const Stop& stop) {
    result_.stop_signal = stop.signal;
    trial.end = TrialEnd::kInterrupted;
    trial.stop_signal = stop.signal;
    return trial;
  }
  result_.figure = FigureOf(trial.measured);
  return trial;
}

bool Trials::Try(Tried* tried, bool counts) {
  const bool is_base = tried == &result_.base;
  const Trial trial = RunOnce(tried->change);
  const auto give_up = [&](Outcome outcome, const std::string& why) {
    tried->outcome = outcome;
    tried->why = why;
    if (is_base) throw Error(ExitCode::kLaunchFailed, "the program as it is " + why + "; no verdict");
    if (!options_.launch.is_quiet) Say(tried->change.name + ": " + why);
    return false;
  };
  if (trial.end != TrialEnd::kGood) return give_up(Outcome::kFailed, trial.how);
  if (ResultsOf(trial) != expected_) return give_up(Outcome::kOtherResults, "prints or writes something else");
  if (is_base) longest_ns_ = std::max(longest_ns_, trial.wall_ns);
  if (!counts) return true;
  const std::optional<double> value = ValueOf(trial.measured, result_.figure);
  if (!value) return give_up(Outcome::kCannotTell, "has no " + result_.figure.name);
  tried->values.push_back(*value);
  return true;
}

// In the opposite order every other time, so that what drifts meets all alike.
void Trials::Rounds(std::vector<Tried*> all) {
  for (uint32_t round = 1; round <= options_.runs; ++round) {
    if (!options_.launch.is_quiet) {
      const int64_t left_ns =
          result_.wall_ns / std::max(result_.runs, 1U) * static_cast<int64_t>((options_.runs - round + 1) * all.size());
      Say("round " + std::to_string(round) + " of " + std::to_string(options_.runs) + ", about " +
          FormatDuration(left_ns) + " left");
    }
    for (Tried* tried : all) {
      if (IsStillIn(*tried)) Try(tried, true);
    }
    std::reverse(all.begin(), all.end());
    result_.rounds = std::max(result_.rounds, round);
  }
}

void Trials::Judge(std::size_t tried, Tried* changed) const {
  if (!IsStillIn(*changed)) return;
  // An interrupted round has not met all of them.
  const std::size_t rounds = std::min(result_.base.values.size(), changed->values.size());
  const std::span<const double> base(result_.base.values.data(), rounds), now(changed->values.data(), rounds);
  SampleRules rules = options_.rules;
  rules.unit = result_.figure.unit;
  changed->judged = JudgeTrial(base, now, RulesOfTrials(rules, tried));
  changed->outcome = OutcomeOf(changed->judged.change);
}

TrialsResult Trials::Run(std::vector<AppliedChange> changes) {
  for (AppliedChange& change : changes) {
    Tried tried;
    tried.change = std::move(change);
    if (!tried.change.why_not.empty()) {
      tried.outcome = Outcome::kDoesNotApply;
      tried.why = tried.change.why_not;
    }
    result_.changes.push_back(std::move(tried));
  }
  std::vector<Tried*> all = {&result_.base};
  for (Tried& tried : result_.changes) {
    if (IsStillIn(tried)) all.push_back(&tried);
  }
  SayCost(all.size() - 1);
  try {
    for (uint32_t i = 0; i < options_.warm_ups; ++i) {
      for (Tried* tried : all) {
        if (tried != &result_.base && IsStillIn(*tried)) Try(tried, false);
      }
    }
    if (all.size() > 1) Rounds(all);
  } catch (const Stop& stop) {
    result_.stop_signal = stop.signal;
  }
  for (Tried& tried : result_.changes) Judge(all.size() - 1, &tried);
  if (result_.stop_signal == 0) TryTogether();
  RestoreInheritedSignals();
  return std::move(result_);
}

// Those that help, the best first: what contradicts a better one is left out.
void Trials::TryTogether() {
  std::vector<const Tried*> good;
  for (const Tried& tried : result_.changes) {
    if (tried.outcome == Outcome::kBetter) good.push_back(&tried);
  }
  if (good.size() < 2) return;
  std::stable_sort(good.begin(), good.end(),
                   [](const Tried* a, const Tried* b) { return a->judged.shift < b->judged.shift; });
  std::vector<const AppliedChange*> changes;
  for (const Tried* tried : good) changes.push_back(&tried->change);
  Tried together;
  together.change = Combined(changes);
  const std::vector<double> alone = std::exchange(result_.base.values, {});
  try {
    if (Try(&together, false)) Rounds({&result_.base, &together});
  } catch (const Stop& stop) {
    result_.stop_signal = stop.signal;
  }
  Judge(1, &together);
  result_.base.values = alone;
  result_.together.push_back(std::move(together));
}

void Trials::SayCost(std::size_t changes) const {
  if (options_.launch.is_quiet || changes == 0) return;
  const auto runs = static_cast<int64_t>((options_.runs + options_.warm_ups) * changes + options_.runs);
  Say(CountOf(static_cast<int64_t>(changes), "change") + ", " + CountOf(runs, "run") + " of " +
      FormatDuration(longest_ns_) + ": about " + FormatDuration(runs * longest_ns_) +
      "; Ctrl-C ends it with what is known by then");
}

}  // namespace gprof::cli
