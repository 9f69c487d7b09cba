#include <gtest/gtest.h>

#include "analysis/topics/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

TEST(Devices, BusyIsTheUnionOfOverlappingOperations) {
  TraceMaker maker;
  maker.AddKernel(100, 200);
  maker.AddKernel(150, 250);
  maker.AddCopy(240, 300, 64, trace::CopyKind::kHostToDevice);
  maker.AddFill(400, 410, 64);
  const AnalysisResult result = RunDevices(maker.Finish(), {});
  for (const char* scope : {"", "gpu0"}) {
    EXPECT_EQ(MetricOf(result, "gpu.window_ns", scope), 310);
    EXPECT_EQ(MetricOf(result, "gpu.busy_ns", scope), 210);
    EXPECT_EQ(MetricOf(result, "gpu.kernel_ns", scope), 150);
    EXPECT_EQ(MetricOf(result, "gpu.copy_only_ns", scope), 60);
    EXPECT_EQ(MetricOf(result, "gpu.idle_ns", scope), 100);
    EXPECT_DOUBLE_EQ(MetricOf(result, "gpu.busy_percent", scope), 100.0 * 210 / 310);
    EXPECT_EQ(MetricOf(result, "gpu.operations", scope), 4);
  }
  const Table& table = TableOf(result, "devices");
  EXPECT_EQ(TextOf(table, 0, "name"), "Test GPU");
  EXPECT_EQ(IntOf(table, 0, "kernels"), 2);
  EXPECT_EQ(IntOf(table, 0, "copies"), 1);
  EXPECT_EQ(IntOf(table, 0, "fills"), 1);
}

TEST(Devices, AGraphRecordedAsAWholeCountsAsKernels) {
  TraceMaker maker;
  maker.AddKernel(0, 100).kind = OpKind::kGraph;
  EXPECT_EQ(MetricOf(RunDevices(maker.Finish(), {}), "gpu.kernel_ns"), 100);
}

TEST(Devices, SumsOverDevicesAndUnusedOnes) {
  TraceMaker maker;
  const uint32_t second = maker.AddDevice(1);
  maker.AddDevice(2);
  maker.AddKernel(0, 100);
  maker.AddKernel(1000, 1100).device = second;
  maker.AddKernel(1200, 1300).device = second;
  const AnalysisResult result = RunDevices(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "gpu.window_ns"), 100 + 300);
  EXPECT_EQ(MetricOf(result, "gpu.busy_ns"), 300);
  EXPECT_EQ(MetricOf(result, "gpu.busy_percent"), 75);
  EXPECT_EQ(MetricOf(result, "gpu.idle_ns", "gpu1"), 100);
  EXPECT_FALSE(HasMetric(result, "gpu.idle_ns", "gpu2"));
  EXPECT_EQ(TableOf(result, "devices").rows.size(), 2u);
  EXPECT_NE(TableOf(result, "devices").note.find("Unused: 1 of 3 GPUs."), std::string::npos);
}

TEST(Devices, NoMetricsWithoutOperations) {
  TraceMaker maker;
  EXPECT_TRUE(RunDevices(maker.Finish(), {}).metrics.empty());
}

TEST(Devices, AnOperationOfNoLengthIsAWindowOfNoLength) {
  TraceMaker maker;
  maker.AddKernel(5, 5);
  const AnalysisResult result = RunDevices(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "gpu.window_ns"), 0);
  EXPECT_EQ(MetricOf(result, "gpu.idle_percent"), 0);
}

TEST(Devices, KernelsThatWaitForPagesOfManagedMemoryAreNoWork) {
  TraceMaker maker;
  maker.AddKernel(0, 10 * kMs, kNone, "slow");
  Trace trace = maker.Finish();
  for (int64_t at_ms = 1; at_ms < 10; at_ms += 2) {
    ManagedMemory migration;
    migration.start_ns = at_ms * kMs;
    migration.end_ns = (at_ms + 1) * kMs;
    migration.destination = 0;
    migration.kind = trace::ManagedKind::kHostToDevice;
    trace.managed_memory.push_back(migration);
  }
  EXPECT_TRUE(RunDevices(trace, {}).findings.empty());
  trace.managed_memory.resize(1);
  ASSERT_EQ(RunDevices(trace, {}).findings.size(), 1u);
  EXPECT_EQ(RunDevices(trace, {}).findings[0].id, "gpu.kernel_bound");
}

TEST(Devices, SayWhatTheGpuDoesWhereItIsNotIdle) {
  TraceMaker maker;
  maker.AddKernel(0, 9 * kMs, kNone, "slow");
  maker.AddKernel(9 * kMs, 9'600 * kUs, kNone, "quick");
  maker.AddKernel(9'900 * kUs, 10 * kMs, kNone, "quick");
  const AnalysisResult kernels = RunDevices(maker.Finish(), {});
  ASSERT_EQ(kernels.findings.size(), 1u);
  EXPECT_EQ(kernels.findings[0].id, "gpu.kernel_bound");
  EXPECT_EQ(WordsOf(&kernels.findings[0]),
            "gpu0 is kernel-bound: kernels run for 97.0% of 10.00 ms; longest: slow | slow: 92.8% of the kernel time "
            "(9.00 ms in 1 launch) | quick: 7.2% of the kernel time (700.00 us in 2 launches)");
  EXPECT_EQ(kernels.findings[0].gain_ns, 1'500 * kUs);  // no more than 15 % of the window
  EXPECT_EQ(kernels.findings[0].subject.kernel, "slow");

  TraceMaker copier;
  copier.AddCopy(0, 600, 6000, trace::CopyKind::kHostToDevice);
  copier.AddKernel(600, 1000);
  const AnalysisResult copies = RunDevices(copier.Finish(), {});
  ASSERT_EQ(copies.findings.size(), 1u);
  EXPECT_EQ(copies.findings[0].id, "gpu.copy_bound");
  EXPECT_EQ(WordsOf(&copies.findings[0]),
            "gpu0 is copy-bound: 60.0% of 1.00 us spent copying with no kernel running | H2D 6.00 kB at 10.00 GB/s");

  TraceMaker idler;
  idler.AddKernel(0, 400);
  idler.AddKernel(600, 1000);
  EXPECT_TRUE(RunDevices(idler.Finish(), {}).findings.empty());
}

TEST(Devices, AKernelThatWaitsForOtherRanksIsNoLoad) {
  TraceMaker maker;
  maker.AddKernel(0, 1000, kNone, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  EXPECT_TRUE(RunDevices(maker.Finish(), {}).findings.empty());
}

}  // namespace
}  // namespace gprof::test
