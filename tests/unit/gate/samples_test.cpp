#include "gate/statistics/samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace gprof {
namespace {

using ::testing::HasSubstr;
using Values = std::vector<double>;

const Values kBase = {100, 101, 100.2, 99, 102};

Values Times(const Values& values, double factor) {
  Values scaled;
  for (const double value : values) scaled.push_back(value * factor);
  return scaled;
}

SampleComparison CompareCounts(const Values& base, const Values& now) {
  SampleRules rules;
  rules.is_deterministic = true;
  return CompareSamples(base, now, rules);
}

TEST(Samples, OneRunEachProvesNothing) {
  const SampleComparison result = CompareSamples(Values{100}, Values{150}, {});
  EXPECT_EQ(result.change, Change::kInconclusive);
  EXPECT_EQ(result.runs_needed, 5u);
  EXPECT_EQ(result.evidence, "1 vs 1 runs: +50.0%, noise unknown; need >= 5 runs per side for a verdict");
}

TEST(Samples, ThreeRunsEachCannotShowAChangeHoweverLarge) {
  const SampleComparison result = CompareSamples(Values{100, 101, 100.5}, Values{150, 151, 152}, {});
  EXPECT_EQ(result.change, Change::kInconclusive);
  EXPECT_NEAR(result.p_value, 0.1, 1e-12);
  EXPECT_EQ(result.runs_needed, 5u);
  EXPECT_THAT(result.evidence, HasSubstr("need >= 5 runs per side"));
}

TEST(Samples, FiveRunsEachShowAChange) {
  const SampleComparison result = CompareSamples(kBase, Times(kBase, 1.1), {});
  EXPECT_EQ(result.change, Change::kRegressed);
  EXPECT_NEAR(result.relative, 0.1, 0.005);
  EXPECT_NEAR(result.p_value, 2.0 / 252, 1e-12);
  EXPECT_EQ(result.effect, 1);
  EXPECT_EQ(result.runs_needed, 0u);
  EXPECT_LT(result.shift_low, 10);
  EXPECT_GT(result.shift_high, 10);
  EXPECT_NEAR(result.confidence, 1 - 8.0 / 252, 1e-12);
  EXPECT_EQ(result.evidence,
            "5 vs 5 runs: +10.0% (96% CI +8.0%..+12.1%), p=0.008; 100% of pairs higher in the new run");
}

TEST(Samples, TheBetterDirectionDecides) {
  SampleRules rules;
  EXPECT_EQ(CompareSamples(Times(kBase, 1.1), kBase, rules).change, Change::kImproved);
  rules.better = Better::kHigher;
  EXPECT_EQ(CompareSamples(kBase, Times(kBase, 1.1), rules).change, Change::kImproved);
  EXPECT_EQ(CompareSamples(Times(kBase, 1.1), kBase, rules).change, Change::kRegressed);
  rules.better = Better::kNeither;
  EXPECT_EQ(CompareSamples(kBase, Times(kBase, 1.1), rules).change, Change::kChanged);
}

TEST(Samples, ALongHistoryNeedsFewNewRuns) {
  Values base;
  for (int i = 0; i < 20; ++i) base.push_back(100 + i % 7);
  EXPECT_EQ(CompareSamples(base, Values{121, 120}, {}).change, Change::kRegressed);  // 1 of 231 ways to draw two
  EXPECT_EQ(CompareSamples(base, Values{121}, {}).change, Change::kInconclusive);    // 1 of 21
}

TEST(Samples, CertainButSmallIsTheSame) {
  const Values base = {100, 100.1, 100.2, 99.9, 99.8};
  const SampleComparison result = CompareSamples(base, Times(base, 1.01), {});
  EXPECT_LT(result.p_value, 0.01);
  EXPECT_EQ(result.change, Change::kSame);
  EXPECT_THAT(result.evidence, HasSubstr("significant but below the threshold"));
  SampleRules strict;
  strict.min_relative = 0.005;
  EXPECT_EQ(CompareSamples(base, Times(base, 1.01), strict).change, Change::kRegressed);
  strict.min_absolute = 2;
  EXPECT_EQ(CompareSamples(base, Times(base, 1.01), strict).change, Change::kSame);
  EXPECT_EQ(CompareSamples(base, Times(base, 1.03), strict).change, Change::kRegressed);
}

TEST(Samples, TheSameRulesOutWhatItSays) {
  const SampleComparison result = CompareSamples(kBase, Values{100.5, 100, 101, 99.5, 100.1}, {});
  EXPECT_EQ(result.change, Change::kSame);
  EXPECT_GT(result.ruled_out_below, -5);
  EXPECT_LT(result.ruled_out_above, 5);
  EXPECT_NEAR(result.ruled_out_risk, 19.0 / 252, 1e-12);
  EXPECT_EQ(CompareSamples(Values{1}, Values{1}, {}).ruled_out_risk, 0.5);
  EXPECT_THAT(result.evidence, HasSubstr("is ruled out at 92% confidence each"));
  EXPECT_EQ(CompareSamples(kBase, kBase, {}).change, Change::kSame);
}

TEST(Samples, AHintIsNotTheSame) {
  // 3 % more, one run of each set on the wrong side: not enough to prove it, too much to deny it.
  const SampleComparison result = CompareSamples(kBase, Values{103, 103.5, 103, 101.5, 104}, {});
  EXPECT_GT(result.p_value, 0.01);
  EXPECT_LT(result.ruled_out_above, 5);
  EXPECT_EQ(result.change, Change::kInconclusive);
  EXPECT_GT(result.runs_needed, 5u);
  EXPECT_LT(result.runs_needed, 20u);
  // Three runs clearly apart by less than "same" would leave open.
  EXPECT_EQ(CompareSamples(Values{100, 100.1, 99.9}, Values{104, 104.1, 103.9}, {}).change, Change::kInconclusive);
}

TEST(Samples, OneDisturbedRunIsNoChange) {
  for (std::size_t disturbed = 0; disturbed < kBase.size(); ++disturbed) {
    Values now = kBase;
    now[disturbed] = 250;
    const SampleComparison result = CompareSamples(kBase, now, {});
    EXPECT_EQ(result.change, Change::kSame) << disturbed << ": " << result.evidence;
    EXPECT_THAT(result.evidence, HasSubstr("1 outlier in the new runs (+1"));
  }
}

TEST(Samples, NoiseIsInconclusiveAndSaysHowManyRunsWouldDo) {
  const SampleComparison result = CompareSamples(Values{100, 110, 95, 105, 98}, Values{103, 94, 112, 97, 106}, {});
  EXPECT_EQ(result.change, Change::kInconclusive);
  EXPECT_GT(result.runs_needed, 10u);
  EXPECT_LT(result.runs_needed, 100u);
  EXPECT_THAT(result.evidence, HasSubstr("runs per side needed for a verdict"));
}

TEST(Samples, ABaseOfZeroHasNoPercentages) {
  const SampleComparison result = CompareSamples(Values{0, 0, 0, 0, 0}, Values{3, 4, 5, 4, 3}, {});
  EXPECT_EQ(result.change, Change::kRegressed);
  EXPECT_EQ(result.relative, 0);
  EXPECT_THAT(result.evidence, HasSubstr("+4 (96% CI +3..+5)"));
  SampleRules rules;
  rules.min_absolute = 10;
  EXPECT_EQ(CompareSamples(Values{0, 0, 0, 0, 0}, Values{3, 4, 5, 4, 3}, rules).change, Change::kSame);
  EXPECT_EQ(CompareSamples(Values{0, 0, 0}, Values{0, 0, 0}, {}).change, Change::kSame);
}

TEST(Samples, NegativeFiguresHaveTheRightSign) {
  const SampleComparison result = CompareSamples(Times(kBase, -1), Times(kBase, -1.1), {});
  EXPECT_EQ(result.change, Change::kImproved);
  EXPECT_NEAR(result.relative, -0.1, 0.005);
}

TEST(Samples, NothingToCompare) {
  EXPECT_EQ(CompareSamples({}, kBase, {}).change, Change::kInconclusive);
  EXPECT_EQ(CompareSamples({}, kBase, {}).evidence, "no base run has this metric");
  EXPECT_EQ(CompareSamples(kBase, {}, {}).evidence, "no new run has this metric");
  const Values broken = {100, std::numeric_limits<double>::quiet_NaN(), 100, 100, 100};
  EXPECT_EQ(CompareSamples(kBase, broken, {}).change, Change::kInconclusive);
  EXPECT_EQ(CompareCounts({}, {5}).change, Change::kInconclusive);
}

TEST(Counts, AreComparedExactly) {
  EXPECT_EQ(CompareCounts({1200}, {1200}).change, Change::kSame);
  const SampleComparison result = CompareCounts({1200, 1200}, {1201});
  EXPECT_EQ(result.change, Change::kRegressed);
  EXPECT_EQ(result.shift, 1);
  EXPECT_EQ(result.evidence, "2 vs 1 runs: 1,200 in every base run, 1,201 in every new run (compared exactly)");
  EXPECT_EQ(CompareCounts({1200}, {1199}).change, Change::kImproved);
  EXPECT_EQ(CompareCounts({0}, {1}).change, Change::kRegressed);
}

TEST(Counts, ThatVaryAmongRunsOfOneSetAreNotDeterministic) {
  const SampleComparison result = CompareCounts({1200, 1201, 1200}, {1300, 1300, 1300});
  EXPECT_EQ(result.change, Change::kInconclusive);
  EXPECT_EQ(
      result.evidence,
      "1,200 to 1,201 in the base runs: this counter varies from run to run, so a single difference proves nothing");
  EXPECT_EQ(CompareCounts({1200, 1201}, {1200, 1201}).change, Change::kInconclusive);
}

TEST(Pairs, CancelDrift) {
  // 20 % of warming up, and a new program that is 3 % slower in each pair.
  const Values base = {100, 103, 106, 109, 112, 114, 117, 120};
  Values now = Times(base, 1.03);
  for (std::size_t i = 0; i < now.size(); ++i) now[i] += i % 2 == 0 ? 0.4 : -0.3;
  EXPECT_EQ(CompareSamples(base, now, {}).change, Change::kInconclusive);
  const SampleComparison result = ComparePairs(base, now, {});
  EXPECT_EQ(result.change, Change::kRegressed) << result.evidence;
  EXPECT_NEAR(result.p_value, 2.0 / 256, 1e-12);
  EXPECT_THAT(result.evidence, HasSubstr("8 vs 8 runs, paired"));
  EXPECT_THAT(result.evidence, HasSubstr("100% of paired runs"));
}

TEST(Pairs, WithoutDriftOrPairsAreSets) {
  const Values now = {101, 99.5, 100, 100.4, 102};
  EXPECT_EQ(ComparePairs(kBase, now, {}).evidence, CompareSamples(kBase, now, {}).evidence);
  EXPECT_EQ(ComparePairs(kBase, Values{120, 121}, {}).evidence, CompareSamples(kBase, Values{120, 121}, {}).evidence);
}

TEST(Samples, NeitherOrderNorUnitMatters) {
  const Values now = {103, 99, 107, 101.5, 104};
  const SampleComparison result = CompareSamples(kBase, now, {});
  const SampleComparison other = CompareSamples(Values{102, 99, 100.2, 101, 100}, Values{99, 101.5, 103, 104, 107}, {});
  EXPECT_EQ(other.evidence, result.evidence);
  EXPECT_EQ(other.runs_needed, result.runs_needed);
  EXPECT_EQ(CompareSamples(Times(kBase, 1048576), Times(now, 1048576), {}).evidence, result.evidence);
}

TEST(Samples, TheEvidenceHasTheUnit) {
  SampleRules rules;
  rules.unit = Unit::kPercent;
  EXPECT_THAT(CompareSamples(Values{20, 21, 20, 20, 21}, Values{31, 30, 31, 32, 30}, rules).evidence,
              HasSubstr("5 vs 5 runs: +10.0 pp (96% CI +9.0 pp..+12.0 pp)"));
  rules.unit = Unit::kNs;
  EXPECT_THAT(CompareSamples(Values{0, 0, 0, 0, 0}, Values{3000, 4000, 5000, 4000, 3000}, rules).evidence,
              HasSubstr("+4 us (96% CI +3 us..+5 us)"));
  rules.unit = Unit::kBytes;
  rules.is_deterministic = true;
  EXPECT_EQ(CompareSamples(Values{2e9}, Values{2e9 + 1}, rules).evidence,
            "1 vs 1 runs: 2,000,000,000 B in every base run, 2,000,000,001 B in every new run (compared exactly)");
}

TEST(Samples, LeastRuns) {
  EXPECT_EQ(LeastRunsForAChange(0.05), 4u);
  EXPECT_EQ(LeastRunsForAChange(0.01), 5u);
  EXPECT_EQ(LeastRunsForAChange(0.001), 7u);
}

// Identical builds: every way to split the same values into two sets is as likely as any other. So the share of the
// splits that are judged different is the rate of false alarms, for every shape of noise: a proof where the simulation
// of series_test.cpp only samples.
double FalseAlarmsOverAllSplits(const Values& values) {
  SampleRules rules;
  rules.min_relative = 0;  // nothing is too small: the test alone decides
  uint32_t splits = 0, alarms = 0;
  for (uint32_t mask = 0; mask < 1u << values.size(); ++mask) {
    Values base, now;
    for (std::size_t i = 0; i < values.size(); ++i) ((mask >> i & 1) != 0 ? now : base).push_back(values[i]);
    if (base.size() != now.size()) continue;
    ++splits;
    const Change change = CompareSamples(base, now, rules).change;
    alarms += change == Change::kImproved || change == Change::kRegressed;
  }
  return static_cast<double>(alarms) / splits;
}

TEST(Samples, NoNoiseMakesMoreFalseAlarmsThanPromised) {
  EXPECT_NEAR(FalseAlarmsOverAllSplits({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), 2.0 / 252, 1e-12);
  EXPECT_LE(FalseAlarmsOverAllSplits({100, 101, 102, 103, 104, 100.5, 101.5, 102.5, 103.5, 900}), 0.01);
  EXPECT_LE(FalseAlarmsOverAllSplits({1, 1, 1, 1, 1, 2, 2, 2, 2, 2}), 0.01);
  EXPECT_LE(FalseAlarmsOverAllSplits({1, 1, 2, 2, 2, 3, 3, 4, 4, 4}), 0.01);
  EXPECT_EQ(FalseAlarmsOverAllSplits({1, 2, 3, 4, 5, 6}), 0);
  EXPECT_LE(FalseAlarmsOverAllSplits({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), 0.01);
}

}  // namespace
}  // namespace gprof
