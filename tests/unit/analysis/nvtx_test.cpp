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
  maker.Launch(15, 20, 50, 90);      // in step/forward
  maker.Launch(50, 55, 80, 120);     // in step, overlaps with the one before
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

TEST(Nvtx, SelfTimeLeavesOutTheRangesDirectlyWithin) {
  TraceMaker maker;
  maker.AddRange(0, 100, "step");
  maker.AddRange(10, 40, "step/forward");
  maker.AddRange(15, 20, "step/forward/layer");
  maker.AddRange(50, 60, "other/step/loss");  // of another domain
  maker.AddRange(30, 90, "span").is_push_pop = false;
  const AnalysisResult result = RunNvtx(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "nvtx.self_ns", "nvtx:step"), 60);
  EXPECT_EQ(MetricOf(result, "nvtx.self_ns", "nvtx:step/forward"), 25);
  EXPECT_EQ(MetricOf(result, "nvtx.self_ns", "nvtx:step/forward/layer"), 5);
  EXPECT_EQ(MetricOf(result, "nvtx.self_ns", "nvtx:span"), 60);
}

TEST(Nvtx, IdleWithinIsOfTheGpuThatTheThreadUses) {
  TraceMaker maker;
  const uint32_t second = maker.AddDevice(1), other = maker.AddThread(0, 101), watcher = maker.AddThread(0, 102);
  maker.Launch(0, 5, 10, 20);
  maker.Launch(30, 35, 40, 50);
  maker.Launch(30, 35, 70, 90);  // gpu0 idle: 20..40, 50..70
  maker.Launch(0, 5, 10, 15, other).device = second;
  maker.Launch(50, 55, 60, 90, other).device = second;  // gpu1 idle: 15..60
  maker.AddRange(0, 100, "all");
  maker.AddRange(25, 60, "all/part");
  maker.AddRange(30, 50, "second", other);
  maker.AddRange(0, 100, "watch", watcher);  // launches nothing: the GPU most used, gpu0
  const AnalysisResult result = RunNvtx(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "nvtx.gpu_idle_ns", "nvtx:all"), 40);
  EXPECT_EQ(MetricOf(result, "nvtx.gpu_idle_ns", "nvtx:all/part"), 25);
  EXPECT_EQ(MetricOf(result, "nvtx.gpu_idle_ns", "nvtx:second"), 20);
  EXPECT_EQ(MetricOf(result, "nvtx.gpu_idle_ns", "nvtx:watch"), 40);
  EXPECT_EQ(RealOf(TableOf(result, "nvtx"), 0, "gpu_idle_percent"), 40);
}

TEST(Nvtx, PercentagesAreOfTheThreadsThatHadItOpen) {
  TraceMaker maker;
  const uint32_t other = maker.AddThread(0, 101);
  maker.AddRange(0, 100, "join");
  maker.AddRange(0, 100, "frame");
  maker.AddRange(0, 100, "frame", other);
  for (const int64_t start_ns : {0, 10, 50, 60}) {
    maker.AddRange(start_ns, start_ns + 40, "flight").is_push_pop = false;  // two at a time
  }
  const AnalysisResult result = RunNvtx(maker.Finish(), {});
  const Table& table = TableOf(result, "nvtx");
  EXPECT_EQ(TextOf(table, 0, "path"), "frame");
  EXPECT_EQ(RealOf(table, 0, "percent"), 100);
  EXPECT_EQ(IntOf(table, 0, "lanes"), 2);
  EXPECT_EQ(TextOf(table, 1, "path"), "flight");
  EXPECT_EQ(IntOf(table, 1, "lanes"), 2);
  EXPECT_EQ(RealOf(table, 1, "percent"), 80);
  EXPECT_EQ(RealOf(table, 2, "percent"), 100);
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

// A node made in "build" by one call; its kernel is launched by another call.
Trace GraphTrace(bool has_launch_range) {
  TraceMaker maker;
  maker.AddRange(0, 100, "build");
  if (has_launch_range) maker.AddRange(190, 300, "replay");
  const uint32_t made_by = maker.AddCall(10, 20, "cudaGraphAddKernelNode");
  const uint32_t launch = maker.AddCall(200, 210, "cudaGraphLaunch");
  GraphNode node;
  node.process = node.thread = 0;
  node.source = 0;
  node.api = made_by;
  node.range = 0;
  maker.trace().graph_nodes.push_back(node);
  for (const int64_t start_ns : {220, 240}) {
    GpuOp& op = maker.AddKernel(start_ns, start_ns + 5, launch);
    op.node = 0;
  }
  maker.AddKernel(260, 270, launch);  // a node whose making was not recorded
  return maker.Finish();
}

TEST(GraphWork, LaunchedOutsideOfAnyRangeCountsWhereItWasBuilt) {
  const AnalysisResult result = RunNvtx(GraphTrace(false), {});
  EXPECT_EQ(MetricOf(result, "nvtx.gpu_busy_ns", "nvtx:build"), 10);
  EXPECT_EQ(MetricOf(result, "nvtx.kernels", "nvtx:build"), 2);
  const Table& table = TableOf(result, "graph_work");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(TextOf(table, 0, "path"), "build");
  EXPECT_EQ(TextOf(table, 0, "call"), "cudaGraphAddKernelNode");
  EXPECT_EQ(TextOf(table, 0, "launched_in"), "(no range)");
  EXPECT_EQ(IntOf(table, 0, "total_ns"), 10);
  EXPECT_EQ(IntOf(table, 0, "operations"), 2);
  EXPECT_EQ(IntOf(table, 0, "nodes"), 1);
}

TEST(GraphWork, LaunchedInARangeCountsThere) {
  const AnalysisResult result = RunNvtx(GraphTrace(true), {});
  EXPECT_EQ(MetricOf(result, "nvtx.gpu_busy_ns", "nvtx:build"), 0);
  EXPECT_EQ(MetricOf(result, "nvtx.gpu_busy_ns", "nvtx:replay"), 20);
  EXPECT_EQ(TextOf(TableOf(result, "graph_work"), 0, "path"), "build");
  EXPECT_EQ(TextOf(TableOf(result, "graph_work"), 0, "launched_in"), "replay");
}

TEST(Payloads, AreSummedByRange) {
  TraceMaker maker;
  maker.AddRange(0, 10, "NCCL/ncclAllReduce");
  maker.AddRange(20, 30, "NCCL/ncclAllReduce");
  maker.AddRange(40, 50, "NCCL/ncclSend");
  Trace& t = maker.trace();
  const auto add = [&](uint32_t range, int64_t bytes, std::string_view key, std::string_view text, int64_t number) {
    NvtxPayload p;
    p.range = range;
    p.first_value = static_cast<uint32_t>(t.payload_values.size());
    if (bytes >= 0) t.payload_values.push_back({maker.Name("Message size [bytes]"), {}, bytes, true});
    t.payload_values.push_back({maker.Name(key), text.empty() ? NameId{} : maker.Name(text), number, true});
    p.last_value = static_cast<uint32_t>(t.payload_values.size());
    t.payloads.push_back(p);
  };
  add(0, 1000, "Reduction operation", "Sum", 0);
  add(1, 3000, "Reduction operation", "Max", 2);
  add(1, 3000, "Reduction operation", "Max", 2);  // at its end: the same message
  for (int64_t peer = 0; peer < 7; ++peer) add(2, -1, "Peer rank", "", peer);
  const AnalysisResult result = RunNvtx(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "nvtx.payloads"), 10);
  EXPECT_EQ(MetricOf(result, "nvtx.payload_bytes"), 4000);
  EXPECT_EQ(MetricOf(result, "nvtx.payload_bytes", "nvtx:NCCL/ncclAllReduce"), 4000);
  EXPECT_FALSE(HasMetric(result, "nvtx.payload_bytes", "nvtx:NCCL/ncclSend"));
  const Table& table = TableOf(result, "nvtx_payloads");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(TextOf(table, 0, "path"), "NCCL/ncclSend");
  EXPECT_EQ(TextOf(table, 0, "values"), "Peer rank: more than 4 values");
  EXPECT_EQ(TextOf(table, 1, "values"), "Reduction operation: Max, Sum");
  EXPECT_EQ(IntOf(table, 1, "bytes"), 4000);
  EXPECT_EQ(RealOf(table, 1, "mean_bytes"), 2000);
  EXPECT_EQ(IntOf(table, 1, "largest_bytes"), 3000);
}

TEST(Payloads, AreNotThereWithoutThem) {
  TraceMaker maker;
  maker.AddRange(0, 10, "r");
  const AnalysisResult result = RunNvtx(maker.Finish(), {});
  EXPECT_FALSE(HasMetric(result, "nvtx.payloads"));
  EXPECT_TRUE(TableOf(result, "nvtx_payloads").rows.empty());
}

}  // namespace
}  // namespace gprof::test
