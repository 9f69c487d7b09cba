#include <gtest/gtest.h>

#include "analysis/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

TEST(Nvtx, TimesAndGpuTimeByPath) {
  TraceMaker maker;
  maker.AddRange(0, 100, "step");
  maker.AddRange(10, 40, "step/forward");
  maker.AddRange(200, 400, "step");
  maker.Launch(15, 20, 50, 90);    // in step/forward
  maker.Launch(50, 55, 80, 120);   // in step, overlaps with the one before
  maker.Launch(150, 155, 160, 170);  // in no range
  const AnalysisResult result = RunNvtx(maker.Finish(), {});
  const Table& table = TableOf(result, "nvtx");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(TextOf(table, 0, "path"), "step");
  EXPECT_EQ(IntOf(table, 0, "count"), 2);
  EXPECT_EQ(IntOf(table, 0, "total_ns"), 300);
  EXPECT_EQ(RealOf(table, 0, "percent"), 75);  // of 400 ns
  EXPECT_EQ(IntOf(table, 0, "gpu_busy_ns"), 70);
  EXPECT_EQ(IntOf(table, 0, "kernels"), 2);
  EXPECT_EQ(IntOf(table, 1, "gpu_busy_ns"), 40);
  EXPECT_EQ(MetricOf(result, "nvtx.ranges"), 3);
  EXPECT_EQ(MetricOf(result, "nvtx.ranges", "nvtx:step"), 2);
  EXPECT_EQ(MetricOf(result, "nvtx.total_ns", "nvtx:step/forward"), 30);
  EXPECT_EQ(MetricOf(result, "nvtx.gpu_busy_ns", "nvtx:step"), 70);
  EXPECT_EQ(MetricOf(result, "nvtx.kernels", "nvtx:step/forward"), 1);
}

TEST(Nvtx, LaunchesOfOtherThreadsAreNotInTheRange) {
  TraceMaker maker;
  const uint32_t other = maker.AddThread(0, 101);
  maker.AddRange(0, 100, "step");
  maker.Launch(15, 20, 50, 90, other);
  EXPECT_EQ(MetricOf(RunNvtx(maker.Finish(), {}), "nvtx.kernels", "nvtx:step"), 0);
}

TEST(Nvtx, StartEndRangesProjectToo) {
  TraceMaker maker;
  maker.AddRange(0, 100, "whole").is_push_pop = false;
  maker.AddRange(10, 60, "part").is_push_pop = false;
  maker.AddRange(30, 40, "step");
  maker.Launch(35, 36, 50, 60);
  maker.Launch(60, 61, 70, 90);  // part has ended
  const AnalysisResult result = RunNvtx(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "nvtx.gpu_busy_ns", "nvtx:whole"), 30);
  EXPECT_EQ(MetricOf(result, "nvtx.gpu_busy_ns", "nvtx:part"), 10);
  EXPECT_EQ(MetricOf(result, "nvtx.gpu_busy_ns", "nvtx:step"), 10);
}

TEST(Nvtx, GpusAddUp) {
  TraceMaker maker;
  const uint32_t second = maker.AddDevice(1);
  maker.AddRange(0, 100, "step");
  maker.Launch(15, 20, 50, 90);
  maker.Launch(25, 30, 50, 90).device = second;
  EXPECT_EQ(MetricOf(RunNvtx(maker.Finish(), {}), "nvtx.gpu_busy_ns", "nvtx:step"), 80);
}

TEST(Nvtx, RangesWithoutGpu) {
  TraceMaker maker;
  maker.AddRange(0, 100, "step").is_open = true;
  const AnalysisResult result = RunNvtx(maker.Finish(), {});
  EXPECT_EQ(RealOf(TableOf(result, "nvtx"), 0, "percent"), 100);
  EXPECT_EQ(MetricOf(result, "nvtx.gpu_busy_ns", "nvtx:step"), 0);
}

TEST(Nvtx, EqualTimesAreOrderedByPath) {
  TraceMaker maker;
  for (const char* path : {"b", "c", "a"}) maker.AddRange(0, 100, path);
  const AnalysisResult result = RunNvtx(maker.Finish(), {.max_rows = 2, .min_gap_ns = 0});
  const Table& table = TableOf(result, "nvtx");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(TextOf(table, 0, "path"), "a");
  EXPECT_EQ(TextOf(table, 1, "path"), "b");
  EXPECT_TRUE(HasMetric(result, "nvtx.ranges", "nvtx:c"));
}

}  // namespace
}  // namespace gprof::test
