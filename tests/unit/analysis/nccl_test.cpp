#include <gtest/gtest.h>

#include "analysis/topics/analyses.h"
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
  // As it needs 64 bits without a sign, most communicators' numbers are text.
  trace.payload_values.push_back({maker->Name("NCCL communicator ID"), maker->Name("11011835443116905073"), 0, false});
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

// Two GPUs, `count` all-reduces each 1000 ns apart: gpu1 begins 300 ns later, but for the last, where it is gpu0.
Trace LateRank(int count, int count_of_gpu1) {
  TraceMaker maker;
  NvtxDomain domain;
  domain.name = maker.Name("NCCL");
  maker.trace().domains.push_back(domain);
  const uint32_t second = maker.AddDevice(1);
  for (int i = 0; i < count; ++i) {
    for (int gpu = 0; gpu < (i < count_of_gpu1 ? 2 : 1); ++gpu) {
      const int64_t at_ns = 1000 * i + 20 * gpu;
      const bool is_late = (gpu == 1) == (i + 1 < count);
      const auto range = static_cast<uint32_t>(maker.ranges().size());
      maker.AddRange(at_ns, at_ns + 15, "NCCL/ncclAllReduce");
      AddPayload(&maker, range, "Message size [bytes]", 1000);
      const uint32_t call = maker.AddCall(at_ns + 1, at_ns + 9, "cudaLaunchKernelExC");
      GpuOp& op = maker.AddKernel(1000 * i + (is_late ? 400 : 100), 1000 * i + 600, call, kAllReduce);
      if (gpu == 1) op.device = second;
    }
  }
  return maker.Finish();
}

TEST(Nccl, ThoseThatComeFirstWaitForTheLast) {
  const AnalysisResult result = RunNccl(LateRank(5, 5), {});
  EXPECT_EQ(MetricOf(result, "nccl.waiting_ns", "gpu0"), 4 * 300);
  EXPECT_EQ(MetricOf(result, "nccl.waiting_ns", "gpu1"), 300);
  EXPECT_EQ(MetricOf(result, "nccl.waiting_ns"), 1500);
  const Table& table = TableOf(result, "nccl_waits");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(TextOf(table, 0, "device"), "gpu0");
  EXPECT_EQ(TextOf(table, 0, "most_for"), "gpu1");
  EXPECT_EQ(IntOf(table, 0, "last"), 1);
  EXPECT_EQ(IntOf(table, 1, "last"), 4);
  EXPECT_DOUBLE_EQ(RealOf(table, 0, "waiting_percent"), 100.0 * 1200 / (4 * 500 + 200));
  const Finding* finding = FindingOf(result, "nccl.straggler");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gain_ns, 1200);
  EXPECT_EQ(finding->message.substr(0, 49), "42.9% of NCCL's time is waiting: for gpu1 (34.3%)");
}

TEST(Nccl, CollectivesThatDoNotPairAreNotGuessed) {
  const AnalysisResult result = RunNccl(LateRank(5, 4), {});
  for (const Metric& metric : result.metrics) EXPECT_NE(metric.id, "nccl.waiting_ns");
  EXPECT_EQ(FindingOf(result, "nccl.straggler"), nullptr);
}

// The operations of a launch: an all-reduce of 3000 bytes and an all-gather of 1000 of four ranks.
void AddOperations(TraceMaker* maker, int64_t called_ns, int64_t enqueued_ns, uint32_t thread, uint64_t sequence) {
  Collective operation;
  operation.start_ns = called_ns, operation.end_ns = enqueued_ns;
  operation.process = 0, operation.thread = thread;
  operation.communicator = 0xf00dfeedcafe0001, operation.sequence = sequence;
  operation.ranks = 4, operation.channels = 24;
  operation.datatype = maker->Name("ncclFloat32");
  operation.algorithm = maker->Name("RING"), operation.protocol = maker->Name("SIMPLE");
  operation.function = maker->Name("AllReduce"), operation.size_bytes = 3000;
  maker->trace().collectives.push_back(operation);
  operation.function = maker->Name("AllGather"), operation.size_bytes = 1000;
  maker->trace().collectives.push_back(operation);
}

TEST(Nccl, OperationsOfAGroupShareTheTimeOfItsKernelByBytes) {
  TraceMaker maker;
  AddOperations(&maker, 100, 150, 0, 0);
  maker.AddKernel(50, 60, maker.AddCall(10, 20, "cuLaunchKernelExC"), kAllReduce);  // before the call: not recorded
  maker.AddKernel(200, 1000, maker.AddCall(120, 140, "cuLaunchKernelExC"), kAllReduce);
  const AnalysisResult result = RunNccl(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "nccl.operations"), 2);
  EXPECT_EQ(MetricOf(result, "nccl.bytes"), 4000);
  const Table& table = TableOf(result, "nccl_operations");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(TextOf(table, 0, "function"), "AllReduce");
  EXPECT_EQ(IntOf(table, 0, "kernel_ns"), 600);
  EXPECT_EQ(IntOf(table, 0, "channels"), 24);
  EXPECT_DOUBLE_EQ(RealOf(table, 0, "bus_bytes_per_second"), 3000 * 1.5 / 600e-9);
  EXPECT_EQ(IntOf(table, 1, "kernel_ns"), 200);
  EXPECT_DOUBLE_EQ(RealOf(table, 1, "algorithm_bytes_per_second"), 4000 / 200e-9);
}

TEST(Nccl, WhatWasCapturedIsCountedWithoutATime) {
  TraceMaker maker;
  AddOperations(&maker, 100, 150, 0, 0);
  for (Collective& operation : maker.trace().collectives) operation.is_captured = true;
  maker.AddKernel(200, 1000, maker.AddCall(120, 140, "cuLaunchKernelExC"), kAllReduce);
  const AnalysisResult result = RunNccl(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "nccl.operations"), 2);
  EXPECT_FALSE(HasMetric(result, "nccl.bus_bytes_per_second"));
  EXPECT_EQ(IntOf(TableOf(result, "nccl_operations"), 0, "kernel_ns"), 0);
}

TEST(Nccl, TransfersAreSummedByFunctionDirectionAndPeer) {
  TraceMaker maker;
  AddOperations(&maker, 100, 150, 0, 0);
  NcclTransfer transfer;
  transfer.process = 0, transfer.function = maker.Name("AllReduce");
  transfer.peer = 1, transfer.steps = 2, transfer.size_bytes = 1000, transfer.is_send = true;
  transfer.gpu_ns = 10, transfer.peer_ns = 20, transfer.network_ns = 30, transfer.flush_ns = 0;
  for (const int64_t start_ns : {200, 300}) {
    transfer.start_ns = start_ns, transfer.end_ns = start_ns + 70;
    maker.trace().nccl_transfers.push_back(transfer);
  }
  transfer.is_send = false, transfer.peer_ns = 0, transfer.flush_ns = 5;
  maker.trace().nccl_transfers.push_back(transfer);
  const AnalysisResult result = RunNccl(maker.Finish(), {});
  const Table& table = TableOf(result, "nccl_network");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(TextOf(table, 0, "direction"), "send");
  EXPECT_EQ(TextOf(table, 0, "function"), "AllReduce");
  EXPECT_EQ(IntOf(table, 0, "time_ns"), 140);
  EXPECT_EQ(IntOf(table, 0, "gpu_ns"), 20);
  EXPECT_EQ(IntOf(table, 0, "peer_ns"), 40);
  EXPECT_EQ(IntOf(table, 0, "network_ns"), 60);
  EXPECT_EQ(IntOf(table, 0, "bytes"), 2000);
  EXPECT_EQ(IntOf(table, 0, "steps"), 4);
  EXPECT_EQ(TextOf(table, 1, "direction"), "receive");
  EXPECT_EQ(IntOf(table, 1, "flush_ns"), 5);
}

TEST(Nccl, OperationsNeedNoKernelsInTheTrace) {
  TraceMaker maker;
  AddOperations(&maker, 100, 150, 0, 0);
  const AnalysisResult result = RunNccl(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "nccl.operations"), 2);
  EXPECT_FALSE(HasMetric(result, "nccl.kernels"));
}

// Two ranks make one collective, one on each GPU. That of gpu1 begins at 1000; its host called NCCL at `called_ns`.
AnalysisResult LateBy(int64_t called_ns) {
  TraceMaker maker;
  const uint32_t second = maker.AddDevice(1), thread = maker.AddThread(0, 8);
  const auto reduce = [&](int64_t at_ns, int64_t start_ns, uint32_t on, uint64_t sequence) -> GpuOp& {
    AddOperations(&maker, at_ns, at_ns + 30, on, sequence);
    maker.trace().collectives.pop_back();
    return maker.AddKernel(start_ns, 1100, maker.AddCall(at_ns + 10, at_ns + 20, "cuLaunchKernelExC", on), kAllReduce);
  };
  reduce(100, 200, 0, 5);
  reduce(called_ns, 1000, thread, 5).device = second;
  return RunNccl(maker.Finish(), {});
}

TEST(Nccl, TellsALateHostFromAGpuThatIsBehind) {
  const AnalysisResult host = LateBy(960);
  EXPECT_EQ(MetricOf(host, "nccl.waiting_ns"), 800);
  EXPECT_EQ(MetricOf(host, "nccl.late_host_ns"), 760);
  EXPECT_EQ(IntOf(TableOf(host, "nccl_waits"), 0, "for_hosts_ns"), 760);
  ASSERT_NE(FindingOf(host, "nccl.straggler"), nullptr);
  EXPECT_NE(FindingOf(host, "nccl.straggler")->message.find("called NCCL late"), std::string::npos);
  const AnalysisResult gpu = LateBy(150);
  EXPECT_EQ(MetricOf(gpu, "nccl.waiting_ns"), 800);
  EXPECT_EQ(MetricOf(gpu, "nccl.late_host_ns"), 0);
  EXPECT_EQ(FindingOf(gpu, "nccl.straggler")->message.find("called NCCL late"), std::string::npos);
}

}  // namespace
}  // namespace gprof::test
