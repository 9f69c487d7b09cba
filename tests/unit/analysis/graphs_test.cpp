#include <gtest/gtest.h>

#include "analysis/topics/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

TEST(Graphs, RecordedAsAWhole) {
  TraceMaker maker;
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t now_ns = i * 100;
    GpuOp& op =
        maker.AddKernel(now_ns + 20, now_ns + 80 + i, maker.AddCall(now_ns, now_ns + 10 + i, "cudaGraphLaunch"));
    op.kind = OpKind::kGraph;
    op.graph = 5;
  }
  const AnalysisResult result = RunGraphs(maker.Finish(), {});
  const Table& table = TableOf(result, "graphs");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(TextOf(table, 0, "graph"), "graph 5");
  EXPECT_EQ(IntOf(table, 0, "pid"), 100);
  EXPECT_EQ(IntOf(table, 0, "launches"), 3);
  EXPECT_EQ(IntOf(table, 0, "gpu_ns"), 60 + 61 + 62);
  EXPECT_EQ(RealOf(table, 0, "gpu_median_ns"), 61);
  EXPECT_EQ(RealOf(table, 0, "call_median_ns"), 11);
  EXPECT_EQ(RealOf(table, 0, "gap_median_ns"), (40 + 39) / 2.0);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(CellOf(table, 0, "nodes")));
  EXPECT_EQ(MetricOf(result, "graphs.runs"), 3);
  EXPECT_EQ(MetricOf(result, "graphs.distinct"), 1);
  EXPECT_EQ(MetricOf(result, "graphs.gpu_ns"), 183);
  EXPECT_EQ(MetricOf(result, "graphs.nodes"), 0);
}

TEST(Graphs, RecordedNodeByNode) {
  TraceMaker maker;
  maker.AddRange(0, 50, "build");
  const uint32_t maker_call = maker.AddCall(5, 10, "cudaLaunchKernel");
  for (uint64_t id : {100u, 101u}) {
    GraphNode node;
    node.id = id;
    node.process = 0;
    node.graph = 2;
    node.source = static_cast<uint32_t>(id - 100);
    node.api = maker_call;
    node.range = 0;
    maker.trace().graph_nodes.push_back(node);
  }
  for (int64_t i = 0; i < 2; ++i) {
    const uint32_t call = maker.AddCall(100 + i * 100, 104 + i * 100, "cudaGraphLaunch");
    for (int64_t node = 0; node < 2; ++node) {
      GpuOp& op = maker.AddKernel(110 + i * 100 + node * 20, 120 + i * 100 + node * 20, call);
      op.graph = 2;
    }
  }
  const AnalysisResult result = RunGraphs(maker.Finish(), {});
  const Table& table = TableOf(result, "graphs");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(IntOf(table, 0, "launches"), 2);
  EXPECT_EQ(IntOf(table, 0, "nodes"), 2);
  EXPECT_EQ(IntOf(table, 0, "gpu_ns"), 60);  // 110 to 140, twice
  EXPECT_EQ(IntOf(table, 0, "busy_ns"), 40);
  EXPECT_EQ(RealOf(table, 0, "gap_median_ns"), 70);
  EXPECT_EQ(TextOf(table, 0, "path"), "build");
  EXPECT_EQ(TextOf(table, 0, "built_by"), "cudaLaunchKernel");
  EXPECT_EQ(MetricOf(result, "graphs.nodes"), 4);
}

TEST(Graphs, LaunchesWithoutTheirCallAreToldApartByTheirCorrelation) {
  TraceMaker maker;
  for (uint32_t i = 0; i < 4; ++i) {
    GpuOp& op = maker.AddKernel(i * 10, i * 10 + 5);
    op.graph = 1 + i / 2 % 1;
    op.correlation = 7 + i / 2;
  }
  EXPECT_EQ(MetricOf(RunGraphs(maker.Finish(), {}), "graphs.runs"), 2);
}

TEST(Graphs, KernelsOutsideOfGraphsAreNone) {
  TraceMaker maker;
  maker.Launch(0, 5, 10, 20);
  const AnalysisResult result = RunGraphs(maker.Finish(), {});
  EXPECT_TRUE(TableOf(result, "graphs").rows.empty());
  EXPECT_EQ(MetricOf(result, "graphs.runs"), 0);
}

// `launches` launches after each of `graphs` instantiations, which take 100 us.
Trace Instantiating(int64_t graphs, int64_t launches) {
  TraceMaker maker;
  int64_t now_ns = 0;
  for (int64_t i = 0; i < graphs; ++i) {
    maker.AddCall(now_ns, now_ns + 100 * kUs, "cudaGraphInstantiateWithFlags");
    now_ns += 100 * kUs;
    for (int64_t k = 0; k < launches; ++k) {
      GpuOp& op =
          maker.AddKernel(now_ns + 5 * kUs, now_ns + 50 * kUs, maker.AddCall(now_ns, now_ns + kUs, "cudaGraphLaunch"));
      op.kind = OpKind::kGraph;
      op.graph = static_cast<uint32_t>(i + 1);
      now_ns += 100 * kUs;
    }
  }
  return maker.Finish();
}

TEST(Graphs, InstantiatedForEachLaunch) {
  const AnalysisResult result = RunGraphs(Instantiating(20, 1), {});
  const Finding* finding = FindingOf(result, "graphs.instantiate");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(WordsOf(finding),
            "GPU idle for 49.4% of the GPU window (1.90 ms) while CUDA graphs were created and first launched: 20 "
            "instantiations for 20 launches | Instantiating them took the host 2.00 ms");
  EXPECT_EQ(finding->gain_ns, 1900 * kUs);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_EQ(MetricOf(result, "graphs.instantiations"), 20);
  EXPECT_EQ(MetricOf(result, "graphs.instantiate_ns"), 2000 * kUs);
  const Table& calls = TableOf(result, "graph_calls");
  ASSERT_EQ(calls.rows.size(), 1u);
  EXPECT_EQ(IntOf(calls, 0, "count"), 20);
  EXPECT_TRUE(calls.is_detail);
}

TEST(Graphs, InstantiatedOnceAndLaunchedOften) {
  EXPECT_TRUE(RunGraphs(Instantiating(10, 10), {}).findings.empty());
  EXPECT_TRUE(RunGraphs(Instantiating(2, 1), {}).findings.empty());
}

}  // namespace
}  // namespace gprof::test
