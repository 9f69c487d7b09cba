#include "analysis/result/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace gprof::test {
namespace {

Statistics Of(std::vector<int64_t> samples) { return Summarize(samples); }

TEST(Statistics, MedianOfManyIsThatOfTheSorted) {
  std::mt19937_64 random(1);
  for (const size_t count : {1999u, 2000u, 2001u, 30000u}) {
    for (const int bits : {0, 1, 5, 6, 12, 40, 62}) {
      std::vector<int64_t> samples(count);
      for (int64_t& sample : samples) {
        sample = static_cast<int64_t>(random() & ((uint64_t{1} << bits) - 1)) >> (random() % 8);
      }
      const double median = Of(samples).median;
      std::sort(samples.begin(), samples.end());
      const int64_t low = samples[(count - 1) / 2], high = samples[count / 2];
      EXPECT_EQ(median, static_cast<double>(low) + static_cast<double>(high - low) / 2) << count << " " << bits;
    }
  }
  std::vector<int64_t> negative(5000, -7);
  EXPECT_EQ(Of(negative).median, -7);
}

TEST(Statistics, MedianIsExact) {
  EXPECT_EQ(Of({5}).median, 5);
  EXPECT_EQ(Of({9, 1, 5}).median, 5);
  EXPECT_EQ(Of({1, 10, 4, 7}).median, 5.5);
  EXPECT_EQ(Of({4, 4, 4, 4}).median, 4);
  EXPECT_EQ(Of({2, 1}).median, 1.5);
}

TEST(Statistics, SpreadIsThatOfASample) {
  EXPECT_EQ(Of({7}).stddev, 0);
  EXPECT_DOUBLE_EQ(Of({2, 4, 4, 4, 5, 5, 7, 9}).stddev, std::sqrt(32.0 / 7));
}

TEST(Statistics, NothingOfNothing) {
  const Statistics nothing = Of({});
  EXPECT_EQ(nothing.count, 0);
  EXPECT_EQ(nothing.median, 0);
}

TEST(Groups, KeepSamplesApart) {
  Groups groups(4);
  for (size_t group : {2, 0, 2, 3}) groups.Count(group);
  groups.Seal();
  groups.Add(2, 10);
  groups.Add(0, 20);
  groups.Add(2, 30);
  groups.Add(3, 40);
  EXPECT_EQ(groups.Of(0).size(), 1u);
  EXPECT_EQ(groups.Of(0).Summary().total, 20);
  EXPECT_TRUE(groups.Of(1).empty());
  ASSERT_EQ(groups.Of(2).size(), 2u);
  EXPECT_EQ(groups.Of(2).Summary().min, 10);
  EXPECT_EQ(groups.Of(2).Summary().max, 30);
  EXPECT_EQ(groups.Of(3).Median(), 40);
}

// 4 bytes hold most; one sample that needs more must not change the others.
TEST(Samples, OfAnySize) {
  constexpr int64_t kLarge = int64_t{1} << 40;
  for (const int64_t last : {int64_t{7}, kLarge, int64_t{-7}}) {
    Samples samples(4);
    const std::vector<int64_t> values{UINT32_MAX, 0, 5, last};
    for (size_t i = 0; i < values.size(); ++i) samples.Set(i, values[i]);
    EXPECT_EQ(Samples::Slice(&samples, 1, 2).Median(), 2.5);
    const Statistics statistics = Samples::Slice(&samples, 0, 4).Summary();
    EXPECT_EQ(statistics.total, int64_t{UINT32_MAX} + 5 + last);
    EXPECT_EQ(statistics.min, std::min<int64_t>(0, last));
    EXPECT_EQ(statistics.max, std::max<int64_t>(UINT32_MAX, last));
    EXPECT_EQ(statistics.median, Of(values).median);
  }
}

// Many are gone over eight at a time where the processor can: with every number that is left at the end, few different
// samples, some that come again in a pattern, and sums above 32 bits.
TEST(Samples, ManyAreAsOneByOne) {
  std::mt19937_64 random(2);
  for (const size_t count : {255u, 256u, 1001u, 4095u, 4096u, 4097u, 20003u}) {
    for (const uint64_t distinct : {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{700}, uint64_t{1} << 32}) {
      std::vector<int64_t> values(count);
      for (size_t i = 0; i < count; ++i) values[i] = static_cast<int64_t>((i % 5 == 0 ? i : random()) % distinct);
      Samples samples(count);
      for (size_t i = 0; i < count; ++i) samples.Set(i, values[i]);
      const Statistics some = Samples::Slice(&samples, 0, count).Summary(), all = Summarize(values);
      EXPECT_EQ(some.total, all.total) << count << " " << distinct;
      EXPECT_EQ(some.min, all.min);
      EXPECT_EQ(some.max, all.max);
      EXPECT_EQ(some.mean, all.mean);
      EXPECT_EQ(some.median, all.median);
      EXPECT_EQ(some.stddev, all.stddev);
    }
  }
}

// What an item has at hand is the same as the difference of its times.
TEST(Samples, DurationsOfAnyLength) {
  PackedCalls calls;
  const std::vector<int64_t> durations{5, UINT32_MAX, int64_t{1} << 33, int64_t{1} << 45, -3, 9};
  for (const int64_t duration : durations) {
    ApiCall call;
    call.start_ns = 100;
    call.end_ns = 100 + duration;
    calls.push_back(call);
  }
  Samples samples(durations.size());
  size_t next = 0;
  AddDurationsTo(
      calls, [](const PackedCalls::Item&) { return 0u; }, &next, &samples);
  EXPECT_EQ(next, durations.size());
  const Statistics statistics = Samples::Slice(&samples, 0, next).Summary();
  EXPECT_EQ(statistics.min, -3);
  EXPECT_EQ(statistics.max, int64_t{1} << 45);
  EXPECT_EQ(statistics.total, 5 + int64_t{UINT32_MAX} + (int64_t{1} << 33) + (int64_t{1} << 45) - 3 + 9);
}

TEST(PercentOf, NothingOfNothingIsZero) {
  EXPECT_EQ(PercentOf(0, 0), 0);
  EXPECT_EQ(PercentOf(1, 4), 25);
}

}  // namespace
}  // namespace gprof::test
