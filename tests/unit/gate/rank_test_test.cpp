#include "gate/statistics/rank_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace gprof {
namespace {

using Values = std::vector<double>;

// U of `now` against `base`, ties half: the definition.
double CountU(const Values& base, const Values& now) {
  double u = 0;
  for (const double before : base) {
    for (const double after : now) u += after > before ? 1 : after == before ? 0.5 : 0;
  }
  return u;
}

// The p-value by its definition: the share of all ways to split the values that give a U as far from the middle.
double CountedP(const Values& base, const Values& now) {
  Values all = base;
  all.insert(all.end(), now.begin(), now.end());
  const double middle = static_cast<double>(base.size() * now.size()) / 2;
  const double seen = std::fabs(CountU(base, now) - middle);
  double splits = 0, as_far = 0;
  for (uint32_t mask = 0; mask < 1u << all.size(); ++mask) {
    Values a, b;
    for (std::size_t i = 0; i < all.size(); ++i) ((mask >> i & 1) != 0 ? b : a).push_back(all[i]);
    if (b.size() != now.size()) continue;
    ++splits;
    as_far += std::fabs(CountU(a, b) - middle) >= seen - 1e-9;
  }
  return as_far / splits;
}

// The same for signed ranks, zeros ranked and left out, of midranks that are given.
double CountedSignedP(const Values& signed_ranks) {
  const double all = std::accumulate(signed_ranks.begin(), signed_ranks.end(), 0.0,
                                     [](double sum, double rank) { return sum + std::fabs(rank); });
  const auto far = [&](auto is_positive) {
    double positive = 0;
    for (std::size_t i = 0; i < signed_ranks.size(); ++i) positive += is_positive(i) ? std::fabs(signed_ranks[i]) : 0;
    return std::fabs(positive - all / 2);
  };
  const double seen = far([&](std::size_t i) { return signed_ranks[i] > 0; });
  double as_far = 0;
  for (uint32_t mask = 0; mask < 1u << signed_ranks.size(); ++mask) {
    as_far += far([&](std::size_t i) { return (mask >> i & 1) != 0; }) >= seen - 1e-9;
  }
  return as_far / static_cast<double>(1u << signed_ranks.size());
}

TEST(RankSum, IsExactWithoutTies) {
  EXPECT_NEAR(RankSumTest(Values{1, 2, 3}, Values{4, 5, 6}).p_value, 2.0 / 20, 1e-12);
  EXPECT_NEAR(RankSumTest(Values{1, 2, 3, 4, 5}, Values{9, 6, 8, 7, 10}).p_value, 2.0 / 252, 1e-12);
  const Values base = {3.1, 1.2, 5.5, 2.7, 4.9}, now = {4.1, 6.2, 5.6, 2.8};
  const RankTest test = RankSumTest(base, now);
  EXPECT_TRUE(test.is_exact);
  EXPECT_NEAR(test.p_value, CountedP(base, now), 1e-12);
  EXPECT_NEAR(test.effect, CountU(base, now) / 20, 1e-12);
}

TEST(RankSum, IsExactWithTies) {
  for (const auto& [base, now] : {std::pair<Values, Values>{{1, 1, 2, 2, 3}, {2, 2, 3, 3, 3}},
                                  {{5, 5, 5, 5}, {5, 5, 5, 6}},
                                  {{1, 2, 2}, {2, 3, 4, 4, 4}},
                                  {{2, 3, 4, 4, 4, 1, 3}, {1, 2}},
                                  {{7, 7, 7}, {7, 7, 7}}}) {
    const RankTest test = RankSumTest(base, now);
    EXPECT_TRUE(test.is_exact);
    EXPECT_NEAR(test.p_value, CountedP(base, now), 1e-12);
    EXPECT_NEAR(test.effect, CountU(base, now) / static_cast<double>(base.size() * now.size()), 1e-12);
  }
}

TEST(RankSum, IsTheSameInBothDirections) {
  const Values base = {3, 1, 5, 2, 2}, now = {4, 6, 5, 7, 2, 9};
  EXPECT_NEAR(RankSumTest(base, now).p_value, RankSumTest(now, base).p_value, 1e-12);
  EXPECT_NEAR(RankSumTest(base, now).effect, 1 - RankSumTest(now, base).effect, 1e-12);
}

TEST(RankSum, TheApproximationContinuesTheExactTest) {
  // Two sets of 11 are counted without ties only; one tie in the middle hardly matters.
  Values base, now;
  for (int i = 0; i < 11; ++i) {
    base.push_back(2 * i);
    now.push_back(2 * i + 9);
  }
  const RankTest exact = RankSumTest(base, now);
  now[0] = 10;
  const RankTest approximate = RankSumTest(base, now);
  EXPECT_TRUE(exact.is_exact);
  EXPECT_FALSE(approximate.is_exact);
  EXPECT_LT(exact.p_value, 0.05);
  EXPECT_NEAR(approximate.p_value, exact.p_value, 0.2 * exact.p_value);
}

TEST(RankSum, KnowsSetsApart) {
  EXPECT_TRUE(RankSumTest(Values{1, 2}, Values{3, 4}).is_separated);
  EXPECT_TRUE(RankSumTest(Values{3, 4}, Values{1, 2}).is_separated);
  EXPECT_FALSE(RankSumTest(Values{1, 3}, Values{3, 4}).is_separated);
}

TEST(SignedRank, IsExactWithTiesAndZeros) {
  EXPECT_NEAR(SignedRankTest(Values{1, 2, 3, 4, 5, 6, 7, 8}).p_value, 2.0 / 256, 1e-12);
  EXPECT_NEAR(SignedRankTest(Values{1, 2, -3, 4, 5}).p_value, CountedSignedP({1, 2, -3, 4, 5}), 1e-12);
  EXPECT_NEAR(SignedRankTest(Values{2, 2, -1, 5, 2}).p_value, CountedSignedP({3, 3, -1, 5, 3}), 1e-12);
  EXPECT_NEAR(SignedRankTest(Values{0, 0, -1, 5, 2}).p_value, CountedSignedP({-3, 5, 4}), 1e-12);
  EXPECT_EQ(SignedRankTest(Values{0, 0, 0}).p_value, 1);
  EXPECT_NEAR(SignedRankTest(Values{1, -2, 3, 0}).effect, 2.5 / 4, 1e-12);
}

TEST(SignedRank, TheApproximationContinuesTheExactTest) {
  Values differences;
  for (int i = 1; i <= 50; ++i) differences.push_back(i % 3 == 0 ? -i : i);
  const RankTest exact = SignedRankTest(differences);
  differences.push_back(0.5);
  const RankTest approximate = SignedRankTest(differences);
  EXPECT_TRUE(exact.is_exact);
  EXPECT_FALSE(approximate.is_exact);
  EXPECT_NEAR(approximate.p_value, exact.p_value, 0.1 * exact.p_value);
}

TEST(Shift, IsTheMedianOfAllDifferences) {
  const Shift shift = Shift::OfSets(Values{1, 2, 100}, Values{11, 12, 13});
  EXPECT_EQ(shift.Estimate(), 10);                             // -89 -88 -87 9 10 10 11 11 12
  EXPECT_EQ(Shift::OfPairs(Values{1, 2, 9}).Estimate(), 3.5);  // means 1 1.5 2 5 5.5 9
}

TEST(Shift, IntervalsHaveTheRiskThatTheySay) {
  Values base, now;
  for (int i = 0; i < 5; ++i) {
    base.push_back(i);
    now.push_back(100 + 10 * i);
  }
  const Shift shift = Shift::OfSets(base, now);  // differences 96 to 140; the third from each end
  const ShiftInterval interval = shift.IntervalAt(0.025);
  EXPECT_NEAR(interval.risk, 4.0 / 252, 1e-12);
  EXPECT_EQ(interval.low, 98);
  EXPECT_EQ(interval.high, 138);
  const ShiftInterval widest = shift.IntervalAt(0.001);  // too few runs for that
  EXPECT_NEAR(widest.risk, 1.0 / 252, 1e-12);
  EXPECT_EQ(widest.low, 96);
  EXPECT_EQ(widest.high, 140);
  EXPECT_NEAR(Shift::OfPairs(Values{1, 2, 3, 4, 5}).IntervalAt(0.1).risk, 3.0 / 32, 1e-12);
  EXPECT_NEAR(Shift::OfSets(Values{1}, Values{2}).IntervalAt(0.1).risk, 0.5, 1e-12);
}

TEST(Shift, LargeSetsContinueSmallOnes) {
  Values base, now;
  for (int i = 0; i < 25; ++i) {
    base.push_back(i * i % 101);
    now.push_back(i * i * i % 103);
  }
  const ShiftInterval counted = Shift::OfSets(base, now).IntervalAt(0.025);
  now.push_back(52);
  const ShiftInterval approximate = Shift::OfSets(base, now).IntervalAt(0.025);
  EXPECT_NEAR(counted.risk, 0.025, 0.001);
  EXPECT_NEAR(approximate.risk, 0.025, 0.001);
  EXPECT_NEAR(approximate.low, counted.low, 3);
  EXPECT_NEAR(approximate.high, counted.high, 3);
}

TEST(Roughness, TellsADriftFromDisorder) {
  EXPECT_LT(Roughness(Values{1, 2, 3, 4, 5, 6}), 0.5);
  EXPECT_GT(Roughness(Values{1, 6, 2, 5, 3, 4}), 1.5);
  EXPECT_EQ(Roughness(Values{4, 4, 4}), 2);
}

TEST(Normal, TailAndItsPoint) {
  EXPECT_NEAR(NormalTailPoint(0.025), 1.959964, 1e-6);
  EXPECT_NEAR(NormalTail(1.281552), 0.1, 1e-6);
  EXPECT_NEAR(NormalTailPoint(0.5), 0, 1e-9);
}

TEST(Median, OfEvenAndOddSets) {
  EXPECT_EQ(MedianOf(Values{3, 1, 2}), 2);
  EXPECT_EQ(MedianOf(Values{4, 1, 2, 3}), 2.5);
}

}  // namespace
}  // namespace gprof
