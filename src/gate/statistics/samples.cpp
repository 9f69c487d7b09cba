#include "gate/statistics/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "gate/budget/value_text.h"
#include "gate/statistics/rank_test.h"

namespace gprof {
namespace {

// Of the interval that is shown; a hint of a change at this level is enough not to call two sets the same.
constexpr double kShownRisk = 0.025;
constexpr double kHint = 0.05;
// With so many pairs or more, signed ranks can reach the usual 1 %: 2 / 2^8.
constexpr std::size_t kLeastPairsForSignedRanks = 8;
// With fewer pairs no interval of theirs is worth its name.
constexpr std::size_t kLeastPairs = 4;
// Below this the order in which pairs ran shows in their values: 2 on average where it does not.
constexpr double kRoughnessOfDrift = 1.2;
constexpr double kWantedPower = 0.9;
constexpr uint32_t kMostRunsToAskFor = 1000;

struct Judged {
  RankTest test;
  ShiftInterval shown, ruled_out;
  double relevant = 0;  // effects that count, in the unit of the figure
  double margin = 0;    // what "same" may leave open
  bool is_paired = false;
};

double Range(std::span<const double> values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return *high - *low;
}

bool AllFinite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

// Smallest p-value that two sets of these sizes can have.
double SmallestP(std::size_t m, std::size_t n) {
  double arrangements = 1;
  for (std::size_t i = 1; i <= m; ++i) arrangements *= static_cast<double>(n + i) / static_cast<double>(i);
  return std::min(1.0, 2 / arrangements);
}

Change Direction(double shift, Better better) {
  if (better == Better::kNeither) return Change::kChanged;
  return (shift < 0) == (better == Better::kLower) ? Change::kImproved : Change::kRegressed;
}

std::string Percent(double percent) {
  if (std::fabs(percent) < 0.005) return "0";
  if (std::fabs(percent) >= 999.5) return fmt::format("{:+.0f}", percent);
  return fmt::format("{:+.{}f}", percent, std::fabs(percent) < 0.095 ? 2 : 1);
}

// "+3.1%" of the base's median, "+3.1 pp" of a percentage; where the median is 0, in the unit of the figure.
std::string Signed(double difference, double base_median, Unit unit) {
  if (unit == Unit::kPercent) return Percent(difference) + " pp";
  if (base_median == 0) return (difference > 0 ? "+" : "") + FormatValue(difference, unit);
  return Percent(100 * difference / std::fabs(base_median)) + "%";
}

std::string Sizes(const SampleComparison& result) {
  return fmt::format("{} vs {} runs", result.base_count, result.new_count);
}

std::string ShownP(double p) {
  if (p < 0.001) return "p<0.001";
  return p < 0.1 ? fmt::format("p={:.3f}", p) : fmt::format("p={:.2f}", p);
}

std::string ShownConfidence(double confidence) { return fmt::format("{:.0f}%", std::floor(100 * confidence + 1e-6)); }

// A run that lies apart is worth a look, whatever the verdict.
std::string RunsApart(std::span<const double> values, std::string_view set, double margin, Unit unit) {
  if (values.size() < 5) return {};
  const double median = MedianOf(values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::fabs(value - median));
  const double usual = 1.4826 * MedianOf(distances);
  std::size_t apart = 0;
  double farthest = median;
  for (const double value : values) {
    if (std::fabs(value - median) <= std::max(5 * usual, margin)) continue;
    ++apart;
    if (std::fabs(value - median) > std::fabs(farthest - median)) farthest = value;
  }
  if (apart == 0 || 4 * apart > values.size()) return {};
  return fmt::format("; {} {} in {} ({}{} from the median)", apart, apart == 1 ? "outlier" : "outliers", set,
                     apart == 1 ? "" : "up to ", Signed(farthest - median, median, unit));
}

void FillMedians(std::span<const double> base, std::span<const double> now, SampleComparison* result) {
  result->base_count = static_cast<uint32_t>(base.size());
  result->new_count = static_cast<uint32_t>(now.size());
  result->base_median = MedianOf(base);
  result->new_median = MedianOf(now);
}

void SetShift(double shift, SampleComparison* result) {
  result->shift = shift;
  result->relative = result->base_median == 0 ? 0 : shift / std::fabs(result->base_median);
}

SampleComparison CompareExactly(std::span<const double> base, std::span<const double> now, const SampleRules& rules) {
  SampleComparison result;
  FillMedians(base, now, &result);
  SetShift(result.new_median - result.base_median, &result);
  const auto varying = [&](std::span<const double> values, std::string_view set) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return fmt::format("{} to {} in the {} runs", FormatValueBeside(*low, *high, rules.unit),
                       FormatValueBeside(*high, *low, rules.unit), set);
  };
  const bool base_varies = Range(base) > 0, new_varies = Range(now) > 0;
  if (base_varies || new_varies) {
    result.evidence = fmt::format("{}{}{}: this counter varies from run to run, so a single difference proves nothing",
                                  base_varies ? varying(base, "base") : "", base_varies && new_varies ? " and " : "",
                                  new_varies ? varying(now, "new") : "");
    return result;
  }
  result.shift_low = result.shift_high = result.ruled_out_below = result.ruled_out_above = result.shift;
  result.confidence = 1;
  result.ruled_out_risk = 0;
  result.effect = result.shift > 0 ? 1 : result.shift < 0 ? 0 : 0.5;
  result.p_value = result.shift == 0 ? 1 : 0;
  result.change = result.shift == 0 ? Change::kSame : Direction(result.shift, rules.better);
  const std::string before = FormatValueBeside(result.base_median, result.new_median, rules.unit);
  const std::string after = FormatValueBeside(result.new_median, result.base_median, rules.unit);
  result.evidence = result.shift == 0 ? fmt::format("{}: {} in every run", Sizes(result), before)
                                      : fmt::format("{}: {} in every base run, {} in every new run (compared exactly)",
                                                    Sizes(result), before, after);
  return result;
}

// Runs of each set until the noise is small enough for a verdict, if shift and spread stay what they are.
uint32_t RunsNeeded(const SampleComparison& result, const Judged& judged, const SampleRules& rules) {
  const double at_least = LeastRunsForAChange(rules.false_alarms);
  const double m = result.base_count, n = result.new_count, runs = 2 * m * n / (m + n);
  double needed = at_least;
  if (judged.shown.risk < 0.4) {  // one run against one has no spread
    const double error = (judged.shown.high - judged.shown.low) / 2 / NormalTailPoint(judged.shown.risk);
    const bool is_change = std::fabs(result.shift) >= judged.relevant;
    const double luck = NormalTailPoint(1 - kWantedPower);
    const double wanted = is_change ? std::fabs(result.shift) / (NormalTailPoint(rules.false_alarms / 2) + luck)
                                    : judged.margin / (NormalTailPoint(rules.missed) + luck);
    if (error > 0) needed = wanted > 0 ? runs * (error / wanted) * (error / wanted) : kMostRunsToAskFor;
    needed = std::max({needed, at_least, std::min(m, n) + 1});
  }
  return static_cast<uint32_t>(std::min<double>(std::ceil(needed), kMostRunsToAskFor));
}

Change Decide(const SampleComparison& result, const Judged& judged, const SampleRules& rules) {
  const bool counts = std::fabs(result.shift) >= judged.relevant && result.shift != 0;
  if (counts && result.p_value <= rules.false_alarms) return Change::kChanged;
  // Few runs cannot prove what they plainly hint at.
  const bool is_hint = counts && (result.p_value < kHint || judged.test.is_separated);
  const bool is_within = result.ruled_out_risk <= rules.missed && judged.ruled_out.low >= -judged.margin &&
                         judged.ruled_out.high <= judged.margin;
  return is_within && !is_hint ? Change::kSame : Change::kInconclusive;
}

std::string Needed(const SampleComparison& result, const SampleRules& rules) {
  const uint32_t least = LeastRunsForAChange(rules.false_alarms);
  if (result.runs_needed >= kMostRunsToAskFor)
    return fmt::format("; too noisy for a verdict even with {} runs", kMostRunsToAskFor);
  if (std::min(result.base_count, result.new_count) < least && result.runs_needed == least) {
    return fmt::format("; need >= {} runs per side for a verdict", least);
  }
  return fmt::format("; about {} runs per side needed for a verdict", result.runs_needed);
}

std::string Evidence(const SampleComparison& result, const Judged& judged, const SampleRules& rules) {
  const double base = result.base_median;
  std::string text = fmt::format("{}{}: {}", Sizes(result), judged.is_paired ? ", paired" : "",
                                 Signed(result.shift, base, rules.unit));
  if (result.base_count == 1 && result.new_count == 1) return text + ", noise unknown" + Needed(result, rules);
  if (result.shift_low == 0 && result.shift_high == 0) return Sizes(result) + ": no difference";
  if (result.change == Change::kSame) {
    const bool is_too_small_to_count = result.p_value <= rules.false_alarms;
    return text + fmt::format("{}, {}; a change below {} or above {} is ruled out at {} confidence each",
                              is_too_small_to_count ? ", significant but below the threshold" : "",
                              ShownP(result.p_value), Signed(result.ruled_out_below, base, rules.unit),
                              Signed(result.ruled_out_above, base, rules.unit),
                              ShownConfidence(1 - result.ruled_out_risk));
  }
  text +=
      fmt::format(" ({} CI {}..{}), {}", ShownConfidence(result.confidence), Signed(result.shift_low, base, rules.unit),
                  Signed(result.shift_high, base, rules.unit), ShownP(result.p_value));
  if (result.change == Change::kInconclusive) return text + Needed(result, rules);
  const std::string_view larger = rules.unit == Unit::kNs ? "slower" : "higher in the new run";
  if (judged.is_paired) return text + fmt::format("; {:.0f}% of paired runs {}", 100 * result.effect, larger);
  return text + fmt::format("; {:.0f}% of pairs {}", 100 * result.effect, larger);
}

SampleComparison Judge(std::span<const double> base, std::span<const double> now, const Shift& shift,
                       const SampleRules& rules, Judged judged) {
  SampleComparison result;
  FillMedians(base, now, &result);
  SetShift(shift.Estimate(), &result);
  const double size = std::fabs(result.base_median);
  judged.relevant = std::max(rules.min_relative * size, rules.min_absolute);
  judged.margin = std::max(judged.relevant, rules.max_hidden * size);
  judged.shown = shift.IntervalAt(kShownRisk);
  judged.ruled_out = shift.IntervalAt(rules.missed);
  result.shift_low = judged.shown.low;
  result.shift_high = judged.shown.high;
  result.confidence = 1 - 2 * judged.shown.risk;
  result.ruled_out_below = judged.ruled_out.low;
  result.ruled_out_above = judged.ruled_out.high;
  result.ruled_out_risk = judged.ruled_out.risk;
  result.p_value = judged.test.p_value;
  result.effect = judged.test.effect;
  result.change = Decide(result, judged, rules);
  if (result.change == Change::kChanged) result.change = Direction(result.shift, rules.better);
  if (result.change == Change::kInconclusive) result.runs_needed = RunsNeeded(result, judged, rules);
  result.evidence = Evidence(result, judged, rules) + RunsApart(base, "the baseline", judged.margin, rules.unit) +
                    RunsApart(now, "the new runs", judged.margin, rules.unit);
  return result;
}

// Pairs lose where nothing drifts: a disturbed run spoils its pair. The sums of pairs say whether something does
// without a look at their differences, so that choosing the test by them does not make it alarm more often.
bool Drift(std::span<const double> base, std::span<const double> now) {
  std::vector<double> sums;
  for (std::size_t i = 0; i < base.size(); ++i) sums.push_back(base[i] + now[i]);
  return Roughness(sums) < kRoughnessOfDrift;
}

// What can be said without arithmetic: nothing, or of deterministic figures everything.
bool IsPlain(std::span<const double> base, std::span<const double> now, const SampleRules& rules,
             SampleComparison* result) {
  if (base.empty() || now.empty()) {
    result->base_count = static_cast<uint32_t>(base.size());
    result->new_count = static_cast<uint32_t>(now.size());
    result->runs_needed = rules.is_deterministic ? 1 : LeastRunsForAChange(rules.false_alarms);
    result->evidence = base.empty() ? "no base run has this metric" : "no new run has this metric";
    return true;
  }
  if (!AllFinite(base) || !AllFinite(now)) {
    FillMedians(base, now, result);
    result->evidence = "not a number in some runs";
    return true;
  }
  if (rules.is_deterministic) *result = CompareExactly(base, now, rules);
  return rules.is_deterministic;
}

}  // namespace

uint32_t LeastRunsForAChange(double false_alarms) {
  uint32_t runs = 1;
  while (SmallestP(runs, runs) > false_alarms && runs < kMostRunsToAskFor) ++runs;
  return runs;
}

SampleComparison CompareSamples(std::span<const double> base, std::span<const double> now, const SampleRules& rules) {
  SampleComparison result;
  if (IsPlain(base, now, rules, &result)) return result;
  Judged judged;
  judged.test = RankSumTest(base, now);
  return Judge(base, now, Shift::OfSets(base, now), rules, judged);
}

SampleComparison ComparePairs(std::span<const double> base, std::span<const double> now, const SampleRules& rules) {
  SampleComparison result;
  if (base.size() != now.size() || base.size() < kLeastPairs) return CompareSamples(base, now, rules);
  if (IsPlain(base, now, rules, &result)) return result;
  if (!Drift(base, now)) return CompareSamples(base, now, rules);
  std::vector<double> differences;
  for (std::size_t i = 0; i < base.size(); ++i) differences.push_back(now[i] - base[i]);
  Judged judged;
  judged.is_paired = true;
  judged.test = SignedRankTest(differences);
  // Signed ranks of so few pairs prove nothing. Drift only widens two interleaved sets, which makes their test careful.
  if (base.size() < kLeastPairsForSignedRanks) judged.test.p_value = RankSumTest(base, now).p_value;
  return Judge(base, now, Shift::OfPairs(differences), rules, judged);
}

}  // namespace gprof
