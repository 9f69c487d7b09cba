// Speed, sizes and possible overlap of copies.
#include <gtest/gtest.h>

#include "analysis/facts/operations/transfers.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/copies/copy_calls.h"
#include "analysis/topics/copies/copy_overlap.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

using trace::CopyKind;
using trace::SyncKind;

CopyOverlap OverlapOf(const Trace& trace) { return CopyOverlapOf(trace, TransfersOf(trace, OpFacts(trace))); }

// To the device: three of 1 kB in 1, 2 and 9 us, one of 60 kB in 3 us, 8 MB in 200 us (40 GB/s) and in 400 us.
TraceMaker SixCopies() {
  TraceMaker maker;
  int64_t now_ns = 0;
  const auto add = [&](uint64_t bytes, int64_t duration_ns) {
    maker.AddCopy(now_ns, now_ns + duration_ns, bytes, CopyKind::kHostToDevice);
    now_ns += duration_ns + 50 * kUs;
  };
  for (int64_t duration_ns : {1 * kUs, 2 * kUs, 9 * kUs}) add(1000, duration_ns);
  add(60'000, 3 * kUs);
  add(8 * kMegabyte, 200 * kUs);
  add(8 * kMegabyte, 400 * kUs);
  return maker;
}

TEST(Transfers, AreTheCopiesAndMemsetsWithAllThatIsKnownOfThem) {
  constexpr int64_t kLongNs = int64_t{1} << 41;  // longer than the 40 bits of most durations
  TraceMaker maker;
  maker.AddKernel(0, kLongNs);
  maker.AddCopy(10, 20, 1000, CopyKind::kHostToDevice);
  maker.AddKernel(20, 30 + kLongNs);
  maker.AddCopy(30, 30 + 2 * kLongNs, 2000, CopyKind::kDeviceToHost);
  maker.AddCopy(40, 40 + 3 * kLongNs, 1000, CopyKind::kHostToDevice);
  const Trace& trace = maker.Finish();
  const PackedOps transfers = TransfersOf(trace, OpFacts(trace));
  ASSERT_EQ(transfers.size(), 3u);
  EXPECT_EQ(transfers.TraitsCount(), 2u);
  std::size_t at = 0;
  for (const GpuOp& op : trace.ops) {
    if (!op.IsCopy()) continue;
    EXPECT_EQ(transfers[at].start_ns, op.start_ns);
    EXPECT_EQ(transfers[at].end_ns, op.end_ns);
    EXPECT_EQ(transfers[at].size_bytes, op.size_bytes);
    EXPECT_EQ(transfers[at].copy_kind, op.copy_kind);
    EXPECT_EQ(transfers[at].api, op.api);
    ++at;
  }
}

TEST(Bandwidth, FitAgainstBestAndLink) {
  TraceMaker maker = SixCopies();
  maker.trace().devices[0].properties.pcie_generation = 5;
  maker.trace().devices[0].properties.pcie_lanes = 16;
  const AnalysisResult result = RunMemcpy(maker.Finish(), {});
  const Table& table = TableOf(result, "bandwidth");
  EXPECT_TRUE(table.is_detail);
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(IntOf(table, 0, "count"), 6);
  EXPECT_EQ(IntOf(table, 0, "time_ns"), 615 * kUs);
  EXPECT_DOUBLE_EQ(RealOf(table, 0, "best_bytes_per_second"), 40e9);
  EXPECT_DOUBLE_EQ(RealOf(table, 0, "link_bytes_per_second"), 3.938 * 16 * 1e9);
  EXPECT_DOUBLE_EQ(RealOf(table, 0, "percent_of_best"), 100 * (16'063'000.0 / 615'000) / 40);
  EXPECT_EQ(IntOf(table, 0, "latency_ns"), 2 * kUs);          // median of those of 1 kB
  EXPECT_EQ(IntOf(table, 0, "latency_bound_bytes"), 80'000);  // 2 us at 40 GB/s
  EXPECT_EQ(IntOf(table, 0, "latency_bound_count"), 4);
  EXPECT_EQ(IntOf(table, 0, "latency_bound_ns"), 15 * kUs);
  EXPECT_NE(NoteOf(table).find("PCIe Gen5 x16"), std::string::npos) << NoteOf(table);
  EXPECT_EQ(MetricOf(result, "memcpy.latency_bound_count"), 4);
  EXPECT_EQ(MetricOf(result, "memcpy.latency_bound_ns"), 15 * kUs);
  EXPECT_DOUBLE_EQ(MetricOf(result, "memcpy.h2d_best_bytes_per_second"), 40e9);
  EXPECT_DOUBLE_EQ(MetricOf(result, "memcpy.link_bytes_per_second", "gpu0"), 3.938 * 16 * 1e9);
  EXPECT_FALSE(HasMetric(result, "memcpy.d2h_best_bytes_per_second"));
}

TEST(Bandwidth, LinkNotKnown) {
  const AnalysisResult result = RunMemcpy(SixCopies().Finish(), {});
  const Table& table = TableOf(result, "bandwidth");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(CellOf(table, 0, "link_bytes_per_second")));
  EXPECT_NE(NoteOf(table).find("unknown for gpu0"), std::string::npos) << NoteOf(table);
  EXPECT_FALSE(HasMetric(result, "memcpy.link_bytes_per_second", "gpu0"));
}

TEST(Bandwidth, WithoutSmallCopiesNothingIsLatency) {
  TraceMaker maker;
  maker.AddCopy(0, 100 * kUs, kMegabyte, CopyKind::kDeviceToHost);
  const AnalysisResult result = RunMemcpy(maker.Finish(), {});
  const Table& table = TableOf(result, "bandwidth");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(CellOf(table, 0, "latency_ns")));
  EXPECT_EQ(TextOf(table, 0, "memory"), "device to pinned");
  EXPECT_EQ(MetricOf(result, "memcpy.latency_bound_count"), 0);
}

TEST(CopySizes, StepsOfFour) {
  TraceMaker maker;
  int64_t now_ns = 0;
  for (uint64_t bytes : {0u, 1u, 2u, 4u, 5u, 16u, 17u, 65536u, 65537u}) {
    maker.AddCopy(now_ns, now_ns + 10, bytes, CopyKind::kHostToDevice);
    now_ns += 100;
  }
  maker.AddCopy(now_ns, now_ns + 10, UINT64_MAX, CopyKind::kDeviceToDevice);
  const AnalysisResult result = RunMemcpy(maker.Finish(), {});
  const Table& table = TableOf(result, "copy_sizes");
  ASSERT_EQ(table.rows.size(), 7u);
  const auto is_row = [&](size_t row, int64_t above, int64_t up_to, int64_t count) {
    EXPECT_EQ(IntOf(table, row, "above_bytes"), above);
    EXPECT_EQ(IntOf(table, row, "up_to_bytes"), up_to);
    EXPECT_EQ(IntOf(table, row, "count"), count);
  };
  is_row(0, 0, 1, 2);
  is_row(1, 1, 4, 2);
  is_row(2, 4, 16, 2);
  is_row(3, 16, 64, 1);
  is_row(4, 16384, 65536, 1);
  is_row(5, 65536, 262144, 1);
  EXPECT_EQ(TextOf(table, 6, "direction"), "device to device");
  EXPECT_EQ(IntOf(table, 6, "count"), 1);
  EXPECT_EQ(SumOf(table, "count"), 10);
}

// Copy in 100 us, kernel of 60 us 2 us later, copy out of 50 us 2 us later.
TraceMaker CopyKernelCopy() {
  TraceMaker maker;
  const uint32_t stream = maker.AddStream(7);
  maker.AddCopy(0, 100 * kUs, kMegabyte, CopyKind::kHostToDevice).stream = stream;
  maker.AddKernel(102 * kUs, 162 * kUs).stream = stream;
  maker.AddCopy(164 * kUs, 214 * kUs, kMegabyte, CopyKind::kDeviceToHost).stream = stream;
  return maker;
}

TEST(CopyOverlap, EachKernelHidesNoMoreThanItself) {
  const CopyOverlap overlap = OverlapOf(CopyKernelCopy().Finish());
  EXPECT_EQ(overlap.gain_ns, 60 * kUs);
  EXPECT_EQ(overlap.kernel_ns, 60 * kUs);
}

TEST(CopyOverlap, AFinding) {
  const AnalysisResult result = RunMemcpy(
      [] {
        TraceMaker maker = CopyKernelCopy();
        maker.AddKernel(220 * kUs, 250 * kUs);
        return maker.Finish();
      }(),
      {});
  const Finding* finding = FindingOf(result, "memcpy.overlap");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message,
            "2 copies took 150.00 us with no kernel running, directly before or after 90.00 us of kernels");
  EXPECT_EQ(finding->gain_ns, 90 * kUs);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_NE(finding->basis.find("20.00 us"), std::string::npos) << finding->basis;
  EXPECT_EQ(MetricOf(result, "memcpy.overlappable_ns"), 90 * kUs);
}

TEST(CopyOverlap, FarKernelsDoNotCount) {
  TraceMaker maker;
  maker.AddCopy(0, 100 * kUs, kMegabyte, CopyKind::kHostToDevice);
  maker.AddKernel(121 * kUs, 200 * kUs);
  EXPECT_EQ(OverlapOf(maker.Finish()).gain_ns, 0);
}

TEST(CopyOverlap, WhatOverlapsAlreadyIsNotWonAgain) {
  TraceMaker maker;
  const uint32_t a = maker.AddStream(7), b = maker.AddStream(8);
  maker.AddCopy(0, 100 * kUs, kMegabyte, CopyKind::kHostToDevice).stream = a;
  maker.AddKernel(70 * kUs, 120 * kUs).stream = b;  // 30 of it beside the copy, 20 left
  const CopyOverlap overlap = OverlapOf(maker.Finish());
  EXPECT_EQ(overlap.copy_only_ns, 70 * kUs);
  EXPECT_EQ(overlap.gain_ns, 20 * kUs);
}

TEST(CopyOverlap, PageableSmallGraphAndForeignWorkDoNotCount) {
  TraceMaker maker;
  const uint32_t other = maker.AddProcess(200);
  maker.AddPageable(0, 100 * kUs, kMegabyte);
  maker.AddKernel(100 * kUs, 200 * kUs);
  maker.AddCopy(200 * kUs, 210 * kUs, 65536, CopyKind::kHostToDevice);
  maker.AddCopy(210 * kUs, 260 * kUs, kMegabyte, CopyKind::kHostToDevice).graph = 5;
  maker.AddCopy(200 * kUs, 300 * kUs, kMegabyte, CopyKind::kDeviceToDevice);
  maker.AddCopy(300 * kUs, 400 * kUs, kMegabyte, CopyKind::kHostToDevice).process = other;
  EXPECT_EQ(OverlapOf(maker.Finish()).gain_ns, 0);
}

TEST(CopyOverlap, EventsAreDependencies) {
  TraceMaker maker;
  const uint32_t compute = maker.AddStream(7), copy = maker.AddStream(8);
  maker.AddKernel(0, 100 * kUs, maker.AddCall(0, 5 * kUs, "cudaLaunchKernel")).stream = compute;
  maker.AddSync(6 * kUs, 6 * kUs, SyncKind::kStreamWaitEvent, kNone, copy);
  const uint32_t call = maker.AddCall(7 * kUs, 9 * kUs, "cudaMemcpyAsync");
  maker.AddCopy(101 * kUs, 201 * kUs, kMegabyte, CopyKind::kDeviceToHost, call).stream = copy;
  EXPECT_EQ(OverlapOf(maker.Finish()).gain_ns, 0);

  // The kernel waits for the copy before it.
  TraceMaker consumer;
  const uint32_t in = consumer.AddStream(7), work = consumer.AddStream(8);
  const uint32_t copy_call = consumer.AddCall(0, 2 * kUs, "cudaMemcpyAsync");
  consumer.AddCopy(3 * kUs, 103 * kUs, kMegabyte, CopyKind::kHostToDevice, copy_call).stream = in;
  consumer.AddSync(4 * kUs, 4 * kUs, SyncKind::kStreamWaitEvent, kNone, work);
  consumer.AddKernel(104 * kUs, 204 * kUs, consumer.AddCall(5 * kUs, 6 * kUs, "cudaLaunchKernel")).stream = work;
  EXPECT_EQ(OverlapOf(consumer.Finish()).gain_ns, 0);
}

// A kernel that runs throughout leaves nothing to be won, however many copies there are.
TEST(CopyOverlap, ManyCopiesBesideALongKernel) {
  TraceMaker maker;
  const uint32_t a = maker.AddStream(7), b = maker.AddStream(8);
  maker.AddKernel(0, 1'000'000 * kUs).stream = a;
  for (int64_t i = 0; i < 20'000; ++i) {
    maker.AddCopy(i * 40 * kUs, (i * 40 + 10) * kUs, kMegabyte, CopyKind::kHostToDevice).stream = b;
    maker.AddKernel((i * 40 + 15) * kUs, (i * 40 + 20) * kUs).stream = b;
  }
  const CopyOverlap overlap = OverlapOf(maker.Finish());
  EXPECT_EQ(overlap.gain_ns, 0);
  EXPECT_EQ(overlap.copies, 0);
}

// A kernel runs until 1000; the copy's call enters at 200 and returns at 1015, 5 after the copy.
TEST(CopyCalls, WaitingForAnEarlierKernelIsNotTheCopysTime) {
  TraceMaker maker;
  maker.AddKernel(100, 1000);
  maker.AddPageable(1000, 1010, 800, maker.AddCall(200, 1015, "cudaMemcpy"));
  const Trace trace = maker.Finish();
  const AnalysisInput input(trace);
  const CopyCallTime time = CopyCalls(input).TimeOf(trace.ops[1]);
  EXPECT_EQ(time.call_ns, 815);
  EXPECT_EQ(time.waiting_ns, 800);
  EXPECT_EQ(time.OwnNs(), 15);
}

// The GPU is idle from 300 on: that the copy begins at 900 is its call's own time, as is all before the first work.
TEST(CopyCalls, WithAnIdleGpuThereIsNothingToWaitFor) {
  TraceMaker maker;
  maker.AddKernel(100, 300);
  maker.AddPageable(900, 1000, 800, maker.AddCall(50, 1010, "cudaMemcpy"));
  const Trace trace = maker.Finish();
  const AnalysisInput input(trace);
  EXPECT_EQ(CopyCalls(input).TimeOf(trace.ops[1]).waiting_ns, 200);
  EXPECT_EQ(CopyCalls(input).TimeOf(trace.ops[0]).call_ns, 0);  // its call is not known
}

// 1,000 copies of 4 B that each wait for a kernel of 5 ms: nothing is to be won by batching them.
TEST(CopyFindings, SmallCopiesBehindLongKernelsAreNoProblem) {
  TraceMaker maker;
  for (int64_t i = 0; i < 1000; ++i) {
    const int64_t at = i * 5010 * kUs;
    maker.AddKernel(at, at + 5000 * kUs);
    maker.AddPageable(at + 5000 * kUs, at + 5002 * kUs, 4, maker.AddCall(at, at + 5005 * kUs, "cudaMemcpy"));
  }
  const Trace trace = maker.Finish();
  const AnalysisResult result = RunMemcpy(trace, {});
  EXPECT_EQ(MetricOf(result, "memcpy.pageable_blocked_ns"), 1000 * 5 * kUs);
  for (const Finding& finding : result.findings) EXPECT_LT(finding.gain_ns, 1000 * 6 * kUs) << finding.id;
  const AnalysisResult devices = RunDevices(trace, {});
  ASSERT_EQ(devices.findings.size(), 1u);
  EXPECT_EQ(devices.findings[0].id, "gpu.kernel_bound");
}

}  // namespace
}  // namespace gprof::test
