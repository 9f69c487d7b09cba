#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "analysis/facts/time/interval_set.h"
#include "analysis/topics/analyses.h"
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

// A damaged trace may last for 36 years, of which many threads have the most.
TEST(Nvtx, TimeOfManyLanesIsAShareHoweverLongTheTraceIs) {
  TraceMaker maker;
  for (uint32_t tid = 10; tid < 20; ++tid) maker.AddRange(0, int64_t{1} << 59, "step", maker.AddThread(0, tid));
  maker.AddRange(0, int64_t{1} << 60, "all");
  const AnalysisResult result = RunNvtx(maker.Finish(), {});
  const Table& table = TableOf(result, "nvtx");
  ASSERT_EQ(TextOf(table, 0, "path"), "step");
  EXPECT_GT(RealOf(table, 0, "percent"), 50);
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

struct Projected {
  BusyTime busy;
  int64_t kernels = 0;
  uint32_t device = kNone;
};

// Each operation by itself, to the range of its call and to all around it.
std::map<std::string, Projected> ProjectOneByOne(const Trace& trace) {
  std::map<std::string, Projected> of_paths;
  for (const GpuOp& op : trace.ops) {
    for (uint32_t i = trace.api_calls[op.api].range; i != kNone; i = trace.ranges[i].parent) {
      Projected& of_path = of_paths[std::string(trace.Text(trace.ranges[i].path))];
      if (of_path.device != op.device) of_path.busy.StartOver();
      of_path.device = op.device;
      of_path.busy.Add(op.start_ns, op.end_ns);
      ++of_path.kernels;
    }
  }
  return of_paths;
}

// Short runs in ranges of one parent; operations overlap, and here and there a range has the path of one around it.
TEST(Nvtx, NestedRangesHaveWhatTheirOperationsHave) {
  constexpr const char* kPaths[] = {"step/a", "step/b", "step/c", "step"};
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](uint32_t limit) { return static_cast<int64_t>(random() % limit); };
    TraceMaker maker;
    const uint32_t devices = 1 + seed % 2;
    if (devices == 2) maker.AddDevice(1);
    for (int64_t at_ns = 0, step = 0; step < 6; ++step) {
      const int64_t step_ns = at_ns;
      for (int64_t range = below(5); range >= 0; --range) {
        const int64_t range_ns = ++at_ns;
        for (int64_t launch = below(5); launch > 0; --launch, at_ns += 3) {
          const int64_t start_ns = at_ns + 2 + below(20);
          maker.Launch(at_ns, at_ns + 1, start_ns, start_ns + below(30)).device = static_cast<uint32_t>(below(devices));
        }
        if (below(5) > 0) maker.AddRange(range_ns, ++at_ns, kPaths[below(4)]);
      }
      if (below(5) > 0) maker.AddRange(step_ns, ++at_ns, "step");
      at_ns += below(3);
    }
    const Trace trace = maker.Finish();
    const AnalysisResult result = RunNvtx(trace, {});
    for (const auto& [path, projected] : ProjectOneByOne(trace)) {
      EXPECT_EQ(MetricOf(result, "nvtx.gpu_busy_ns", "nvtx:" + path), projected.busy.busy_ns()) << seed << " " << path;
      EXPECT_EQ(MetricOf(result, "nvtx.kernels", "nvtx:" + path), projected.kernels) << seed << " " << path;
    }
  }
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
