// What a row of the catalogue says fits together.
#include <gtest/gtest.h>

#include <string_view>

#include "analysis/result/metrics.h"
#include "gprof/analysis.h"

namespace gprof {
namespace {

TEST(MetricCatalogue, WhatCannotBeJoinedNeedsOneTrace) {
  for (const MetricInfo& info : MetricCatalogue()) {
    EXPECT_EQ(!info.join.IsKnown(), info.needs.Has(Fact::kOneTrace)) << info.id;
  }
}

TEST(MetricCatalogue, OnlyWhatAddsUpIsAdded) {
  for (const MetricInfo& info : MetricCatalogue()) {
    if (info.join.how != Join::kSum) continue;
    EXPECT_TRUE(info.unit == Unit::kNs || info.unit == Unit::kCount || info.unit == Unit::kBytes) << info.id;
    for (const char* const no_sum :
         {"median", "p50", "p95", "p99", "mean", "max", "longest", "peak", "best", "distinct"}) {
      EXPECT_EQ(info.id.find(no_sum), std::string_view::npos) << info.id;
    }
  }
}

TEST(MetricCatalogue, RatiosAreOfMetricsThatAddUp) {
  for (const MetricInfo& info : MetricCatalogue()) {
    if (info.join.how != Join::kRatio) continue;
    for (const std::string_view id : {info.join.part, info.join.whole}) {
      ASSERT_NE(FindMetric(id), nullptr) << id;
      EXPECT_EQ(FindMetric(id)->join.how, Join::kSum) << id;
    }
  }
}

TEST(MetricCatalogue, TotalsNeedTheWholeRun) {
  EXPECT_TRUE(FindMetric("kernels.total_ns")->needs.Has(Fact::kWholeRun));
  EXPECT_TRUE(FindMetric("gaps.longest_ns")->needs.Has(Fact::kWholeRun));
  for (const char* const id : {"kernels.median_ns", "gpu.idle_percent", "gemm.tflops", "startup.longest_ns",
                               "run.wall_ns", "kernel.registers", "health.lost_records"}) {
    EXPECT_FALSE(FindMetric(id)->needs.Has(Fact::kWholeRun)) << id;
  }
}

TEST(MetricCatalogue, KnowsWhatTheHostRecorded) {
  for (const char* const id : {"api.calls", "nvtx.total_ns", "launches.count", "step.median_ns", "memory.peak_bytes"}) {
    EXPECT_TRUE(FindMetric(id)->is_of_host) << id;
  }
  for (const char* const id : {"step.idle_percent", "nvtx.gpu_idle_ns", "kernels.count", "streams.unused"}) {
    EXPECT_FALSE(FindMetric(id)->is_of_host) << id;
  }
}

TEST(MetricCatalogue, PartsAreKnownByTheirScope) {
  ASSERT_NE(PartsOf("nvtx:step/load"), nullptr);
  EXPECT_EQ(PartsOf("nvtx:step/load")->parts, Parts::kRanges);
  EXPECT_EQ(PartsOf("gpu0"), nullptr);
  EXPECT_EQ(PartsOf("nvtx:"), nullptr);
}

}  // namespace
}  // namespace gprof
