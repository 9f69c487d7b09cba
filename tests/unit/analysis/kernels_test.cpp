#include <gtest/gtest.h>

#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

TEST(Kernels, StatisticsByDemangledName) {
  TraceMaker maker;
  int64_t now_ns = 0;
  for (int64_t duration_ns : {10, 40, 20, 30}) {
    maker.AddKernel(now_ns, now_ns + duration_ns, kNone, "_Z5saxpyifPfS_");
    now_ns += 100;
  }
  maker.AddKernel(now_ns, now_ns + 300, kNone, "reduce");
  const AnalysisResult result = RunKernels(maker.Finish(), {});
  const Table& table = TableOf(result, "kernels");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(TextOf(table, 0, "name"), "reduce");
  EXPECT_EQ(RealOf(table, 0, "percent"), 75);
  EXPECT_EQ(RealOf(table, 0, "stddev_ns"), 0);
  EXPECT_EQ(TextOf(table, 1, "name"), "saxpy(int, float, float*, float*)");
  EXPECT_EQ(IntOf(table, 1, "count"), 4);
  EXPECT_EQ(IntOf(table, 1, "total_ns"), 100);
  EXPECT_EQ(RealOf(table, 1, "mean_ns"), 25);
  EXPECT_EQ(RealOf(table, 1, "median_ns"), 25);
  EXPECT_EQ(IntOf(table, 1, "min_ns"), 10);
  EXPECT_EQ(IntOf(table, 1, "max_ns"), 40);
  EXPECT_NEAR(RealOf(table, 1, "stddev_ns"), 12.9099, 1e-4);
  EXPECT_EQ(MetricOf(result, "kernels.count"), 5);
  EXPECT_EQ(MetricOf(result, "kernels.distinct"), 2);
  EXPECT_EQ(MetricOf(result, "kernels.total_ns"), 400);
}

TEST(Kernels, EqualTimesAreOrderedByName) {
  TraceMaker maker;
  for (const char* name : {"c", "a", "b"}) maker.AddKernel(0, 100, kNone, name);
  const AnalysisResult result = RunKernels(maker.Finish(), {.max_rows = 2, .min_gap_ns = 0});
  const Table& table = TableOf(result, "kernels");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(TextOf(table, 0, "name"), "a");
  EXPECT_EQ(TextOf(table, 1, "name"), "b");
  EXPECT_NE(NoteOf(table).find("1 more row not shown."), std::string::npos) << NoteOf(table);
}

TEST(Kernels, LaunchesAreOutermostCalls) {
  TraceMaker maker;
  maker.Launch(0, 10, 20, 30);
  const uint32_t call = maker.AddCall(40, 60, "cudaLaunchKernel");
  maker.AddKernel(70, 80, maker.AddInnerCall(45, 55, "cuLaunchKernel", call));
  maker.AddKernel(100, 200, maker.AddCall(90, 95, "cudaGraphLaunch")).kind = OpKind::kGraph;
  maker.AddCall(96, 99, "cudaDeviceSynchronize");
  const AnalysisResult result = RunKernels(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "launches.count"), 3);
  EXPECT_EQ(MetricOf(result, "kernels.count"), 2);
  EXPECT_EQ(MetricOf(result, "graphs.launches"), 1);
  EXPECT_NE(TableOf(result, "kernels").note.find("1 graph launch recorded as a whole"), std::string::npos);
}

TEST(Kernels, NoneInAnEmptyTrace) {
  TraceMaker maker;
  const AnalysisResult result = RunKernels(maker.Finish(), {});
  EXPECT_TRUE(TableOf(result, "kernels").rows.empty());
  EXPECT_EQ(MetricOf(result, "kernels.count"), 0);
}

}  // namespace
}  // namespace gprof::test
