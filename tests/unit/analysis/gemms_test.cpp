#include <gtest/gtest.h>

#include "analysis/facts/operations/device_peaks.h"
#include "analysis/topics/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

constexpr uint8_t kFp16 = 2, kBf16 = 14, kFp32 = 0, kCompute32 = 68;

Gemm& AddGemm(TraceMaker& maker, int64_t start_ns, int64_t end_ns, uint8_t type = kFp16) {
  Gemm gemm;
  gemm.start_ns = start_ns, gemm.end_ns = end_ns;
  gemm.thread = gemm.process = 0;
  gemm.function = maker.Name("cublasGemmEx");
  gemm.m = 1024, gemm.n = 512, gemm.k = 256, gemm.batch = 1;
  gemm.lda = gemm.ldc = 1024, gemm.ldb = 256;
  gemm.a_type = gemm.b_type = gemm.c_type = type;
  gemm.compute_type = kCompute32;
  gemm.alignment = 16;
  maker.trace().gemms.push_back(gemm);
  return maker.trace().gemms.back();
}
constexpr double kFlop = 2.0 * 1024 * 512 * 256;

void MakeH200(TraceMaker& maker) {
  trace::DeviceRecord& properties = maker.trace().devices[0].properties;
  properties.compute_major = 9;
  properties.sm_count = 132;
  properties.sm_clock_khz = 1'980'000;
}

TEST(Gemms, WhatACallLaunchesIsOneRunOfIt) {
  TraceMaker maker;
  MakeH200(maker);
  AddGemm(maker, 100 * kUs, 110 * kUs);
  AddGemm(maker, 200 * kUs, 210 * kUs);
  maker.Launch(101 * kUs, 103 * kUs, 120 * kUs, 130 * kUs);
  maker.Launch(104 * kUs, 106 * kUs, 130 * kUs, 135 * kUs);  // adds up what the first has split
  maker.Launch(120 * kUs, 122 * kUs, 140 * kUs, 150 * kUs);  // after it
  maker.Launch(202 * kUs, 204 * kUs, 220 * kUs, 235 * kUs, maker.AddThread(0, 7));
  const AnalysisResult result = RunGemms(maker.Finish(), kAllRows);
  EXPECT_EQ(MetricOf(result, "gemm.calls"), 2);
  EXPECT_EQ(MetricOf(result, "gemm.gpu_ns"), 15 * kUs);
  EXPECT_EQ(MetricOf(result, "gemm.flop"), kFlop);
  EXPECT_DOUBLE_EQ(MetricOf(result, "gemm.tflops"), kFlop / (15 * kUs) * 1e9 / 1e12);
}

TEST(Gemms, ComplexNumbersTakeFourTimesTheOperations) {
  constexpr uint8_t kComplex64 = 4;
  TraceMaker maker;
  AddGemm(maker, 100 * kUs, 110 * kUs, kComplex64).batch = 3;
  maker.Launch(101 * kUs, 103 * kUs, 120 * kUs, 130 * kUs);
  EXPECT_EQ(MetricOf(RunGemms(maker.Finish(), kAllRows), "gemm.flop"), 3 * 4 * kFlop);
}

TEST(Gemms, GroupsOfACallShareItsTimeByTheirOperations) {
  TraceMaker maker;
  AddGemm(maker, 100 * kUs, 110 * kUs);
  AddGemm(maker, 100 * kUs, 110 * kUs).m = 3 * 1024;
  maker.Launch(101 * kUs, 103 * kUs, 120 * kUs, 160 * kUs);
  const AnalysisResult result = RunGemms(maker.Finish(), kAllRows);
  const Table& table = TableOf(result, "gemms");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(IntOf(table, 0, "gpu_ns"), 30 * kUs);
  EXPECT_EQ(IntOf(table, 1, "gpu_ns"), 10 * kUs);
  EXPECT_EQ(MetricOf(result, "gemm.flop"), 4 * kFlop);
}

TEST(Gemms, OneInAGraphRunsWhenTheGraphDoes) {
  TraceMaker maker;
  MakeH200(maker);
  AddGemm(maker, 100 * kUs, 110 * kUs);
  GraphNode node;
  node.id = 5, node.process = 0, node.thread = 0, node.time_ns = 105 * kUs, node.source = 0;
  maker.trace().graph_nodes.push_back(node);
  for (int64_t launch = 0; launch < 3; ++launch) {
    GpuOp& op = maker.AddKernel((200 + 20 * launch) * kUs, (210 + 20 * launch) * kUs);
    op.graph = 1, op.graph_node = 5, op.node = 0;
  }
  const AnalysisResult result = RunGemms(maker.Finish(), kAllRows);
  EXPECT_EQ(MetricOf(result, "gemm.calls"), 1);
  EXPECT_EQ(MetricOf(result, "gemm.gpu_ns"), 30 * kUs);
  EXPECT_EQ(MetricOf(result, "gemm.flop"), 3 * kFlop);
}

TEST(Gemms, AlignedOnesAndThoseOnTensorCoresAreNoFinding) {
  TraceMaker maker;
  MakeH200(maker);
  AddGemm(maker, 100 * kUs, 110 * kUs, kBf16);
  maker.Launch(101 * kUs, 103 * kUs, 120 * kUs, 130 * kUs);
  EXPECT_TRUE(RunGemms(maker.Finish(), kAllRows).findings.empty());
}

TEST(Gemms, Fp32IsNoFindingWhereTensorCoresDoNotKnowTf32) {
  for (const uint32_t major : {7u, 9u}) {
    TraceMaker maker;
    MakeH200(maker);
    maker.trace().devices[0].properties.compute_major = major;
    AddGemm(maker, 100 * kUs, 110 * kUs, kFp32);
    maker.Launch(101 * kUs, 103 * kUs, 120 * kUs, 130 * kUs);
    EXPECT_EQ(RunGemms(maker.Finish(), kAllRows).findings.size(), major == 9 ? 1 : 0) << major;
  }
}

// The data sheets: H100 SXM at 1.83 GHz, A100 at 1.41 GHz, L40S at 2.52 GHz.
TEST(DevicePeaks, AreThoseOfTheDataSheets) {
  const auto peak = [](uint32_t major, uint32_t minor, uint32_t sms, uint32_t mhz, MathType type) {
    Device device;
    device.properties.compute_major = major, device.properties.compute_minor = minor;
    device.properties.sm_count = sms, device.properties.sm_clock_khz = 1000 * mhz;
    return PeakOperationsPerSecond(device, type) / 1e12;
  };
  EXPECT_NEAR(peak(9, 0, 132, 1830, MathType::kBf16), 989, 2);
  EXPECT_NEAR(peak(9, 0, 132, 1830, MathType::kFp8), 1979, 4);
  EXPECT_NEAR(peak(8, 0, 108, 1410, MathType::kFp16), 312, 1);
  EXPECT_NEAR(peak(8, 0, 108, 1410, MathType::kTf32), 156, 1);
  EXPECT_NEAR(peak(8, 0, 108, 1410, MathType::kFp64), 19.5, 0.1);
  EXPECT_NEAR(peak(8, 9, 142, 2520, MathType::kFp16), 366, 1);
  EXPECT_EQ(peak(6, 0, 56, 1480, MathType::kFp32), 0);
}

}  // namespace
}  // namespace gprof::test
