#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "analysis/statistics.h"

namespace gprof::test {
namespace {

Statistics Of(std::vector<int64_t> samples) { return Summarize(samples); }

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
  EXPECT_EQ(groups.Of(0)[0], 20);
  EXPECT_TRUE(groups.Of(1).empty());
  ASSERT_EQ(groups.Of(2).size(), 2u);
  EXPECT_EQ(groups.Of(2)[0], 10);
  EXPECT_EQ(groups.Of(2)[1], 30);
  EXPECT_EQ(groups.Of(3)[0], 40);
}

TEST(PercentOf, NothingOfNothingIsZero) {
  EXPECT_EQ(PercentOf(0, 0), 0);
  EXPECT_EQ(PercentOf(1, 4), 25);
}

}  // namespace
}  // namespace gprof::test
