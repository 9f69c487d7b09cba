#include "gate/bisect/noisy_search.h"

#include <algorithm>
#include <cmath>

namespace gprof {
namespace {

// Good, bad, bad, good: the first runs show whether there is anything to look for.
constexpr std::size_t kFirstRuns = 4;
// As long as there may be nothing to look for, both ends tell most: how large the change is, too.
constexpr double kDoubt = 0.05;
constexpr std::size_t kMostLikely = 5;
constexpr double kNormalQuantile = 1.96;  // of 95 %

bool AllAreAboveZero(const std::vector<SearchRun>& runs) {
  return std::all_of(runs.begin(), runs.end(), [](const SearchRun& run) { return run.value > 0; });
}

// Times change by factors, which their logarithms make sums.
double ToRelative(double y, bool is_log) { return is_log ? std::expm1(y) : y; }

}  // namespace

StepRules NoisySearch::Rules() const {
  StepRules rules;
  rules.min_step = rules_.min_relative;
  rules.weights.push_back(0);
  for (std::size_t i = 1; i < versions_.size(); ++i) rules.weights.push_back(versions_[i] - versions_[i - 1]);
  return rules;
}

StepPosterior NoisySearch::Judge() const {
  const bool is_log = AllAreAboveZero(runs_);
  const double first = runs_.front().value, unit = first == 0 ? 1 : std::fabs(first);
  std::vector<StepRun> runs;
  for (const SearchRun& run : runs_) {
    const auto place = std::lower_bound(versions_.begin(), versions_.end(), run.version) - versions_.begin();
    const double y = is_log ? std::log(run.value / first) : (run.value - first) / unit;
    runs.push_back({static_cast<std::size_t>(place), y});
  }
  return JudgeSteps(runs, Rules());
}

std::optional<uint32_t> NoisySearch::Next(std::span<const double> costs) const {
  if (versions_.size() < 2) return std::nullopt;
  const uint32_t end = runs_.size() % 4 == 1 || runs_.size() % 4 == 2 ? versions_.back() : versions_.front();
  if (runs_.size() < kFirstRuns) return end;
  const StepPosterior posterior = Judge();
  if (posterior.answer.probability >= rules_.confidence) return std::nullopt;
  if (posterior.none > kDoubt) return end;
  const StepRules rules = Rules();
  std::optional<uint32_t> best;
  double most = -1;
  for (std::size_t i = 0; i < versions_.size(); ++i) {
    const double cost = costs.empty() ? 1 : std::max(costs[versions_[i]], 1e-9);
    const double worth = InformationAt(i, posterior, rules) / cost;
    if (worth <= most) continue;
    most = worth;
    best = versions_[i];
  }
  return best;
}

// So much is left to be known, so much a run tells.
uint32_t NoisySearch::RunsLeft(const StepPosterior& posterior) const {
  const double probability = posterior.answer.probability;
  if (probability >= rules_.confidence) return 0;
  constexpr double kToldByRun = 0.15;  // nats, on average where runs vary by as much as the change
  const double odds = rules_.confidence / (1 - rules_.confidence) * (1 - probability) / std::max(probability, 1e-6);
  return static_cast<uint32_t>(std::ceil(std::log(std::max(odds, 1.0)) / (2 * kToldByRun)));
}

SearchResult NoisySearch::Result() const {
  SearchResult result;
  if (runs_.size() < 2 || versions_.size() < 2) return result;
  const bool is_log = AllAreAboveZero(runs_);
  const StepPosterior posterior = Judge();
  const auto change = [&](std::size_t from, std::size_t to, const StepEstimate& step) {
    const double reach = kNormalQuantile * std::sqrt(step.variance);
    FoundChange found{versions_[from], versions_[to]};
    for (std::size_t place = from + 1; place <= to; ++place) found.probability += posterior.any[place];
    found.effect = ToRelative(step.mean, is_log);
    found.effect_low = ToRelative(step.mean - reach, is_log);
    found.effect_high = ToRelative(step.mean + reach, is_log);
    return found;
  };
  const StepAnswer& answer = posterior.answer;
  result.is_known = runs_.size() >= kFirstRuns && answer.probability >= rules_.confidence;
  result.probability = answer.probability;
  result.no_change_probability = posterior.none;
  result.noise = posterior.noise;
  result.runs_left = RunsLeft(posterior);
  for (std::size_t s = 0; s < answer.count; ++s) {
    result.changes.push_back(change(answer.places[s] - 1, answer.places[s], answer.steps[s]));
  }
  for (const StepExplanation& explanation : posterior.explanations) {
    if (explanation.count != 1) continue;
    const StepSpan& span = posterior.spans[explanation.spans[0]];
    result.likely.push_back(change(span.from, span.to, explanation.steps[0]));
  }
  std::stable_sort(result.likely.begin(), result.likely.end(),
                   [](const FoundChange& a, const FoundChange& b) { return a.probability > b.probability; });
  if (result.likely.size() > kMostLikely) result.likely.resize(kMostLikely);
  return result;
}

}  // namespace gprof
