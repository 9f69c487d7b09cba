#include <gtest/gtest.h>

#include "analysis/topics/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

using trace::SyncKind;

TEST(Api, CallsWithinCallsAreNotCountedTwice) {
  TraceMaker maker;
  const uint32_t call = maker.AddCall(0, 30, "cudaMalloc");
  maker.AddInnerCall(5, 25, "cuMemAlloc_v2", call);
  maker.AddCall(40, 50, "cudaMalloc");
  maker.AddCall(60, 70, "cuMemAlloc_v2");
  const AnalysisResult result = RunApi(maker.Finish(), {});
  const Table& table = TableOf(result, "api");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(TextOf(table, 0, "name"), "cudaMalloc");
  EXPECT_EQ(IntOf(table, 0, "count"), 2);
  EXPECT_EQ(IntOf(table, 0, "total_ns"), 40);
  EXPECT_EQ(RealOf(table, 0, "median_ns"), 20);
  EXPECT_EQ(IntOf(table, 1, "count"), 1);
  EXPECT_EQ(MetricOf(result, "api.calls"), 3);
  EXPECT_EQ(MetricOf(result, "api.total_ns"), 50);
}

TEST(Sync, ByWhatIsWaitedFor) {
  TraceMaker maker;
  maker.AddCall(0, 10, "cudaDeviceSynchronize");
  maker.AddCall(20, 40, "cudaStreamSynchronize");
  maker.AddCall(50, 80, "cudaEventSynchronize");
  // The record of CUPTI says more than the name.
  const uint32_t odd = maker.AddCall(90, 130, "cudaOddSynchronize");
  maker.AddSync(90, 130, SyncKind::kStream, odd);
  const AnalysisResult result = RunSync(maker.Finish(), {});
  const Table& table = TableOf(result, "sync");
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(TextOf(table, 0, "waits_for"), "stream");
  EXPECT_EQ(TextOf(table, 0, "function"), "cudaOddSynchronize");
  EXPECT_EQ(TextOf(table, 1, "waits_for"), "event");
  EXPECT_EQ(TextOf(table, 2, "waits_for"), "stream");
  EXPECT_EQ(TextOf(table, 3, "waits_for"), "device");
  EXPECT_EQ(MetricOf(result, "sync.count"), 4);
  EXPECT_EQ(MetricOf(result, "sync.host_blocked_ns"), 100);
}

TEST(Sync, BlockingCopiesApart) {
  TraceMaker maker;
  maker.AddPageable(10, 40, 1 << 20, maker.AddCall(0, 50, "cudaMemcpyAsync"));
  maker.AddCopy(60, 70, 64, trace::CopyKind::kDeviceToHost, maker.AddCall(55, 75, "cudaMemcpy")).is_async = false;
  maker.AddCopy(90, 95, 64, trace::CopyKind::kDeviceToHost, maker.AddCall(80, 85, "cudaMemcpyAsync"));
  // Within a device nothing makes the host wait.
  maker.AddCopy(100, 110, 64, trace::CopyKind::kDeviceToDevice, maker.AddCall(97, 99, "cudaMemcpy")).is_async = false;
  const AnalysisResult result = RunSync(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "sync.count"), 0);
  EXPECT_EQ(MetricOf(result, "sync.copy_count"), 2);
  EXPECT_EQ(MetricOf(result, "sync.copy_blocked_ns"), 70);
  EXPECT_EQ(TextOf(TableOf(result, "sync"), 0, "waits_for"), "copy");
}

TEST(Sync, FillsOfPinnedMemoryMakeTheHostWait) {
  TraceMaker maker;
  maker.AddFill(10, 20, 64, maker.AddCall(0, 25, "cudaMemset")).is_async = false;
  GpuOp& pinned = maker.AddFill(40, 50, 64, maker.AddCall(30, 55, "cudaMemset"));
  pinned.is_async = false;
  pinned.destination_memory = trace::MemoryKind::kPinned;
  const AnalysisResult result = RunSync(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "sync.copy_count"), 1);
  EXPECT_EQ(TextOf(TableOf(result, "sync"), 0, "waits_for"), "memset");
}

TEST(Sync, RecordsWithoutTheirCallCount) {
  TraceMaker maker;
  maker.AddSync(0, 10, SyncKind::kContext);
  maker.AddSync(20, 25, SyncKind::kStreamWaitEvent);  // a stream waits, not the host
  const AnalysisResult result = RunSync(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "sync.count"), 1);
  EXPECT_EQ(MetricOf(result, "sync.host_blocked_ns"), 10);
  EXPECT_EQ(TextOf(TableOf(result, "sync"), 0, "function"), "(unknown)");
}

}  // namespace
}  // namespace gprof::test
