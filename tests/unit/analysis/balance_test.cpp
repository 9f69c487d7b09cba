#include <gtest/gtest.h>

#include "analysis/topics/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

TEST(Balance, OneGpuHasNone) {
  TraceMaker maker;
  maker.AddDevice(1);
  maker.Launch(0, 5, 10, 20);
  const AnalysisResult result = RunBalance(maker.Finish(), {});
  EXPECT_TRUE(result.tables.empty());
  EXPECT_TRUE(result.metrics.empty());
}

// gpu0 works from 10 to 110; gpu1 from 10 to 20 and 90 to 120, and waits for the host in between.
Trace TwoGpus() {
  TraceMaker maker;
  const uint32_t second = maker.AddDevice(1), other = maker.AddThread(0, 101);
  maker.Launch(0, 5, 10, 110);
  maker.Launch(0, 5, 10, 20, other).device = second;
  maker.Launch(80, 85, 90, 120, other).device = second;
  GpuOp& copy = maker.AddCopy(130, 140, 1000, trace::CopyKind::kPeerToPeer);
  copy.kind = OpKind::kPeerCopy;
  copy.peer_device = second;
  return maker.Finish();
}

TEST(Balance, IdleWhileAnotherGpuIsBusyIsWaiting) {
  const AnalysisResult result = RunBalance(TwoGpus(), {});
  const Table& table = TableOf(result, "balance");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(IntOf(table, 0, "busy_ns"), 110);
  EXPECT_EQ(IntOf(table, 0, "idle_ns"), 20);     // 110 to 130
  EXPECT_EQ(IntOf(table, 0, "waiting_ns"), 10);  // gpu1 works until 120
  EXPECT_EQ(TextOf(table, 0, "waits_for"), "gpu1");
  EXPECT_EQ(IntOf(table, 1, "busy_ns"), 40);
  EXPECT_EQ(IntOf(table, 1, "waiting_ns"), 70);
  EXPECT_EQ(TextOf(table, 1, "waits_for"), "gpu0");
  EXPECT_EQ(TextOf(table, 1, "causes"), "host 85.7%, launch 14.3%");
  EXPECT_EQ(MetricOf(result, "balance.waiting_ns"), 80);
  EXPECT_EQ(MetricOf(result, "balance.waiting_ns", "gpu1"), 70);
  EXPECT_NEAR(MetricOf(result, "balance.imbalance_percent"), 46.67, 0.01);  // 110 to a mean of 75
}

// gpu1 works from 10 to 20 and 115 to 125; the host that launches for both waits for both.
Trace TwoGpusWaitedForTogether() {
  TraceMaker maker;
  const uint32_t second = maker.AddDevice(1);
  maker.Launch(0, 5, 10, 110);
  maker.Launch(6, 9, 10, 20).device = second;
  maker.AddCall(9, 112, "cudaDeviceSynchronize");
  maker.Launch(112, 114, 115, 125).device = second;
  return maker.Finish();
}

TEST(Balance, UnevenLoadIsFound) {
  const AnalysisResult result = RunBalance(TwoGpusWaitedForTogether(), {});
  const Finding* finding = FindingOf(result, "balance.uneven");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gain_ns, 80);  // that gpu1 lacks of 100; it waited for longer
  EXPECT_NE(WordsOf(finding).find("gpu1 idle for 90 ns while gpu0 was busy"), std::string::npos) << WordsOf(finding);
}

TEST(Balance, TimeOfAHostThatLaunchesForBothIsNobodysLoad) {
  EXPECT_EQ(FindingOf(RunBalance(TwoGpus(), {}), "balance.uneven"), nullptr);
}

TEST(Balance, PeerCopiesAreSummedByPair) {
  const AnalysisResult result = RunBalance(TwoGpus(), {});
  const Table& table = TableOf(result, "peer_copies");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(TextOf(table, 0, "pair"), "gpu0 and gpu1");
  EXPECT_EQ(RealOf(table, 0, "bytes_per_second"), 1e11);
  EXPECT_EQ(MetricOf(result, "balance.peer_bytes"), 1000);
}

TEST(Balance, EvenLoadIsNoFinding) {
  TraceMaker maker;
  const uint32_t second = maker.AddDevice(1);
  maker.Launch(0, 5, 10, 100);
  maker.Launch(0, 5, 12, 100).device = second;
  EXPECT_TRUE(RunBalance(maker.Finish(), {}).findings.empty());
}

// gpu0 is ready at 100 and waits in its collective until gpu1 is: it has less to do, however long it is busy.
TEST(Balance, TheOneThatWaitsInACollectiveIsNotTheOneWithMoreToDo) {
  constexpr const char* kNccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
  TraceMaker maker;
  const uint32_t other = maker.AddDevice(1);
  maker.AddKernel(0, 100);
  maker.AddKernel(100, 1000, kNone, kNccl);
  maker.AddKernel(0, 800).device = other;
  maker.AddKernel(950, 1000, kNone, kNccl).device = other;
  const AnalysisResult result = RunBalance(maker.Finish(), {});
  const Finding* finding = FindingOf(result, "balance.uneven");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->subject.device, "gpu1");
  EXPECT_EQ(finding->gain_ns, 800 - 100);
  EXPECT_NE(finding->message.find("excluding NCCL kernels"), std::string::npos) << finding->message;
}

}  // namespace
}  // namespace gprof::test
