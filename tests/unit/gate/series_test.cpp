// How often the judge of samples is wrong, and how often it says that it cannot tell. docs/statistics.md has the tables.
#include "series.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gprof {
namespace {

// Trials for a number of runs: the many that take long are left to the table in the docs. A rate of just 1 % gives more
// alarms than this once in 1,000 times: a single row may come near by chance, all of them together may not.
struct Plan {
  uint32_t runs, trials, most_alarms;
};
constexpr Plan kPlans[] = {{3, 500, 13}, {5, 4000, 61}, {7, 2000, 35}, {10, 1000, 21}, {20, 300, 10}};

void ExpectFewFalseAlarms(double spread, bool is_paired) {
  uint32_t trials = 0, alarms = 0;
  for (const Noise noise : kAllNoises) {
    for (const auto& [runs, trials_of_row, most_alarms] : kPlans) {
      const Rates rates = Repeat({noise, runs, spread, 0, is_paired}, trials_of_row, 1);
      EXPECT_LE(rates.regressed + rates.improved, most_alarms) << NameOf(noise) << ", " << runs << " runs";
      trials += rates.trials;
      alarms += rates.regressed + rates.improved;
    }
  }
  EXPECT_LE(100 * alarms, trials);
}

Rates Identical(Noise noise, uint32_t runs, double spread) {
  return Repeat({noise, runs, spread, 0}, 2000, 2);
}

Rates Slower(double effect, uint32_t runs, Noise noise = Noise::kNormal, bool is_paired = false) {
  return Repeat({noise, runs, 0.02, effect, is_paired}, 2000, 3);
}

TEST(FalseAlarms, AreAtMostOnePercentOfIdenticalBuilds) {
  ExpectFewFalseAlarms(0.02, false);
}

TEST(FalseAlarms, AreAtMostOnePercentOfIdenticalBuildsRunInPairs) {
  ExpectFewFalseAlarms(0.02, true);
}

TEST(FalseAlarms, IdenticalBuildsAreTheSame) {
  for (const Noise noise : {Noise::kNormal, Noise::kLogNormal, Noise::kQuantized}) {
    EXPECT_GE(Identical(noise, 5, 0.01).same, 1980u) << NameOf(noise);
    EXPECT_GE(Identical(noise, 5, 0.02).same, 1840u) << NameOf(noise);
    EXPECT_GE(Identical(noise, 10, 0.02).same, 1920u) << NameOf(noise);
  }
  EXPECT_GE(Identical(Noise::kOutliers, 5, 0.01).same, 1880u);
}

TEST(Power, TenPercentAreFoundWithFiveRuns) {
  for (const Noise noise : {Noise::kNormal, Noise::kLogNormal, Noise::kQuantized, Noise::kClockStates}) {
    EXPECT_GE(Slower(0.10, 5, noise).regressed, 1900u) << NameOf(noise);
    EXPECT_GE(Slower(-0.10, 5, noise).improved, 1900u) << NameOf(noise);
  }
}

TEST(Power, FivePercentAreFoundWithTenRuns) {
  for (const Noise noise : {Noise::kNormal, Noise::kLogNormal, Noise::kQuantized}) {
    EXPECT_GE(Slower(0.05, 10, noise).regressed, 1900u) << NameOf(noise);
    EXPECT_GE(Slower(-0.05, 10, noise).improved, 1900u) << NameOf(noise);
  }
}

TEST(Power, PairsFindThemUnderDriftToo) {
  EXPECT_GE(Slower(0.05, 10, Noise::kDrift, true).regressed, 1900u);
  EXPECT_LE(Slower(0.05, 10, Noise::kDrift, false).regressed, 1400u);  // which is what pairs are for
  EXPECT_GE(Slower(0.05, 10, Noise::kNormal, true).regressed, 1900u);
}

TEST(Power, WhatSameRulesOutIsSeldomThere) {
  // A change of just 5 % is called the same in one case of ten at most (`missed`), whatever the number of runs.
  for (const uint32_t runs : {3u, 5u, 10u}) {
    for (const Noise noise : {Noise::kNormal, Noise::kLogNormal, Noise::kOutliers, Noise::kHeavyTails}) {
      EXPECT_LE(Slower(0.05, runs, noise).same, 200u) << NameOf(noise) << ", " << runs << " runs";
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
