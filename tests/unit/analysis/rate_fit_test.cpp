// Rates by regression against timelines of which they are known.
#include "analysis/facts/rates/rate_fit.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "rated_timeline.h"

namespace gprof::test {
namespace {

struct Coverage {
  int told = 0, held = 0, of = 0;
  std::vector<double> errors;  // in parts of the truth
  double Share() const { return static_cast<double>(held) / std::max(told, 1); }
  double MedianError() {
    if (errors.empty()) return 0;
    std::ranges::nth_element(errors, errors.begin() + std::ssize(errors) / 2);
    return errors[errors.size() / 2];
  }
};

RateFit FitOf(const RatedTimeline& timeline) {
  const RateTrack track = timeline.track();
  return {timeline.time(), track, FindEdges(timeline.time(), {&track, 1})[0]};
}

Coverage CoverageOf(const std::string& name, const std::function<Hidden(int)>& hidden, int seeds) {
  Coverage all;
  for (int seed = 1; seed <= seeds; ++seed) {
    const RatedTimeline timeline(hidden(seed), static_cast<uint64_t>(seed));
    const RateFit fit = FitOf(timeline);
    for (uint32_t column = 0; column < timeline.columns; ++column) {
      ++all.of;
      const std::optional<Estimate> found = fit.Of(column);
      if (!found) continue;
      ++all.told;
      all.held += found->low <= timeline.truth[column] && timeline.truth[column] <= found->high;
      all.errors.push_back(std::abs(found->value / timeline.truth[column] - 1));
    }
  }
  std::printf("%-44s values %4d of %4d, interval holds the truth %5.1f%%, median error %4.2f%%\n", name.c_str(),
              all.told, all.of, 100 * all.Share(), 100 * all.MedianError());
  return all;
}

// Edges are recorded as exactly as on GPUs: 90 % within 0.3 us.
Hidden Usual(int seed) {
  Hidden hidden;
  hidden.seconds = 1;
  hidden.edge_jitter_ns = 75 + seed * 7 % 30;
  return hidden;
}

// The intervals are made to hold the truth in 95 of 100 cases.
TEST(RateFit, IntervalsHoldTheTruth) {
  constexpr int kSeeds = 10;
  struct Case {
    const char* name;
    std::function<void(int seed, Hidden*)> change;
    int least_told_percent = 90;
  };
  const Case cases[] = {
      {"one stream, 10 kHz", [](int, Hidden*) {}},
      {"one stream, 1 kHz", [](int, Hidden* h) { h->seconds = 5, h->hz = 1000; }, 60},
      {"two streams side by side", [](int, Hidden* h) { h->streams = 2; }},
      {"units see edges up to 1.2 us away",
       [](int seed, Hidden* h) {
         h->shift = {-1200 + seed * 331 % 1600, -600 + seed * 577 % 1800};
       }},
      {"clocks between 60 and 100%", [](int, Hidden* h) { h->clock_from = 0.6; }},
      {"launches of a kernel differ by 25%", [](int, Hidden* h) { h->spread = 0.25; }, 60},
      {"all of these at once",
       [](int seed, Hidden* h) {
         h->streams = 2, h->noise = 0.02, h->spread = 0.15, h->clock_from = 0.7;
         h->shift = {-1000, -200 + seed * 577 % 800};
       },
       60},
  };
  Coverage all;
  for (const Case& one : cases) {
    const auto hidden = [&](int seed) {
      Hidden usual = Usual(seed);
      one.change(seed, &usual);
      return usual;
    };
    const Coverage found = CoverageOf(one.name, hidden, kSeeds);
    EXPECT_GE(found.told, one.least_told_percent * found.of / 100) << one.name;
    EXPECT_GE(found.Share(), 0.88) << one.name;
    all.told += found.told, all.held += found.held;
  }
  std::printf("%-44s interval holds the truth %5.1f%% of %d\n", "all", 100 * all.Share(), all.told);
  EXPECT_GE(all.Share(), 0.90);
  EXPECT_LE(all.Share(), 0.985);
}

TEST(RateFit, IsTheSameTwice) {
  const RatedTimeline timeline({.seconds = 0.5}, 7);
  const RateFit a = FitOf(timeline), b = FitOf(timeline);
  for (uint32_t column = 0; column < timeline.columns; ++column) {
    ASSERT_TRUE(a.Of(column));
    EXPECT_EQ(a.Of(column)->low, b.Of(column)->low);
    EXPECT_EQ(a.Of(column)->high, b.Of(column)->high);
  }
}

// Work of columns 0 and 1 one after the other, always as long, in whole samples; column 2 is apart.
TEST(RateFit, WhatAlwaysRunsTogetherIsAGroup) {
  std::mt19937_64 random(3);
  RatedTimeline timeline({.seconds = 0}, 1);
  timeline.columns = 3;
  for (int64_t at_ns = 0; at_ns < 400'000'000; at_ns += 200'000) {
    timeline.work.push_back({at_ns, at_ns + 50'000, 0});
    timeline.work.push_back({at_ns + 50'000, at_ns + 100'000, 1});
    timeline.samples.push_back({at_ns, at_ns + 100'000, 50'000 + static_cast<int64_t>(random() % 1000), 0});
    const bool runs = random() % 2 == 0;
    if (runs) timeline.work.push_back({at_ns + 100'000, at_ns + 200'000, 2});
    timeline.samples.push_back(
        {at_ns + 100'000, at_ns + 200'000, (runs ? 20'000 : 0) + static_cast<int64_t>(random() % 1000), 0});
  }
  const RateFit fit = FitOf(timeline);
  EXPECT_EQ(fit.GroupOf(0), fit.GroupOf(1));
  EXPECT_NE(fit.GroupOf(0), fit.GroupOf(2));
  ASSERT_TRUE(fit.Of(0u));
  EXPECT_NEAR(fit.Of(0u)->value, 50.5, 0.5);
  ASSERT_TRUE(fit.Of(2u));
  EXPECT_NEAR(fit.Of(2u)->value, 20.5, 0.5);
}

TEST(RateFit, FewSamplesTellNothing) {
  const RatedTimeline timeline({.seconds = 0.005}, 1);
  const RateFit fit = FitOf(timeline);
  EXPECT_FALSE(fit.Of(0u));
}

TEST(RateFit, WhatHardlyRanIsNotKnown) {
  RatedTimeline timeline({.seconds = 1}, 5);
  timeline.columns = 7;
  timeline.work[100].column = 6;
  EXPECT_FALSE(FitOf(timeline).Of(6u));
}

// A second of work, two of nothing: what little noise there is then has no pace.
TEST(RateFit, TimeWithoutWorkDoesNotMakeValuesUncertain) {
  RatedTimeline timeline(Usual(3), 3);
  const std::size_t count = timeline.samples.size();
  for (std::size_t i = 0; i < 2 * count; ++i) {
    MetricSample idle = timeline.samples[i % count];
    idle.start_ns += 1'000'000'000 * (1 + static_cast<int64_t>(i / count));
    idle.end_ns += 1'000'000'000 * (1 + static_cast<int64_t>(i / count));
    idle.value = static_cast<int64_t>(i * 7919 % 300);
    timeline.samples.push_back(idle);
  }
  const RateFit fit = FitOf(timeline);
  for (uint32_t column = 0; column < timeline.columns; ++column) {
    ASSERT_TRUE(fit.Of(column));
    EXPECT_NEAR(fit.Of(column)->value, timeline.truth[column], 0.03 * timeline.truth[column]);
    EXPECT_LE(fit.Of(column)->high - fit.Of(column)->low, 0.1 * timeline.truth[column]);
  }
}

TEST(RateFit, WhatDoesNothingHasZeroWithinItsInterval) {
  RatedTimeline timeline({.seconds = 1}, 9);
  for (MetricSample& sample : timeline.samples) sample.value = 0;
  ASSERT_TRUE(FitOf(timeline).Of(0u));
  EXPECT_EQ(FitOf(timeline).Of(0u)->high, 0);
}

}  // namespace
}  // namespace gprof::test
