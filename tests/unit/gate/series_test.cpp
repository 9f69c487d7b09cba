// How often the judge of samples is wrong, and how often it cannot tell. docs/statistics.md has the tables.
#include "series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>

namespace gprof {
namespace {

// Trials for a number of runs: the many that take long are left to the table in the docs. A rate of just 1 % gives more
// alarms than this once in 1,000 times: a single row may come near by chance, all of them together may not.
struct Plan {
  uint32_t runs, trials, most_alarms;
};
constexpr Plan kPlans[] = {{3, 500, 13}, {5, 4000, 61}, {7, 2000, 35}, {10, 1000, 21}, {20, 300, 10}};

void ExpectFewFalseAlarms(std::span<const Noise> noises, bool is_paired) {
  uint32_t trials = 0, alarms = 0;
  for (const Noise noise : noises) {
    for (const auto& [runs, trials_of_row, most_alarms] : kPlans) {
      const Rates rates = Repeat({noise, runs, 0.02, 0, is_paired}, trials_of_row, 1);
      EXPECT_LE(rates.regressed + rates.improved, most_alarms) << NameOf(noise) << ", " << runs << " runs";
      trials += rates.trials;
      alarms += rates.regressed + rates.improved;
    }
  }
  EXPECT_LE(100 * alarms, trials);
}

double PercentSame(Noise noise, uint32_t runs, double spread) {
  const Rates rates = Repeat({noise, runs, spread, 0}, 1000, 2);
  return rates.Percent(rates.same);
}

// Of 1,500 trials 95 % are 1,425.
Rates Slower(double effect, uint32_t runs, Noise noise = Noise::kNormal, bool is_paired = false) {
  return Repeat({noise, runs, 0.02, effect, is_paired}, 1500, 3);
}

TEST(FalseAlarms, AreAtMostOnePercentOfIdenticalBuilds) { ExpectFewFalseAlarms(kAllNoises, false); }

TEST(FalseAlarms, AreAtMostOnePercentOfIdenticalBuildsRunInPairs) {
  ExpectFewFalseAlarms(std::array{Noise::kNormal, Noise::kClockStates, Noise::kDrift}, true);
}

TEST(FalseAlarms, IdenticalBuildsAreTheSame) {
  for (const Noise noise : {Noise::kNormal, Noise::kLogNormal, Noise::kQuantized}) {
    EXPECT_GE(PercentSame(noise, 5, 0.01), 99) << NameOf(noise);
    EXPECT_GE(PercentSame(noise, 5, 0.02), 92) << NameOf(noise);
    EXPECT_GE(PercentSame(noise, 10, 0.02), 96) << NameOf(noise);
  }
  EXPECT_GE(PercentSame(Noise::kOutliers, 5, 0.01), 94);
}

TEST(Power, TenPercentAreFoundWithFiveRuns) {
  for (const Noise noise : {Noise::kNormal, Noise::kLogNormal, Noise::kQuantized, Noise::kClockStates}) {
    EXPECT_GE(Slower(0.10, 5, noise).regressed, 1425u) << NameOf(noise);
    EXPECT_GE(Slower(-0.10, 5, noise).improved, 1425u) << NameOf(noise);
  }
}

TEST(Power, FivePercentAreFoundWithTenRuns) {
  for (const Noise noise : {Noise::kNormal, Noise::kLogNormal, Noise::kQuantized}) {
    EXPECT_GE(Slower(0.05, 10, noise).regressed, 1425u) << NameOf(noise);
    EXPECT_GE(Slower(-0.05, 10, noise).improved, 1425u) << NameOf(noise);
  }
}

TEST(Power, PairsFindThemUnderDriftToo) {
  EXPECT_GE(Slower(0.05, 10, Noise::kDrift, true).regressed, 1425u);
  EXPECT_LE(Slower(0.05, 10, Noise::kDrift, false).regressed, 1050u);  // which is what pairs are for
  EXPECT_GE(Slower(0.05, 10, Noise::kNormal, true).regressed, 1425u);
}

TEST(Power, WhatSameRulesOutIsSeldomThere) {
  // A change of just 5 % is called the same in one case of ten at most (`missed`), whatever the number of runs.
  for (const uint32_t runs : {3u, 5u, 10u}) {
    for (const Noise noise : {Noise::kNormal, Noise::kLogNormal, Noise::kOutliers, Noise::kHeavyTails}) {
      EXPECT_LE(Slower(0.05, runs, noise).same, 150u) << NameOf(noise) << ", " << runs << " runs";
    }
    EXPECT_EQ(Slower(0.10, runs).same, 0u);
  }
}

TEST(RunsNeeded, AreEnough) {
  // Experiments that ended without a verdict, made again with as many runs as they asked for.
  for (const double effect : {0.0, 0.04}) {
    Random random(4);
    uint32_t asked = 0, told = 0;
    for (int trial = 0; trial < 1000; ++trial) {
      const Sets sets = Draw({Noise::kNormal, 5, 0.03, effect}, &random);
      const SampleComparison first = CompareSamples(sets.base, sets.now, {});
      if (first.change != Change::kInconclusive) continue;
      EXPECT_GT(first.runs_needed, 5u);
      ++asked;
      const Sets more = Draw({Noise::kNormal, std::min(first.runs_needed, 40u), 0.03, effect}, &random);
      told += CompareSamples(more.base, more.now, {}).change != Change::kInconclusive;
    }
    EXPECT_GE(asked, 200u);
    EXPECT_GE(told, asked * 3 / 4) << "of " << asked;
  }
}

}  // namespace
}  // namespace gprof
