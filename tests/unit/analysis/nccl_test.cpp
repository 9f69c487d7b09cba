#include <gtest/gtest.h>

#include "analysis/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

constexpr const char* kAllReduce = "_Z40ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE";

TEST(Nccl, WithoutItThereIsNothing) {
  TraceMaker maker;
  maker.Launch(0, 5, 10, 20);
  EXPECT_TRUE(RunNccl(maker.Finish(), {}).metrics.empty());
}

TEST(Nccl, ExposedIsWhatNoOtherKernelHides) {
  TraceMaker maker;
  maker.AddKernel(0, 100);
  maker.AddKernel(50, 150, kNone, kAllReduce);  // 50 of it exposed
  maker.AddKernel(120, 140);                    // 20 of those hidden
  maker.AddKernel(160, 200, kNone, "ncclKernel_Broadcast");
  maker.AddFill(160, 200, 8);  // hides nothing
  const AnalysisResult result = RunNccl(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "nccl.kernels"), 2);
  EXPECT_EQ(MetricOf(result, "nccl.total_ns"), 140);
  EXPECT_EQ(MetricOf(result, "nccl.exposed_ns"), 70);
  EXPECT_EQ(MetricOf(result, "nccl.exposed_ns", "gpu0"), 70);
  EXPECT_EQ(MetricOf(result, "nccl.exposed_percent"), 50);
  const Table& table = TableOf(result, "nccl");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(IntOf(table, 0, "exposed_ns"), 30);
  EXPECT_EQ(IntOf(table, 1, "exposed_ns"), 40);
  ASSERT_NE(FindingOf(result, "nccl.exposed"), nullptr);
  EXPECT_EQ(FindingOf(result, "nccl.exposed")->gain_ns, 70);
}

TEST(Nccl, AnotherGpuHidesNothing) {
  TraceMaker maker;
  const uint32_t second = maker.AddDevice(1);
  maker.AddKernel(0, 100, kNone, kAllReduce);
  maker.AddKernel(0, 100).device = second;
  EXPECT_EQ(MetricOf(RunNccl(maker.Finish(), {}), "nccl.exposed_ns"), 100);
}

void AddPayload(TraceMaker* maker, uint32_t range, std::string_view key, int64_t value) {
  Trace& trace = maker->trace();
  NvtxPayload payload;
  payload.range = range;
  payload.domain = 0;
  payload.first_value = static_cast<uint32_t>(trace.payload_values.size());
  trace.payload_values.push_back({maker->Name("NCCL communicator ID"), {}, 77, true});
  trace.payload_values.push_back({maker->Name(key), {}, value, true});
  payload.last_value = static_cast<uint32_t>(trace.payload_values.size());
  trace.payloads.push_back(payload);
}

TEST(Nccl, BandwidthAsNcclTestsHasIt) {
  TraceMaker maker;
  NvtxDomain domain;
  domain.name = maker.Name("NCCL");
  maker.trace().domains.push_back(domain);
  maker.AddRange(0, 5, "NCCL/ncclCommInitRank");
  maker.AddRange(10, 20, "NCCL/ncclAllReduce");
  maker.AddRange(30, 40, "NCCL/ncclAllGather");
  maker.AddRange(50, 60, "NCCL/ncclSend");  // launched nothing itself: in a group
  AddPayload(&maker, 0, "No. of ranks", 4);
  AddPayload(&maker, 1, "Message size [bytes]", 1000);
  AddPayload(&maker, 2, "Message size [bytes]", 1000);
  AddPayload(&maker, 3, "Message size [bytes]", 1000);
  maker.AddKernel(100, 200, maker.AddCall(12, 15, "cudaLaunchKernelExC"), kAllReduce);
  maker.AddKernel(200, 400, maker.AddCall(32, 35, "cudaLaunchKernelExC"), "ncclDevKernel_AllGather_RING_LL");
  const AnalysisResult result = RunNccl(maker.Finish(), {});
  const Table& table = TableOf(result, "nccl_messages");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(TextOf(table, 0, "path"), "NCCL/ncclAllGather");
  EXPECT_DOUBLE_EQ(RealOf(table, 0, "algorithm_bytes_per_second"), 4000 / 200e-9);
  EXPECT_DOUBLE_EQ(RealOf(table, 0, "bus_bytes_per_second"), 3000 / 200e-9);
  EXPECT_EQ(IntOf(table, 0, "ranks"), 4);
  EXPECT_DOUBLE_EQ(RealOf(table, 1, "algorithm_bytes_per_second"), 1000 / 100e-9);
  EXPECT_DOUBLE_EQ(RealOf(table, 1, "bus_bytes_per_second"), 1500 / 100e-9);
}

}  // namespace
}  // namespace gprof::test
