#include <gtest/gtest.h>

#include "analysis/topics/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

using trace::CopyKind;

TEST(Memcpy, ByDirectionAndMemory) {
  TraceMaker maker;
  maker.AddCopy(0, 100, 1000, CopyKind::kHostToDevice);
  maker.AddCopy(200, 300, 3000, CopyKind::kHostToDevice);
  maker.AddCopy(400, 450, 500, CopyKind::kDeviceToHost);
  maker.AddCopy(500, 510, 70, CopyKind::kDeviceToDevice);
  maker.AddCopy(600, 610, 30, CopyKind::kUnknown).kind = OpKind::kPeerCopy;
  maker.AddFill(700, 705, 11);
  const AnalysisResult result = RunMemcpy(maker.Finish(), {});
  const Table& table = TableOf(result, "memcpy");
  ASSERT_EQ(table.rows.size(), 5u);
  EXPECT_EQ(TextOf(table, 0, "direction"), "host to device");
  EXPECT_EQ(TextOf(table, 0, "memory"), "pinned to device");
  EXPECT_EQ(IntOf(table, 0, "bytes"), 4000);
  EXPECT_EQ(RealOf(table, 0, "bytes_per_second"), 20e9);
  EXPECT_EQ(RealOf(table, 0, "mean_bytes"), 2000);
  EXPECT_EQ(IntOf(table, 0, "max_bytes"), 3000);
  EXPECT_EQ(TextOf(table, 4, "direction"), "memset");
  EXPECT_EQ(MetricOf(result, "memcpy.count"), 5);
  EXPECT_EQ(MetricOf(result, "memcpy.bytes"), 4600);
  EXPECT_EQ(MetricOf(result, "memcpy.h2d_bytes"), 4000);
  EXPECT_EQ(MetricOf(result, "memcpy.h2d_count"), 2);
  EXPECT_EQ(MetricOf(result, "memcpy.h2d_ns"), 200);
  EXPECT_EQ(MetricOf(result, "memcpy.d2h_bytes"), 500);
  EXPECT_EQ(MetricOf(result, "memcpy.d2d_bytes"), 70);
  EXPECT_EQ(MetricOf(result, "memcpy.p2p_bytes"), 30);
  EXPECT_EQ(MetricOf(result, "memset.bytes"), 11);
  EXPECT_EQ(MetricOf(result, "memset.total_ns"), 5);
  EXPECT_EQ(MetricOf(result, "memcpy.pageable_count"), 0);
  EXPECT_EQ(FindingOf(result, "memcpy.pageable"), nullptr);
}

// 10 MB in 2 ms from pageable memory, in a call that lasts as long, within a range.
TraceMaker PageableMaker() {
  TraceMaker maker;
  maker.AddRange(0, 5000 * kUs, "step/load");
  maker.AddPageable(100 * kUs, 2100 * kUs, 10 * kMegabyte, maker.AddCall(50 * kUs, 2110 * kUs, "cudaMemcpy"));
  return maker;
}

// A damaged trace may say that copies took 36 years each.
TEST(Pageable, SumsStayAtTheLargestNumber) {
  constexpr int64_t kLong = int64_t{1} << 60;
  TraceMaker maker;
  for (int i = 0; i < 10; ++i) maker.AddPageable(i, kLong, kMegabyte, maker.AddCall(i, kLong, "cudaMemcpy"));
  const AnalysisResult result = RunMemcpy(maker.Finish(), {});
  EXPECT_EQ(IntOf(TableOf(result, "pageable"), 0, "time_ns"), INT64_MAX);
  EXPECT_EQ(IntOf(TableOf(result, "pageable"), 0, "blocked_ns"), INT64_MAX);
}

TEST(Pageable, ComparedWithTheBestPinnedCopy) {
  TraceMaker maker = PageableMaker();
  maker.AddCopy(3000 * kUs, 3200 * kUs, 8 * kMegabyte, CopyKind::kHostToDevice);  // 40 GB/s
  maker.AddCopy(3300 * kUs, 3700 * kUs, 8 * kMegabyte, CopyKind::kHostToDevice);  // 20 GB/s
  maker.AddCopy(3800 * kUs, 3810 * kUs, 8 * kMegabyte, CopyKind::kDeviceToHost);  // another direction
  const AnalysisResult result = RunMemcpy(maker.Finish(), {});
  const Finding* finding = FindingOf(result, "memcpy.pageable");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_EQ(
      finding->message,
      "1 pageable copy (H2D): 10.00 MB in 2.00 ms, 5.00 GB/s, host blocked for 2.06 ms; in cudaMemcpy in step/load");
  EXPECT_EQ(finding->gain_ns, 1750 * kUs);
  EXPECT_NE(finding->basis.find("best pinned H2D copy of this trace, 40.00 GB/s"), std::string::npos) << finding->basis;
  EXPECT_EQ(MetricOf(result, "memcpy.pageable_count"), 1);
  EXPECT_EQ(MetricOf(result, "memcpy.pageable_bytes"), 10e6);
  EXPECT_EQ(MetricOf(result, "memcpy.pageable_ns"), 2e6);
  EXPECT_EQ(MetricOf(result, "memcpy.pageable_blocked_ns"), 2.06e6);
  const Table& table = TableOf(result, "pageable");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(TextOf(table, 0, "place"), "cudaMemcpy in step/load");
  EXPECT_EQ(IntOf(table, 0, "blocked_count"), 1);
  EXPECT_EQ(IntOf(table, 0, "saved_ns"), 1750 * kUs);
}

TEST(Pageable, ComparedWithTheLinkWithoutPinnedCopies) {
  TraceMaker maker = PageableMaker();
  maker.trace().devices[0].properties.pcie_generation = 4;
  maker.trace().devices[0].properties.pcie_lanes = 16;
  const AnalysisResult result = RunMemcpy(maker.Finish(), {});
  const Finding* finding = FindingOf(result, "memcpy.pageable");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gain_ns, 2000 * kUs - 373'435);  // 85 % of 31.504 GB/s
  EXPECT_NE(finding->basis.find("85% of PCIe Gen4 x16, 31.50 GB/s"), std::string::npos) << finding->basis;
}

TEST(Pageable, BothDirectionsAreOneFinding) {
  TraceMaker maker = PageableMaker();
  GpuOp& back = maker.AddCopy(3000 * kUs, 6000 * kUs, 12 * kMegabyte, CopyKind::kDeviceToHost,
                              maker.AddCall(2950 * kUs, 6010 * kUs, "cudaMemcpy"));
  back.destination_memory = trace::MemoryKind::kPageable;
  const AnalysisResult result = RunMemcpy(maker.Finish(), {});
  EXPECT_EQ(std::count_if(result.findings.begin(), result.findings.end(),
                          [](const Finding& finding) { return finding.id == "memcpy.pageable"; }),
            1);
  const Finding* finding = FindingOf(result, "memcpy.pageable");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message.substr(0, finding->message.find(", host")),
            "2 pageable copies: H2D 10.00 MB in 2.00 ms, 5.00 GB/s; D2H 12.00 MB in 3.00 ms, 4.00 GB/s");
  EXPECT_EQ(finding->subject.direction, "");
}

TEST(Pageable, NoPromiseWithoutABasis) {
  const AnalysisResult result = RunMemcpy(PageableMaker().Finish(), {});
  const Finding* finding = FindingOf(result, "memcpy.pageable");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gain_ns, 0);
  EXPECT_NE(finding->basis.find("no pinned copy"), std::string::npos);
}

TEST(Pageable, NotBlockedWhenTheCallReturnsEarly) {
  TraceMaker maker;
  maker.AddPageable(100, 1100, 64, maker.AddCall(50, 200, "cudaMemcpyAsync"));
  const AnalysisResult result = RunMemcpy(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "memcpy.pageable_blocked_ns"), 0);
  EXPECT_NE(FindingOf(result, "memcpy.pageable")->message.find("host not blocked"), std::string::npos);
}

TEST(Pageable, AFewBytesAreOnlyMentioned) {
  TraceMaker maker;
  maker.AddKernel(0, 1'000'000);
  maker.AddPageable(1'000'000, 1'001'000, 4, maker.AddCall(999'000, 1'001'500, "cudaMemcpy"));
  const AnalysisResult result = RunMemcpy(maker.Finish(), {});
  const Finding* finding = FindingOf(result, "memcpy.pageable");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kInfo);
}

TEST(Pageable, CopiesWithinTheMemoryOfTheHostAreOnlyMentioned) {
  TraceMaker maker;
  maker.AddCopy(0, 1000, 8, CopyKind::kHostToHost, maker.AddCall(0, 1100, "cuMemcpyDtoHAsync_v2")).source_memory =
      trace::MemoryKind::kPageable;
  const AnalysisResult result = RunMemcpy(maker.Finish(), {});
  const Finding* finding = FindingOf(result, "memcpy.pageable");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kInfo);
}

Trace ManyCopies(int64_t count, uint64_t bytes) {
  TraceMaker maker;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t call_ns = i * 5 * kUs;
    maker.AddCopy(call_ns + 3 * kUs, call_ns + 5 * kUs, bytes, CopyKind::kHostToDevice,
                  maker.AddCall(call_ns, call_ns + 4 * kUs, "cudaMemcpyAsync"));
  }
  maker.AddCopy(count * 5 * kUs, count * 5 * kUs + 100 * kUs, 4 * kMegabyte, CopyKind::kHostToDevice);  // 40 GB/s
  return maker.Finish();
}

TEST(SmallCopies, ManyAreAFinding) {
  const AnalysisResult result = RunMemcpy(ManyCopies(4096, 4096), {});
  const Finding* finding = FindingOf(result, "memcpy.small");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message,
            "4,095 small H2D copies back to back, 4.10 kB on average: 16.77 MB in 8.19 ms on the GPU and 16.38 ms in "
            "the calls");
  // 2 us of copy and 3 us of idle time each, less one copy of the same bytes at 40 GB/s.
  EXPECT_EQ(finding->gain_ns, 4095 * 5 * kUs - 419'328);
  EXPECT_EQ(MetricOf(result, "memcpy.small_count"), 4096);
}

TEST(SmallCopies, FewOrLargeAreNot) {
  EXPECT_EQ(FindingOf(RunMemcpy(ManyCopies(99, 4096), {}), "memcpy.small"), nullptr);
  EXPECT_EQ(FindingOf(RunMemcpy(ManyCopies(4096, 65537), {}), "memcpy.small"), nullptr);
  EXPECT_NE(FindingOf(RunMemcpy(ManyCopies(4096, 65536), {}), "memcpy.small"), nullptr);
}

TEST(Memcpy, EmptyTrace) {
  TraceMaker maker;
  const AnalysisResult result = RunMemcpy(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "memcpy.h2d_bytes"), 0);
  EXPECT_TRUE(TableOf(result, "memcpy").rows.empty());
  EXPECT_TRUE(result.findings.empty());
}

}  // namespace
}  // namespace gprof::test
