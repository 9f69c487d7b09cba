// The code that made the node which an operation is a replay of; and the smaller kinds about memory and events.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trace_text.h"

namespace gprof {
namespace {

// A range "build" around a capture of two launches, an instantiation in "init", and a launch in "run".
constexpr char kGraph[] =
    "nvtx time_ns=100 tid=7 event=2 message=\"build\"\n"
    "api start_ns=110 duration_ns=10 tid=7 correlation=1 function=\"cudaLaunchKernel\" domain=1\n"
    "api start_ns=112 duration_ns=6 tid=7 correlation=1 function=\"cuLaunchKernel\" domain=2\n"
    "graph_node time_ns=115 tid=7 graph=3 node=40\n"
    "nvtx time_ns=150 tid=7 event=3\n"
    "nvtx time_ns=200 tid=7 event=2 message=\"init\"\n"
    "api start_ns=210 duration_ns=20 tid=7 correlation=2 function=\"cudaGraphInstantiate\" domain=1\n"
    "graph_node time_ns=215 tid=7 graph=4 node=50 original=40\n"
    "graph_node time_ns=216 tid=7 graph=4 node=60 original=50\n"
    "graph_node time_ns=217 tid=7 graph=4 node=70 original=39\n"
    "nvtx time_ns=250 tid=7 event=3\n"
    "nvtx time_ns=300 tid=7 event=2 message=\"run\"\n"
    "api start_ns=310 duration_ns=5 tid=7 correlation=3 function=\"cudaGraphLaunch\" domain=1\n"
    "nvtx time_ns=350 tid=7 event=3\n";

const GraphNode* NodeOf(const Trace& t, const GpuOp& op) {
  return op.node == kNone ? nullptr : &t.graph_nodes[op.node];
}

TEST(GraphNodes, LeadFromAReplayedKernelToTheCodeThatMadeIt) {
  const Trace t = LoadText(std::string(kGraph) +
                           "kernel start_ns=320 duration_ns=5 correlation=3 graph=4 graph_node=60\n"
                           "memset start_ns=330 duration_ns=5 correlation=3 graph=4 graph_node=40\n");
  ASSERT_EQ(t.ops.size(), 2u);
  for (const GpuOp& op : t.ops) {
    const GraphNode* node = NodeOf(t, op);
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(node->id, 40u);
    EXPECT_EQ(node->graph, 3u);
    EXPECT_EQ(t.Text(t.ranges[node->range].path), "build");
    EXPECT_EQ(t.Text(t.api_calls[node->api].function), "cudaLaunchKernel");
    EXPECT_EQ(t.threads[node->thread].tid, 7u);
    EXPECT_EQ(t.Text(t.api_calls[op.api].function), "cudaGraphLaunch");
  }
  EXPECT_EQ(t.Text(t.ranges[t.graph_nodes[1].range].path), "init");
}

TEST(GraphNodes, WhoseOriginalWasNotRecordedHaveNoMaker) {
  const Trace t = LoadText(std::string(kGraph) +
                           "kernel start_ns=320 duration_ns=5 graph=4 graph_node=70\n"
                           "kernel start_ns=330 duration_ns=5 graph=4 graph_node=999\n");
  EXPECT_EQ(t.ops[0].node, kNone);
  EXPECT_EQ(t.ops[1].node, kNone);
}

TEST(GraphNodes, InACircleHaveNoMaker) {
  const Trace t = LoadText(
      "graph_node time_ns=1 tid=7 node=1 original=2\ngraph_node time_ns=2 tid=7 node=2 original=3\n"
      "graph_node time_ns=3 tid=7 node=3 original=1\ngraph_node time_ns=4 tid=7 node=4 original=1\n"
      "graph_node time_ns=5 tid=7 node=5 original=5\nkernel start_ns=9 duration_ns=1 graph_node=4\n");
  for (const GraphNode& node : t.graph_nodes) EXPECT_EQ(node.source, kNone) << node.id;
  EXPECT_EQ(t.ops[0].node, kNone);
}

TEST(GraphNodes, OfAnotherProcessAreOthers) {
  const Trace t =
      LoadText("graph_node time_ns=1 tid=7 node=1\nchunk pid=2\nkernel start_ns=9 duration_ns=1 graph_node=1\n");
  EXPECT_EQ(t.ops[0].node, kNone);
}

TEST(GraphNodes, SaidTwiceAreOne) {
  const Trace t = LoadText(
      "graph_node time_ns=1 tid=7 node=1\ngraph_node time_ns=1 tid=7 node=1\n"
      "kernel start_ns=9 duration_ns=1 graph_node=1\n");
  ASSERT_EQ(t.graph_nodes.size(), 1u);
  EXPECT_EQ(t.ops[0].node, 0u);
  EXPECT_EQ(t.graph_nodes[0].range, kNone);
  EXPECT_EQ(t.graph_nodes[0].api, kNone);
}

// The call that began to capture the stream may not be in the trace: it was made before the recording.
TEST(GraphNodes, MadeByALaunchAreWhatItLaunched) {
  const std::string launch =
      "api start_ns=110 duration_ns=10 tid=7 correlation=1 function=\"cudaLaunchKernel\" domain=1\n"
      "api start_ns=112 duration_ns=6 tid=7 correlation=1 function=\"cuLaunchKernel\" domain=2\n";
  EXPECT_EQ(LoadText(launch).health.unmatched_launches, 1u);
  EXPECT_EQ(LoadText(launch + "graph_node time_ns=115 tid=7 node=40\n").health.unmatched_launches, 0u);
  EXPECT_EQ(LoadText(launch + "graph_node time_ns=115 tid=8 node=40\n").health.unmatched_launches, 1u);
}

// ---- bodies of conditional nodes, whose operations name no call ----

std::string GraphLaunches(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) {
    text += "api start_ns=" + std::to_string(100 * i) + " duration_ns=5 tid=7 correlation=" + std::to_string(i) +
            " function=\"cudaGraphLaunch\" domain=1\n";
  }
  return text;
}

std::string KernelOf(int graph, int node, int start_ns, int correlation = 0) {
  return "kernel start_ns=" + std::to_string(start_ns) + " duration_ns=10 graph=" + std::to_string(graph) +
         " graph_node=" + std::to_string(node) + " correlation=" + std::to_string(correlation) + "\n";
}

// Correlations of the calls of operations in order of time, 0 for none.
std::vector<uint32_t> CallsOfOps(const Trace& t) {
  std::vector<uint32_t> calls;
  for (const GpuOp& op : t.ops) calls.push_back(op.api == kNone ? 0 : t.api_calls.Correlation(op.api));
  return calls;
}

using CallIds = std::vector<uint32_t>;

// The GPU is far behind the host: times of calls tell nothing. The loop runs twice in the first launch, and not at all
// in the second.
TEST(ConditionalNodes, BelongToTheLaunchThatRanLast) {
  const Trace t =
      LoadText(GraphLaunches(3) + KernelOf(4, 40, 1000, 1) + KernelOf(4, 41, 1010) + KernelOf(4, 41, 1020) +
               KernelOf(4, 40, 1100, 2) + KernelOf(4, 40, 1200, 3) + KernelOf(4, 41, 1210) + KernelOf(5, 51, 1220));
  EXPECT_EQ(CallsOfOps(t), (CallIds{1, 1, 1, 2, 3, 3, 0}));
  EXPECT_EQ(t.health.unmatched_ops, 0u);
  EXPECT_EQ(t.health.unmatched_launches, 0u);
  EXPECT_EQ(t.api_calls[0].op_count, 3u);
}

TEST(ConditionalNodes, HideNoLaunchThatIsMissing) {
  const Trace t = LoadText(GraphLaunches(3) + KernelOf(4, 40, 1000, 1) + KernelOf(4, 41, 1010) +
                           KernelOf(4, 40, 1100, 2) + "kernel start_ns=1200 duration_ns=5 correlation=77\n");
  EXPECT_EQ(CallsOfOps(t), (CallIds{1, 1, 2, 0}));
  EXPECT_EQ(t.health.unmatched_launches, 1u);
  EXPECT_EQ(t.health.unmatched_ops, 1u);
}

TEST(ConditionalNodes, OfAGraphWithNothingElseBelongToLaunchesByCount) {
  const std::string once = KernelOf(4, 41, 1000) + KernelOf(4, 42, 1010);
  const Trace t = LoadText(GraphLaunches(2) + once + KernelOf(4, 41, 1100) + KernelOf(4, 42, 1110));
  EXPECT_EQ(CallsOfOps(t), (CallIds{1, 1, 2, 2}));
  EXPECT_EQ(t.health.unmatched_ops, 0u);
  EXPECT_EQ(t.health.unmatched_launches, 0u);
}

TEST(ConditionalNodes, StayWithoutACallWhereNothingIsCertain) {
  const std::string one = KernelOf(4, 41, 1000), other = KernelOf(5, 51, 1100);
  for (const std::string& ops : {one, one + KernelOf(4, 41, 1050) + KernelOf(4, 41, 1100), one + other,
                                 KernelOf(4, 41, 150) + KernelOf(4, 41, 160), one + KernelOf(4, 41, 1010) + other}) {
    const Trace t = LoadText(GraphLaunches(2) + ops);
    EXPECT_EQ(CallsOfOps(t), CallIds(t.ops.size())) << ops;
    EXPECT_EQ(t.health.unmatched_ops, 0u) << ops;
    EXPECT_EQ(t.health.unmatched_launches, 0u) << ops;
  }
}

TEST(EventRecords, KnowTheirStreamAndCall) {
  const Trace t = LoadText(
      "api start_ns=10 duration_ns=5 tid=7 correlation=4 function=\"cudaEventRecord\" domain=1\n"
      "event_record time_ns=20 tid=7 correlation=9 stream=14 event=1000\n"
      "event_record time_ns=14 tid=7 correlation=4 context=1 stream=13 event=1000\n"
      "stream context=1 stream=14\n");
  ASSERT_EQ(t.event_records.size(), 2u);
  EXPECT_EQ(t.event_records[0].time_ns, 14);
  EXPECT_EQ(t.event_records[0].event, 1000u);
  EXPECT_EQ(t.Text(t.api_calls[t.event_records[0].api].function), "cudaEventRecord");
  EXPECT_EQ(t.streams[t.event_records[0].stream].id, 13u);
  EXPECT_EQ(t.streams[t.event_records[1].stream].id, 14u);
  EXPECT_EQ(t.event_records[1].api, kNone);
}

TEST(ManagedMemory, KnowsItsDevices) {
  const Trace t = LoadText(
      "device device=0 name=\"A\" uuid=\"GPU-a\"\ndevice device=1 name=\"B\" uuid=\"GPU-b\"\n"
      "managed_memory start_ns=20 duration_ns=5 managed_kind=1 value=4096 address=8192 source=4294967295 "
      "destination=1\n"
      "managed_memory start_ns=10 duration_ns=5 managed_kind=4 value=3 source=0 destination=4294967295 flags=2\n"
      "managed_memory start_ns=30 managed_kind=99\n");
  ASSERT_EQ(t.managed_memory.size(), 3u);
  EXPECT_EQ(t.managed_memory[0].kind, trace::ManagedKind::kGpuPageFault);
  EXPECT_EQ(t.managed_memory[0].source, 0u);
  EXPECT_EQ(t.managed_memory[0].flags, 2u);
  EXPECT_EQ(t.managed_memory[1].source, kNone);
  EXPECT_EQ(t.managed_memory[1].destination, 1u);
  EXPECT_EQ(t.managed_memory[1].DurationNs(), 5);
  EXPECT_EQ(t.managed_memory[2].kind, trace::ManagedKind::kUnknown);
}

TEST(MemoryPools, KnowTheirDeviceAndCall) {
  const Trace t = LoadText(
      "device device=2 name=\"A\"\n"
      "api start_ns=10 duration_ns=5 tid=7 correlation=4 function=\"cudaMemPoolTrimTo\" domain=1\n"
      "memory_pool time_ns=14 operation=3 pool=500 size_bytes=100 used_bytes=60 keep_bytes=10 "
      "release_threshold_bytes=7 device=2 correlation=4\n"
      "memory time_ns=20 operation=1 address=1 size_bytes=8 device=2 pool=500\n");
  ASSERT_EQ(t.memory_pools.size(), 1u);
  const MemoryPoolEvent& p = t.memory_pools[0];
  EXPECT_EQ(p.operation, trace::PoolOp::kTrim);
  EXPECT_EQ(p.device, 0u);
  EXPECT_EQ(t.Text(t.api_calls[p.api].function), "cudaMemPoolTrimTo");
  EXPECT_EQ(p.size_bytes + p.used_bytes + p.keep_bytes + p.release_threshold_bytes, 177u);
  EXPECT_EQ(t.memory_events[0].pool, 500u);
}

}  // namespace
}  // namespace gprof
