// Every figure of the catalogue has one way to be joined, or is said to be unknown.
#include "analysis/result/metric_joins.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace gprof {
namespace {

TEST(MetricJoins, WhatCannotBeJoinedNeedsOneTrace) {
  for (const MetricInfo& info : MetricCatalogue()) {
    EXPECT_EQ(JoinOf(info.id).how == Join::kNever, info.needs.Has(Fact::kOneTrace)) << info.id;
  }
}

TEST(MetricJoins, OnlyWhatAddsUpIsAdded) {
  for (const MetricInfo& info : MetricCatalogue()) {
    if (JoinOf(info.id).how != Join::kSum) continue;
    EXPECT_TRUE(info.unit == Unit::kNs || info.unit == Unit::kCount || info.unit == Unit::kBytes) << info.id;
    for (const char* const no_sum :
         {"median", "p50", "p95", "p99", "mean", "max", "longest", "peak", "best", "distinct"}) {
      EXPECT_EQ(info.id.find(no_sum), std::string_view::npos) << info.id;
    }
  }
}

TEST(MetricJoins, SharesAreOfMetricsThatAddUp) {
  for (const MetricJoin& join : kMetricJoins) {
    if (join.how != Join::kRatio) continue;
    for (const std::string_view id : {join.part, join.whole}) {
      EXPECT_NE(FindMetric(id), nullptr) << id;
      EXPECT_EQ(JoinOf(id).how, Join::kSum) << id;
    }
  }
}

TEST(MetricJoins, EachLineIsAboutAMetric) {
  std::set<std::string_view> seen;
  for (const MetricJoin& join : kMetricJoins) {
    EXPECT_TRUE(seen.insert(join.id).second) << join.id;
    const bool is_used =
        std::ranges::any_of(MetricCatalogue(), [&](const MetricInfo& info) { return JoinOf(info.id).id == join.id; });
    EXPECT_TRUE(is_used) << join.id;
  }
}

}  // namespace
}  // namespace gprof
