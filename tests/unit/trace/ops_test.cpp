// GPU operations, the devices and streams they ran on, threads and names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chunks.h"
#include "trace_text.h"

namespace gprof {
namespace {

TEST(Ops, AreOrderedByDeviceStartAndEnd) {
  const Trace t = LoadText(R"(
kernel start_ns=300 duration_ns=5 device=1
kernel start_ns=100 duration_ns=9 device=1
kernel start_ns=200 duration_ns=5 device=0
memcpy start_ns=100 duration_ns=5 device=1
graph_launch start_ns=50 duration_ns=5 device=0 graph=4
memset start_ns=400 duration_ns=5 device=1
)");
  std::vector<std::pair<uint32_t, int64_t>> order;
  for (const GpuOp& op : t.ops) order.emplace_back(t.devices[op.device].ordinal, op.end_ns);
  EXPECT_THAT(order, testing::ElementsAre(std::pair(0, 55), std::pair(0, 205), std::pair(1, 105), std::pair(1, 109),
                                          std::pair(1, 305), std::pair(1, 405)));
  ASSERT_EQ(t.device_ops.size(), 2u);
  EXPECT_EQ(t.device_ops[0].last, 2u);
  EXPECT_EQ(t.device_ops[1].first, 2u);
  EXPECT_EQ(t.device_ops[1].last, 6u);
  EXPECT_EQ(t.ops[0].kind, OpKind::kGraph);
  EXPECT_EQ(t.ops[0].graph, 4u);
}

TEST(Ops, KeepWhatTheirRecordsSay) {
  const Trace t = LoadText(R"(
memcpy start_ns=1 duration_ns=2 size_bytes=64 copy_kind=1 source_memory=1 destination_memory=3 is_async=1 graph_node=8
memset start_ns=5 duration_ns=2 size_bytes=32 memory=5
peer_copy start_ns=9 duration_ns=2 device=1 source_device=1 destination_device=2 size_bytes=16 source_memory=3
peer_copy start_ns=19 duration_ns=2 device=1 source_device=3 destination_device=1
memcpy start_ns=30 duration_ns=2 copy_kind=99 source_memory=99
)");
  const auto op = [&](int64_t start) {
    for (const GpuOp& o : t.ops) {
      if (o.start_ns == start) return o;
    }
    return GpuOp{};
  };
  EXPECT_EQ(op(1).copy_kind, trace::CopyKind::kHostToDevice);
  EXPECT_TRUE(op(1).IsPageable());
  EXPECT_TRUE(op(1).is_async);
  EXPECT_EQ(op(1).graph_node, 8u);
  EXPECT_EQ(op(5).destination_memory, trace::MemoryKind::kManaged);
  EXPECT_EQ(op(5).size_bytes, 32u);
  EXPECT_EQ(t.devices[op(9).peer_device].ordinal, 2u);
  EXPECT_EQ(t.devices[op(9).SourceDevice()].ordinal, 1u);
  EXPECT_EQ(t.devices[op(9).DestinationDevice()].ordinal, 2u);
  EXPECT_EQ(op(9).copy_kind, trace::CopyKind::kPeerToPeer);
  EXPECT_EQ(t.devices[op(19).peer_device].ordinal, 3u);
  EXPECT_EQ(t.devices[op(19).SourceDevice()].ordinal, 3u);
  EXPECT_EQ(t.devices[op(19).DestinationDevice()].ordinal, 1u);
  EXPECT_EQ(op(30).copy_kind, trace::CopyKind::kUnknown);
  EXPECT_EQ(op(30).source_memory, trace::MemoryKind::kUnknown);
}

TEST(Ops, WithoutUsableTimesAreLeftOutAndCounted) {
  const Trace t = LoadText(R"(
kernel start_ns=0 duration_ns=5
kernel start_ns=10 duration_ns=18446744073709551615
memcpy start_ns=18446744073709551615 duration_ns=1
memset start_ns=10 duration_ns=0
)");
  EXPECT_EQ(t.health.bad_times, 3u);
  ASSERT_EQ(t.ops.size(), 1u);
  EXPECT_EQ(t.ops[0].kind, OpKind::kMemset);
  EXPECT_FALSE(t.health.IsComplete());
}

TEST(Ops, ThatStartBeforeTheirCallAreCounted) {
  const Trace t = LoadText(R"(
api start_ns=100 duration_ns=50 tid=1 correlation=1 function="cudaLaunchKernel"
api start_ns=200 duration_ns=50 tid=1 correlation=2 function="cudaLaunchKernel"
api start_ns=300 duration_ns=50 tid=1 correlation=3 function="cudaLaunchKernel"
kernel start_ns=90 duration_ns=5 correlation=1
kernel start_ns=170 duration_ns=5 correlation=2
kernel start_ns=300 duration_ns=5 correlation=3
)");
  EXPECT_EQ(t.health.early_ops, 2u);
  EXPECT_EQ(t.health.worst_early_ns, 30);
}

TEST(Ops, LaunchedByTheDeviceMissNoCall) {
  const Trace t = LoadText("kernel start_ns=9 duration_ns=5 is_device_launched=1\nkernel start_ns=20 duration_ns=5\n");
  EXPECT_EQ(t.health.unmatched_ops, 1u);
}

TEST(Ops, FindShapesThatAreDefinedLater) {
  std::vector<std::string> chunks =
      SplitChunks(AssembleTrace("kernel start_ns=9 shape=#4\nkernel_shape id=4 grid_x=7\n"));
  const Trace t = LoadTraceFromMemory(Join(chunks), "t");
  ASSERT_NE(t.ops[0].shape, kNone);
  EXPECT_EQ(t.shapes[t.ops[0].shape].grid_x, 7u);
  EXPECT_EQ(LoadText("kernel start_ns=9 shape=#4\n").ops[0].shape, kNone);
}

TEST(Devices, OfSeveralProcessesAreOneWhenTheirUuidIs) {
  const Trace t = LoadText(R"(
chunk pid=1
device device=0 name="H200" uuid="GPU-b" pcie_bus=20
device device=1 name="H200" uuid="GPU-a" pcie_bus=10
kernel start_ns=100 duration_ns=5 device=1
chunk pid=2
device device=0 name="H200" uuid="GPU-a" pcie_bus=10
kernel start_ns=200 duration_ns=5 device=0
)");
  ASSERT_EQ(t.devices.size(), 2u);
  EXPECT_EQ(t.ops[0].device, t.ops[1].device);
  EXPECT_EQ(t.Text(t.devices[t.ops[0].device].uuid), "GPU-a");
  EXPECT_EQ(t.devices[0].ordinal, 0u);
  EXPECT_EQ(t.devices[1].ordinal, 1u);
}

TEST(Devices, ThatEveryRankCallsZeroAreNumberedByTheirPlaceOnTheBus) {
  const std::string text[] = {
      "chunk pid=1\ndevice device=0 uuid=\"GPU-x\" pcie_bus=30\nkernel start_ns=100 duration_ns=5\n",
      "chunk pid=2\ndevice device=0 uuid=\"GPU-y\" pcie_bus=10\nkernel start_ns=100 duration_ns=5\n",
      "chunk pid=3\ndevice device=0 uuid=\"GPU-z\" pcie_bus=20\nkernel start_ns=100 duration_ns=5\n"};
  for (const auto& order : {std::array{0, 1, 2}, std::array{2, 1, 0}, std::array{1, 2, 0}}) {
    std::string all;
    for (const int i : order) all += text[i];
    const Trace t = LoadText(all);
    std::vector<std::pair<uint32_t, std::string_view>> devices;
    for (const Device& d : t.devices) devices.emplace_back(d.ordinal, t.Text(d.uuid));
    EXPECT_THAT(devices, testing::ElementsAre(std::pair(0, "GPU-y"), std::pair(1, "GPU-z"), std::pair(2, "GPU-x")));
  }
}

TEST(Devices, KeepTheNumberThatTheProcessUses) {
  const Trace t = LoadText("device device=3 uuid=\"GPU-a\"\nkernel start_ns=1 device=3\nkernel start_ns=1 device=5\n");
  ASSERT_EQ(t.devices.size(), 2u);
  EXPECT_EQ(t.devices[0].ordinal, 3u);
  EXPECT_EQ(t.devices[1].ordinal, 5u);
  EXPECT_EQ(t.ops[1].device, 1u);
}

TEST(Devices, WithoutADescriptionAreTheOneThatOthersCallTheSame) {
  const Trace t = LoadText(R"(
chunk pid=1
device device=0 uuid="GPU-a"
kernel start_ns=100 duration_ns=5
chunk pid=2
kernel start_ns=200 duration_ns=5
)");
  EXPECT_EQ(t.devices.size(), 1u);
  EXPECT_EQ(t.Text(t.devices[0].uuid), "GPU-a");
}

TEST(Devices, OfJitAndMemoryRecordsAreFoundButNotMade) {
  const Trace t = LoadText(R"(
device device=2 uuid="GPU-a"
jit start_ns=5 duration_ns=5 device=2 tid=4 entry_kind=1 operation=3
jit start_ns=3 duration_ns=5 device=9
memory time_ns=9 device=2
overhead start_ns=8 duration_ns=4 overhead_kind=65536 tid=4
overhead start_ns=7 duration_ns=4
)");
  EXPECT_EQ(t.devices.size(), 1u);
  EXPECT_EQ(t.jits[0].device, kNone);
  EXPECT_EQ(t.jits[0].thread, kNone);
  EXPECT_EQ(t.jits[1].device, 0u);
  EXPECT_EQ(t.threads[t.jits[1].thread].tid, 4u);
  EXPECT_EQ(t.memory_events[0].device, 0u);
  EXPECT_EQ(t.overheads[0].thread, kNone);
  EXPECT_EQ(t.overheads[1].kind, 65536u);
  EXPECT_EQ(t.overheads[1].end_ns, 12);
}

const Stream& StreamOf(const Trace& t, uint32_t id) {
  for (const Stream& s : t.streams) {
    if (s.id == id) return s;
  }
  ADD_FAILURE() << "no stream " << id;
  return t.streams.front();
}

TEST(Streams, AreDefaultCreatedOrSeenOnly) {
  const Trace t = LoadText(R"(
device device=1 uuid="GPU-a"
context context=1 device=1 null_stream=7
stream created_ns=50 context=1 stream=13 priority=-5 is_non_blocking=1 handle=4096
kernel start_ns=100 duration_ns=5 device=1 context=1 stream=20
)");
  ASSERT_EQ(t.streams.size(), 3u);
  EXPECT_TRUE(StreamOf(t, 7).is_default);
  EXPECT_FALSE(StreamOf(t, 7).is_created);
  EXPECT_EQ(StreamOf(t, 7).device, 0u);
  EXPECT_TRUE(StreamOf(t, 13).is_created);
  EXPECT_TRUE(StreamOf(t, 13).is_non_blocking);
  EXPECT_EQ(StreamOf(t, 13).priority, -5);
  EXPECT_EQ(StreamOf(t, 13).created_ns, 50);
  EXPECT_EQ(StreamOf(t, 13).device, 0u);
  EXPECT_FALSE(StreamOf(t, 20).is_created || StreamOf(t, 20).is_default);
  EXPECT_EQ(StreamOf(t, 20).device, 0u);
  ASSERT_EQ(t.contexts.size(), 1u);
  EXPECT_EQ(t.contexts[0].null_stream, 7u);
}

TEST(Streams, TakeTheNamesOfTheirHandle) {
  const Trace t = LoadText(R"(
context context=1 null_stream=7
stream created_ns=50 context=1 stream=13 handle=4096
stream created_ns=60 context=1 stream=14 handle=8192
stream created_ns=500 context=1 stream=15 handle=4096
nvtx_name time_ns=70 object=4 handle=4096 name="copies"
nvtx_name time_ns=80 object=4 handle=4096 name="copies"
nvtx_name time_ns=90 object=4 handle=4096 name="more copies"
nvtx_name time_ns=600 object=4 handle=4096 name="late"
nvtx_name time_ns=5 object=4 handle=8192 name="early"
nvtx_name time_ns=5 object=4 handle=1 name="default"
nvtx_name time_ns=5 object=4 handle=777 name="nobody"
nvtx_name time_ns=5 object=3 handle=4096 name="a context"
)");
  EXPECT_EQ(t.Text(StreamOf(t, 13).name), "more copies");
  EXPECT_EQ(StreamOf(t, 13).names_given, 2u);
  EXPECT_EQ(t.Text(StreamOf(t, 15).name), "late");
  EXPECT_EQ(StreamOf(t, 15).names_given, 1u);
  EXPECT_EQ(t.Text(StreamOf(t, 14).name), "early");
  EXPECT_EQ(t.Text(StreamOf(t, 7).name), "default");
}

TEST(Streams, OfTwoProcessesWithOneHandleStayApart) {
  const Trace t = LoadText(R"(
chunk pid=1
stream context=1 stream=13 handle=4096
chunk pid=2
stream context=1 stream=13 handle=4096
nvtx_name time_ns=70 object=4 handle=4096 name="second"
)");
  ASSERT_EQ(t.streams.size(), 2u);
  EXPECT_EQ(t.streams[0].names_given, 0u);
  EXPECT_EQ(t.Text(t.streams[1].name), "second");
}

TEST(Threads, PreferTheirNvtxName) {
  const Trace t = LoadText(R"(
thread tid=1 name="app"
thread tid=2 name="worker"
nvtx_name time_ns=5 object=1 handle=2 name="loader"
nvtx_name time_ns=3 object=1 handle=2 name="older"
nvtx_name time_ns=3 object=1 handle=99 name="nobody"
)");
  ASSERT_EQ(t.threads.size(), 2u);
  EXPECT_EQ(t.Text(t.threads[0].name), "app");
  EXPECT_EQ(t.Text(t.threads[1].name), "loader");
}

TEST(Processes, SayWhatIsKnownOfThem) {
  const Trace t = LoadText(R"(
chunk pid=4 image=2
process start_ns=100 pid=4 parent_pid=3 name="app" command_line="app -v" host="box" tracer_version="0.2" is_forked=1
process start_ns=100 pid=4 driver_version=13000 cupti_version=130001 cupti_path="/lib/libcupti.so"
kernel start_ns=200 duration_ns=800
end time_ns=900 reason=1
chunk pid=5
api start_ns=50 duration_ns=10 tid=9 function="cudaFree"
)");
  ASSERT_EQ(t.processes.size(), 2u);
  const Process& p = t.processes[0];
  EXPECT_EQ(p.pid, 4u);
  EXPECT_EQ(p.parent_pid, 3u);
  EXPECT_EQ(p.image, 2u);
  EXPECT_EQ(p.start_ns, 100);
  EXPECT_EQ(p.end_ns, 1000);
  EXPECT_EQ(t.Text(p.name), "app");
  EXPECT_EQ(t.Text(p.command_line), "app -v");
  EXPECT_EQ(t.Text(p.cupti_path), "/lib/libcupti.so");
  EXPECT_EQ(p.driver_version, 13000u);
  EXPECT_TRUE(p.is_forked);
  EXPECT_TRUE(p.has_end);
  EXPECT_EQ(t.processes[1].pid, 5u);
  EXPECT_EQ(t.processes[1].start_ns, 50);
  EXPECT_FALSE(t.processes[1].has_end);
  EXPECT_EQ(t.health.unfinished_processes, 1u);
  EXPECT_EQ(t.start_ns, 50);
  EXPECT_EQ(t.end_ns, 1000);
}

TEST(Names, AreOneForEachText) {
  const Trace t = LoadText(R"(
chunk pid=1
kernel start_ns=1 name="k"
kernel start_ns=2 name="other"
chunk pid=2
kernel start_ns=3 name="k"
)");
  EXPECT_EQ(t.ops[0].name, t.ops[2].name);
  EXPECT_NE(t.ops[0].name, t.ops[1].name);
  EXPECT_EQ(t.strings[0], "");
}

TEST(Names, WithoutTextAreShownByTheirNumberAndCounted) {
  const Trace t = LoadText("kernel start_ns=1 name=#12\nkernel start_ns=2 name=#12\nkernel start_ns=3 name=#13\n");
  EXPECT_EQ(t.Text(t.ops[0].name), "<name #12>");
  EXPECT_EQ(t.ops[0].name, t.ops[1].name);
  EXPECT_EQ(t.Text(t.ops[2].name), "<name #13>");
  EXPECT_EQ(t.health.missing_strings, 2u);
}

TEST(Names, DefinedAfterTheirUseAreFound) {
  const Trace t = LoadText(R"(
kernel start_ns=1 name=#12
kernel start_ns=2 name="late"
api start_ns=1 tid=1 function=#12
string id=12 text="late"
)");
  EXPECT_EQ(t.Text(t.ops[0].name), "late");
  EXPECT_EQ(t.ops[0].name, t.ops[1].name);
  EXPECT_EQ(t.api_calls[0].function, t.ops[0].name);
  EXPECT_EQ(t.health.missing_strings, 0u);
}

TEST(Health, SumsLossAndKeepsNotices) {
  const Trace t = LoadText(R"(
loss time_ns=5 reason=3 lost_kind=10 count=40
loss time_ns=6 reason=1 count=18446744073709551615
notice time_ns=7 level=2 message="no driver"
notice time_ns=8 level=99 message="what"
notice time_ns=9 message="no level"
clock monotonic_ns=10 realtime_ns=20 tsc=30
)");
  EXPECT_EQ(t.health.lost_records, ~uint64_t{0});
  ASSERT_EQ(t.losses.size(), 2u);
  EXPECT_EQ(t.losses[0].reason, trace::LossReason::kCuptiDropped);
  EXPECT_EQ(t.losses[0].kind, 10u);
  ASSERT_EQ(t.notices.size(), 3u);
  EXPECT_EQ(t.notices[2].level, trace::NoticeLevel::kInfo);
  EXPECT_EQ(t.notices[0].level, trace::NoticeLevel::kWarning);
  EXPECT_EQ(t.notices[1].level, trace::NoticeLevel::kError);
  EXPECT_EQ(t.Text(t.notices[0].message), "no driver");
  ASSERT_EQ(t.clocks.size(), 1u);
  EXPECT_EQ(t.clocks[0].anchor.realtime_ns, 20u);
}

}  // namespace
}  // namespace gprof
