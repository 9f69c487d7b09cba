// Which state samples of counter tracks are of, and what follows from them.
#include "analysis/topics/tracks/sampled_states.h"

#include <gtest/gtest.h>

#include "analysis/topics/tracks/metric_samples.h"

namespace gprof::test {
namespace {

using States = std::vector<uint32_t>;

std::vector<MetricSample> SamplesOf(std::initializer_list<Interval> times) {
  std::vector<MetricSample> samples;
  for (const Interval& time : times) {
    samples.push_back({time.start_ns, time.end_ns, static_cast<int64_t>(samples.size()), 0});
  }
  return samples;
}

TEST(SampledStates, ASampleIsOfWhatTookNineTenthsOfIt) {
  const std::vector<StateInterval> states = {{0, 100, 0}, {100, 190, 1}, {190, 300, 2}};
  EXPECT_EQ(StatesOf(SamplesOf({{0, 100}, {100, 200}, {200, 300}, {300, 400}}), states, 3), (States{0, 1, 2, kNone}));
  EXPECT_EQ(StatesOf(SamplesOf({{50, 150}, {105, 205}}), states, 3), (States{kNone, kNone}));
}

TEST(SampledStates, AMomentIsOfTheStateThatItIsIn) {
  const std::vector<StateInterval> states = {{0, 100, 0}, {100, 190, 1}};
  EXPECT_EQ(StatesOf(SamplesOf({{0, 0}, {99, 99}, {100, 100}, {190, 190}}), states, 2), (States{0, 0, 1, kNone}));
}

TEST(SampledStates, WhatRanBesideItForLongerThanATenthSpoilsASample) {
  const std::vector<StateInterval> states = {{0, 400, 0}, {100, 105, 1}, {200, 250, 1}, {300, 400, 0}};
  EXPECT_EQ(StatesOf(SamplesOf({{0, 100}, {100, 200}, {200, 300}, {300, 400}}), states, 2), (States{0, 0, kNone, 0}));
}

TEST(SampledStates, StatisticsAreOfTheSamplesOfAState) {
  MetricSource source;
  source.scale = -1;
  std::vector<MetricSample> samples = SamplesOf({{0, 10}, {10, 40}, {40, 50}});
  samples[0].value = 10, samples[1].value = 30, samples[2].value = 1000;
  const std::vector<SampleStatistics> of_states = StatisticsOfStates(source, samples, States{0, 0, kNone}, 2);
  EXPECT_EQ(of_states[0].count, 2);
  EXPECT_DOUBLE_EQ(of_states[0].mean, (1.0 * 10 + 3.0 * 30) / 40);
  EXPECT_DOUBLE_EQ(of_states[0].min, 1);
  EXPECT_DOUBLE_EQ(of_states[0].p95, 3);
  EXPECT_EQ(of_states[1].count, 0);
  EXPECT_FALSE(SaysSomething(of_states[0]));
}

TEST(SampleStatistics, AreExact) {
  MetricSource source;
  std::vector<MetricSample> samples;
  for (int64_t i = 100; i > 0; --i) samples.push_back({i, i, i, 0});
  const SampleStatistics statistics = StatisticsOf(source, samples);
  EXPECT_EQ(statistics.count, 100);
  EXPECT_EQ(statistics.min, 1);
  EXPECT_EQ(statistics.p50, 50);
  EXPECT_EQ(statistics.p95, 95);
  EXPECT_EQ(statistics.max, 100);
  EXPECT_DOUBLE_EQ(statistics.mean, 50.5);
}

TEST(EndOfSample, OfAMomentIsTwoPeriodsLater) {
  MetricSource source;
  EXPECT_EQ(EndOfSample(source, {10, 30, 0, 0}), 30);
  EXPECT_EQ(EndOfSample(source, {10, 10, 0, 0}), INT64_MAX);
  source.period_ns = 100;
  EXPECT_EQ(EndOfSample(source, {10, 10, 0, 0}), 210);
}

}  // namespace
}  // namespace gprof::test
