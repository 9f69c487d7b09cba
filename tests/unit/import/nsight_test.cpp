// What becomes of the tables of Nsight Systems, in the generations that there are.
#include "import/nsight/nsight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "database.h"
#include "gprof/error.h"
#include "trace/reshape/merge.h"

namespace gprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kPid = "281483365318656", kTid = "281483365319156";

// $P and $T stand for the process and its first thread.
std::string Sql(std::string text) {
  for (const auto& [name, value] : {std::pair{"$P", kPid}, std::pair{"$T", kTid}}) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
      text.replace(at, 2, value);
    }
  }
  return text;
}

Trace Read(const std::string& sql) {
  const TestDatabase database(sql);
  return ReadNsight(database.path());
}

std::string New(const std::string& more = "") {
  return std::string(NewSchema()) + std::string(SmallCapture()) + Sql(more);
}

std::vector<std::string> Notices(const Trace& trace) {
  std::vector<std::string> texts;
  for (const Notice& notice : trace.notices) texts.emplace_back(trace.Text(notice.message));
  return texts;
}

void ExpectSmallCapture(const Trace& t) {
  ASSERT_EQ(t.ops.size(), 3u);
  EXPECT_EQ(t.ops[0].kind, OpKind::kMemcpy);
  EXPECT_EQ(t.ops[0].size_bytes, 4096u);
  EXPECT_EQ(t.ops[0].copy_kind, trace::CopyKind::kHostToDevice);
  EXPECT_TRUE(t.ops[0].is_async);
  EXPECT_EQ(t.ops[1].start_ns, 1700);
  EXPECT_EQ(t.ops[1].end_ns, 2700);
  EXPECT_EQ(t.Text(t.ops[1].name), "saxpy(float*, int)");
  EXPECT_EQ(t.shapes[t.ops[2].shape].grid_x, 32u);
  EXPECT_NE(t.ops[1].shape, t.ops[2].shape);
  ASSERT_EQ(t.api_calls.size(), 4u);
  EXPECT_EQ(t.Text(t.api_calls[1].function), "cudaLaunchKernel");
  EXPECT_EQ(t.api_calls[1].api_class, ApiClass::kLaunch);
  EXPECT_EQ(t.ops[1].api, 1u);
  ASSERT_EQ(t.threads.size(), 1u);
  EXPECT_EQ(t.threads[0].tid, 500u);
  ASSERT_EQ(t.processes.size(), 1u);
  EXPECT_EQ(t.processes[0].pid, 500u);
  ASSERT_EQ(t.ranges.size(), 2u);
  EXPECT_EQ(t.Text(t.ranges[1].path), "step/inner");
  EXPECT_EQ(t.api_calls[2].range, 1u);
  EXPECT_TRUE(t.health.IsComplete());
  EXPECT_EQ(t.health.unmatched_ops, 0u);
  EXPECT_EQ(t.start_ns, 900);
  EXPECT_EQ(t.end_ns, 4100);
}

TEST(Nsight, ReadsTheTablesOfToday) {
  const Trace t = Read(New());
  ExpectSmallCapture(t);
  EXPECT_EQ(t.recorder, "Nsight Systems 2026.2.1.210");
  EXPECT_EQ(t.Text(t.processes[0].host), "node7");
  EXPECT_EQ(t.processes[0].driver_version, 13000u);
  ASSERT_EQ(t.clocks.size(), 1u);
  EXPECT_EQ(t.clocks[0].anchor.realtime_ns - t.clocks[0].anchor.monotonic_ns, 1779630014975716426u);
}

TEST(Nsight, ReadsTheTablesOf2020) {
  const Trace t = Read(std::string(OldSchema()) + std::string(SmallCapture()));
  ExpectSmallCapture(t);
  EXPECT_EQ(t.recorder, "Nsight Systems 2020.3.1");
  EXPECT_TRUE(t.Lacks(Fact::kMemoryKinds));
  EXPECT_TRUE(t.Lacks(Fact::kSyncs));
  EXPECT_TRUE(t.Lacks(Fact::kDevices));
  EXPECT_FALSE(t.Lacks(Fact::kApiCalls));
  EXPECT_FALSE(t.Lacks(Fact::kNvtx));
}

TEST(Nsight, MemoryKindsAreOneLessThanThoseOfCupti) {
  const Trace t = Read(New(R"sql(
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes,
  copyKind, srcKind, dstKind) VALUES
  (5000, 5100, 0, 1, 7, 0, $P, 8, 1, 0, 2), (5200, 5300, 0, 1, 7, 0, $P, 8, 2, 2, 1), (5400, 5500, 0, 1, 7, 0, $P, 8, 8, 4, 7);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId, streamId, correlationId, globalPid, value,
  bytes, memKind) VALUES (6000, 6100, 0, 1, 7, 0, $P, 1, 64, 2);)sql"));
  ASSERT_EQ(t.ops.size(), 7u);
  EXPECT_EQ(t.ops[0].source_memory, trace::MemoryKind::kUnknown);  // NULL
  EXPECT_TRUE(t.ops[3].IsPageable());
  EXPECT_EQ(t.ops[3].destination_memory, trace::MemoryKind::kDevice);
  EXPECT_EQ(t.ops[4].destination_memory, trace::MemoryKind::kPinned);
  EXPECT_EQ(t.ops[5].source_memory, trace::MemoryKind::kManaged);
  EXPECT_EQ(t.ops[5].destination_memory, trace::MemoryKind::kUnknown);
  EXPECT_EQ(t.ops[6].destination_memory, trace::MemoryKind::kDevice);
  EXPECT_EQ(t.ops[6].size_bytes, 64u);
  EXPECT_FALSE(t.Lacks(Fact::kMemoryKinds));
}

TEST(Nsight, PeerCopiesAndMigrationsAreTellApart) {
  const Trace t = Read(New(R"sql(
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes,
  copyKind, srcKind, dstKind, srcDeviceId, dstDeviceId) VALUES (5000, 5100, 0, 1, 7, 0, $P, 8, 10, 2, 2, 0, 1),
  (5102, 5104, 0, 1, 7, 0, $P, 8, 10, 2, 2, 1, 0),
  (5200, 5300, 0, 1, 7, 0, $P, 4096, 11, 4, 4, NULL, NULL), (5400, 5500, 0, 1, 7, 0, $P, 100, 12, 4, 4, NULL, NULL);)sql"));
  ASSERT_EQ(t.devices.size(), 2u);
  const GpuOp& peer = t.ops[3];
  EXPECT_EQ(peer.kind, OpKind::kPeerCopy);
  EXPECT_EQ(peer.peer_device, 1u);
  EXPECT_FALSE(peer.is_from_peer);
  EXPECT_EQ(t.ops[4].peer_device, 1u);
  EXPECT_TRUE(t.ops[4].is_from_peer);
  EXPECT_EQ(t.ops.size(), 5u);
  ASSERT_EQ(t.managed_memory.size(), 2u);
  EXPECT_EQ(t.managed_memory[0].kind, trace::ManagedKind::kHostToDevice);
  EXPECT_EQ(t.managed_memory[0].value, 4096u);
  EXPECT_EQ(t.managed_memory[0].source, kNone);
  EXPECT_EQ(t.managed_memory[0].destination, 0u);
  EXPECT_EQ(t.managed_memory[1].kind, trace::ManagedKind::kDeviceToHost);
}

TEST(Nsight, KernelsHaveTheirMangledName) {
  const Trace t = Read(New(R"sql(
INSERT INTO StringIds VALUES (20, '_Z5saxpyPfi');
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET mangledName = 20, registersPerThread = 32, staticSharedMemory = 1024,
  dynamicSharedMemory = 2048, clusterX = 2, clusterY = 1, clusterZ = 1, graphNodeId = 77;)sql"));
  EXPECT_EQ(t.Text(t.ops[1].name), "_Z5saxpyPfi");
  EXPECT_EQ(t.ops[1].graph_node, 77u);
  const trace::KernelShapeRecord& shape = t.shapes[t.ops[1].shape];
  EXPECT_EQ(shape.registers_per_thread, 32u);
  EXPECT_EQ(shape.static_shared_bytes, 1024u);
  EXPECT_EQ(shape.dynamic_shared_bytes, 2048u);
  EXPECT_EQ(shape.cluster_x, 2u);
}

TEST(Nsight, SynchronisationIsOfTheThreadOfItsCall) {
  const Trace t = Read(New(R"sql(
INSERT INTO StringIds VALUES (21, 'cudaEventRecord_v3020');
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId) VALUES
  (1460, 1470, $T, 20, 21);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1500, 3990, 0, 1, 7, 13, $P, 3, 0),
  (1600, 1700, 0, 1, 4294967295, 99, $P, 2, 5);
INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 0, 1, 7, 20, $P, 5);)sql"));
  ASSERT_EQ(t.syncs.size(), 1u);
  EXPECT_EQ(t.syncs[0].thread, 0u);
  EXPECT_EQ(t.syncs[0].kind, trace::SyncKind::kStream);
  EXPECT_EQ(t.Text(t.api_calls[t.syncs[0].api].function), "cudaStreamSynchronize");
  EXPECT_EQ(t.streams[t.syncs[0].stream].id, 7u);
  ASSERT_EQ(t.event_records.size(), 1u);
  EXPECT_EQ(t.event_records[0].time_ns, 1460);
  EXPECT_EQ(t.event_records[0].event, 5u);
  EXPECT_THAT(Notices(t), testing::Contains(HasSubstr("1 record of synchronisation skipped")));
}

// Exports of 2022 to 2024 number what was waited for in a way of their own.
TEST(Nsight, TheFunctionSaysWhatWasWaitedFor) {
  const Trace t = Read(New(R"sql(
INSERT INTO StringIds VALUES (21, 'cudaThreadSynchronize_v3020'), (22, 'cudaEventSynchronize_v3020');
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId) VALUES
  (4100, 4200, $T, 30, 21), (4300, 4400, $T, 31, 22);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1500, 3990, 0, 1, 7, 13, $P, 1, 0),
  (4110, 4190, 0, 1, 0, 30, $P, 1, 0), (4310, 4390, 0, 1, 7, 31, $P, 3, 0);)sql"));
  ASSERT_EQ(t.syncs.size(), 3u);
  EXPECT_EQ(t.syncs[0].kind, trace::SyncKind::kStream);
  EXPECT_EQ(t.syncs[1].kind, trace::SyncKind::kContext);
  EXPECT_EQ(t.syncs[2].kind, trace::SyncKind::kEvent);
}

TEST(Nsight, DescribesDevicesContextsAndStreams) {
  const Trace t = Read(New(R"sql(
INSERT INTO TARGET_INFO_GPU VALUES (281474976710656, 0, 'GPU A', '0000:08:00.0', 1, 2, 3, 4000, 5, 'aa', 0, 6, 7, 8, 9, 32, 64, 16, 1024, 8, 6),
  (281474976710656, 6, 'GPU B', '0001:da:1f.0', 50, 80000000000, 3350000000000, 1980000000, 132, 'bb', 6, 65536, 49152, 233472, 65536, 32, 64, 32, 1024, 9, 0);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (6, 0, 500, NULL);
INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (7, 0, 1, 500, 0, 1), (7, 0, 1, 499, 0, 1);
INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (7, 0, 1, 500, 1, 4294967291, 2), (9, 0, 1, 500, 1, 0, 1);
INSERT INTO PROCESSES VALUES ($P, 500, 'train.py'), (281474993487872, 1, 'init');
INSERT INTO StringIds VALUES (30, 'thread'), (31, 'main loop'), (32, 'other');
INSERT INTO ThreadNames VALUES (30, 10, $T), (31, 20, $T), (32, 20, 281483365319157);)sql"));
  ASSERT_EQ(t.devices.size(), 1u);
  const Device& device = t.devices[0];
  EXPECT_EQ(t.Text(device.name), "GPU B");  // the process calls GPU 6 its 0
  EXPECT_EQ(t.Text(device.uuid), "GPU-bb");
  EXPECT_EQ(device.properties.sm_count, 132u);
  EXPECT_EQ(device.properties.sm_clock_khz, 1980000u);
  EXPECT_EQ(device.properties.max_threads_per_sm, 2048u);
  EXPECT_EQ(device.properties.pcie_domain, 1u);
  EXPECT_EQ(device.properties.pcie_bus, 0xDAu);
  EXPECT_EQ(device.properties.pcie_device, 0x1Fu);
  ASSERT_EQ(t.streams.size(), 1u);
  EXPECT_TRUE(t.streams[0].is_default);
  EXPECT_EQ(t.streams[0].priority, -5);
  EXPECT_EQ(t.contexts.size(), 1u);
  EXPECT_EQ(t.Text(t.processes[0].name), "train.py");
  ASSERT_EQ(t.threads.size(), 1u);
  EXPECT_EQ(t.Text(t.threads[0].name), "main loop");
  EXPECT_FALSE(t.Lacks(Fact::kDevices));
}

TEST(Nsight, ReadsNvtxOfEveryKind) {
  const Trace t = Read(New(R"sql(
INSERT INTO StringIds VALUES (40, 'registered');
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId, category, color, textId, uint64Value) VALUES
  (0, NULL, 75, 'NCCL', $T, 3, NULL, NULL, NULL, NULL), (0, NULL, 33, 'io', $T, 3, 9, NULL, NULL, NULL),
  (2000, 2100, 59, NULL, $T, 3, 9, 255, 40, 12), (2200, NULL, 34, 'mark', $T, 0, NULL, NULL, NULL, NULL),
  (2300, 2900, 60, 'across', $T, 0, NULL, NULL, NULL, NULL), (2950, NULL, 59, 'open', $T, 0, NULL, NULL, NULL, NULL),
  (1, 2, 98, 'a context', $T, 0, NULL, NULL, NULL, NULL);
UPDATE NVTX_EVENTS SET endGlobalTid = globalTid + 1 WHERE eventType = 60;
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, floatValue) VALUES (3000, 3001, 59, 'f', $T, 1.5);)sql"));
  const auto find = [&](std::string_view name) -> NvtxRange {
    for (const NvtxRange& range : t.ranges) {
      if (t.Text(range.name) == name) return range;
    }
    throw std::runtime_error("no range " + std::string(name));
  };
  const NvtxRange registered = find("registered");
  EXPECT_EQ(t.Text(registered.path), "NCCL/registered");
  EXPECT_EQ(registered.color, 255u);
  EXPECT_EQ(registered.payload, 12u);
  EXPECT_EQ(registered.payload_type, trace::PayloadType::kUnsigned64);
  EXPECT_EQ(find("f").payload_type, trace::PayloadType::kFloat);
  ASSERT_EQ(t.categories.size(), 1u);
  EXPECT_EQ(t.Text(t.categories[0].name), "io");
  ASSERT_EQ(t.marks.size(), 1u);
  EXPECT_EQ(t.marks[0].time_ns, 2200);
  const NvtxRange across = find("across");
  EXPECT_FALSE(across.is_push_pop);
  EXPECT_EQ(across.DurationNs(), 600);
  EXPECT_EQ(t.threads[across.end_thread].tid, 501u);
  EXPECT_TRUE(find("open").is_open);
  EXPECT_EQ(t.health.open_ranges, 1u);
  EXPECT_THAT(Notices(t), testing::Contains(HasSubstr("1 row of NVTX_EVENTS skipped")));
}

TEST(Nsight, ReadsAllocationsAndOverheads) {
  const Trace t = Read(New(R"sql(
INSERT INTO StringIds VALUES (50, 'cudaMallocAsync_v11020');
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId) VALUES (950, 990, $T, 5, 50);
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, contextId, address, bytes, memKind,
  memoryOperationType, correlationId, streamId, localMemoryPoolAddress) VALUES
  (960, $P, 0, 1, 65536, 1000, 2, 0, 5, 7, 4242), (3000, $P, 0, 1, 65536, 1000, 2, 1, 0, 7, 4242);
INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (1010, 1020, 103, $T, 10, 1, 7), (1030, 1040, 103, 12345678901, 1, 1, 3);)sql"));
  ASSERT_EQ(t.memory_events.size(), 2u);
  EXPECT_EQ(t.memory_events[0].operation, trace::MemoryOp::kAllocate);
  EXPECT_EQ(t.memory_events[1].operation, trace::MemoryOp::kFree);
  EXPECT_EQ(t.memory_events[0].memory, trace::MemoryKind::kDevice);
  EXPECT_EQ(t.memory_events[0].pool, 4242u);
  EXPECT_TRUE(t.memory_events[0].is_async);
  EXPECT_EQ(t.memory_events[0].device, 0u);
  ASSERT_EQ(t.overheads.size(), 1u);  // a process without CUDA is not of the program
  EXPECT_EQ(t.overheads[0].kind, 5u << 16);
}

TEST(Nsight, GraphsAreOperationsOrNodes) {
  const Trace whole = Read(New(R"sql(
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (5000, 6000, 0, 1, 7, 12, $P, 3);)sql"));
  EXPECT_EQ(whole.ops[3].kind, OpKind::kGraph);
  EXPECT_EQ(whole.ops[3].graph, 3u);
  EXPECT_TRUE(whole.Lacks(Fact::kGraphNodes));
  const Trace nodes = Read(New(R"sql(
INSERT INTO StringIds VALUES (60, 'Graph Node Creation'), (61, 'Graph Node Destruction');
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET graphNodeId = 8;
INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (910, 910, 0, $T, 60, 7, NULL), (920, 920, 0, $T, 60, 8, 7),
  (930, 930, 0, $T, 61, 8, NULL);)sql"));
  ASSERT_EQ(nodes.graph_nodes.size(), 2u);
  EXPECT_EQ(nodes.graph_nodes[nodes.ops[1].node].id, 7u);
  EXPECT_FALSE(nodes.Lacks(Fact::kGraphNodes));
}

TEST(Nsight, ProcessesAreToldApart) {
  const Trace t = Read(New(R"sql(
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId) VALUES
  (1000, 1100, 281483382096373, 11, 3);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid,
  demangledName) VALUES (1800, 1900, 1, 1, 7, 11, 281483382095872, 1);)sql"));
  ASSERT_EQ(t.processes.size(), 2u);
  EXPECT_EQ(t.processes[1].pid, 501u);
  const GpuOp& op = t.ops.back();
  EXPECT_EQ(op.process, 1u);
  EXPECT_EQ(t.api_calls[op.api].process, 1u);
  EXPECT_EQ(t.devices.size(), 2u);
}

TEST(Nsight, TimesBeforeTheSessionMoveEverything) {
  const Trace t = Read(New(R"sql(
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES (-1500, -500, 59, 'early', $T);)sql"));
  ASSERT_EQ(t.ranges.size(), 3u);
  EXPECT_EQ(t.ranges[0].start_ns, 1'000'000'000 - 1500);
  EXPECT_EQ(t.ranges[0].DurationNs(), 1000);
  EXPECT_EQ(t.ops[1].start_ns, 1'000'001'700);
  EXPECT_TRUE(t.health.IsComplete());
}

// Two ranks of one host, each under an nsys of its own: sessions that began within a second do not share a clock.
TEST(Nsight, SessionsAreBroughtToOneClockByTheTimeOfDay) {
  std::vector<Trace> traces;
  traces.push_back(Read(New()));
  traces.push_back(Read(New("UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = utcEpochNs + 250000000;")));
  const std::vector<ClockShift> shifts = ClockShifts(traces);
  EXPECT_EQ(shifts[1].ns, 250'000'000);
  EXPECT_TRUE(shifts[1].is_known);
}

TEST(Nsight, SaysWhatTheSourceLacks) {
  const Trace t = Read(R"sql(
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'k');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, shortName INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 1), (30, 40, 0, 7, 1);)sql");
  ASSERT_EQ(t.ops.size(), 2u);
  EXPECT_EQ(t.Text(t.ops[1].name), "k");
  for (const Fact fact : {Fact::kApiCalls, Fact::kNvtx, Fact::kDevices, Fact::kStreamsMade}) {
    EXPECT_TRUE(t.Lacks(fact)) << static_cast<int>(fact);
  }
  EXPECT_THAT(Notices(t), testing::Contains(HasSubstr("no CUDA calls")));
  EXPECT_EQ(t.health.unmatched_ops, 2u);
}

TEST(Nsight, StringsWithoutAnIndexAndOfLargeIdsAreFound) {
  const Trace t = Read(New(R"sql(
INSERT INTO StringIds VALUES (9000000000000, 'far');
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 9000000000000 WHERE start = 1700;
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 4711 WHERE start = 2800;)sql"));
  EXPECT_EQ(t.Text(t.ops[1].name), "far");
  EXPECT_EQ(t.Text(t.ops[2].name), "<name #4711>");
}

TEST(Nsight, WarningsOfTheToolAreKept) {
  const Trace t = Read(New(R"sql(
CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, timestampType INTEGER, source INTEGER, severity INTEGER, text TEXT, globalPid INTEGER);
INSERT INTO DIAGNOSTIC_EVENT VALUES (0, 1, 1, 3, 'CUDA buffers were dropped.', $P), (0, 1, 1, 1, 'CUDA started.', $P),
  (0, 1, 1, 2, 'No CUDA events collected.', $P);)sql"));
  EXPECT_THAT(Notices(t), testing::Contains("CUDA buffers were dropped."));
  EXPECT_THAT(Notices(t), testing::Not(testing::Contains(HasSubstr("started"))));
  EXPECT_THAT(Notices(t), testing::Not(testing::Contains(HasSubstr("No CUDA"))));
}

TEST(Nsight, StreamsHaveTheNamesOfNvtx) {
  const Trace t = Read(New(R"sql(
INSERT INTO NVTX_EVENTS (start, eventType, text, globalTid, uint64Value, uint32Value) VALUES
  (0, 99, 'compute', $T, 7, 1), (0, 99, 'nobody', $T, 99, 1);)sql"));
  ASSERT_EQ(t.streams.size(), 1u);
  EXPECT_EQ(t.Text(t.streams[0].name), "compute");
  EXPECT_EQ(t.streams[0].names_given, 1u);
  EXPECT_FALSE(t.streams[0].is_created);  // that is not known
  EXPECT_THAT(Notices(t), testing::Contains(HasSubstr("1 row of NVTX_EVENTS skipped")));
}

std::string PayloadText(const Trace& t, const NvtxPayload& payload) {
  std::string text;
  for (uint32_t i = payload.first_value; i < payload.last_value; ++i) {
    const PayloadValue& value = t.payload_values[i];
    text += std::string(t.Text(value.key)) + "=";
    text += value.is_integer ? std::to_string(value.integer) : "'" + std::string(t.Text(value.text)) + "'";
    text += ";";
  }
  return text;
}

TEST(Nsight, PayloadsOfNvtxAreReadFromJson) {
  const Trace t = Read(New(R"sql(
ALTER TABLE NVTX_EVENTS ADD COLUMN jsonText TEXT;
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId, jsonText) VALUES
  (2000, 2100, 59, 'ncclAllReduce', $T, 0, '{"comm": 18446744073709551615, "Message size [bytes]": 4096, "op": "Sum"}'),
  (2200, 2300, 60, 'start end', $T, 0, '{"a": {"b": -1, "c": 1.5}, "list": [1, 2], "t": true, "n": null}'),
  (2400, NULL, 34, 'mark', $T, 0, '{"x": "a \"quoted\" word", "y": 7}'),
  (2500, 2600, 59, 'broken', $T, 0, '{"k": 1, '), (2700, 2800, 59, 'none', $T, 0, '[]');)sql"));
  ASSERT_EQ(t.payloads.size(), 4u);
  EXPECT_EQ(PayloadText(t, t.payloads[0]), "comm='18446744073709551615';Message size [bytes]=4096;op='Sum';");
  EXPECT_EQ(t.Text(t.ranges[t.payloads[0].range].name), "ncclAllReduce");
  EXPECT_EQ(PayloadText(t, t.payloads[1]), "a.b=-1;a.c='1.5';list='[1, 2]';t='true';");
  EXPECT_EQ(t.Text(t.ranges[t.payloads[1].range].name), "start end");
  EXPECT_EQ(PayloadText(t, t.payloads[2]), "x='a \"quoted\" word';y=7;");
  EXPECT_EQ(t.Text(t.marks[t.payloads[2].mark].name), "mark");
  EXPECT_EQ(PayloadText(t, t.payloads[3]), "k=1;");
}

TEST(Nsight, MemoryPoolsJustInTimeCompilationAndRanksAreRead) {
  const Trace t = Read(New(R"sql(
CREATE TABLE CUDA_GPU_MEMORY_POOL_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER, address INTEGER,
  operationType INTEGER, poolType INTEGER, correlationId INTEGER, minBytesToKeep INTEGER,
  localMemoryPoolReleaseThreshold INTEGER, localMemoryPoolSize INTEGER, localMemoryPoolUtilizedSize INTEGER);
INSERT INTO CUDA_GPU_MEMORY_POOL_EVENTS VALUES (1010, $P, 0, 4242, 3, 2, 11, 1, 2, 3, 4);
CREATE TABLE CUPTI_ACTIVITY_KIND_JIT (start INTEGER, end INTEGER, globalTid INTEGER, jitEntryType INTEGER,
  jitOperationType INTEGER, deviceId INTEGER, cacheSize INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_JIT VALUES (1020, 1025, $T, 1, 3, 0, 512);
CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER);
INSERT INTO MPI_RANKS VALUES ($T, 5);)sql"));
  ASSERT_EQ(t.memory_pools.size(), 1u);
  EXPECT_EQ(t.memory_pools[0].operation, trace::PoolOp::kTrim);
  EXPECT_TRUE(t.memory_pools[0].is_imported);
  EXPECT_EQ(t.memory_pools[0].keep_bytes, 1u);
  EXPECT_EQ(t.memory_pools[0].release_threshold_bytes, 2u);
  EXPECT_EQ(t.memory_pools[0].size_bytes, 3u);
  EXPECT_EQ(t.memory_pools[0].used_bytes, 4u);
  ASSERT_EQ(t.jits.size(), 1u);
  EXPECT_EQ(t.jits[0].cache_bytes, 512u);
  EXPECT_EQ(t.processes[0].rank, 5);
  EXPECT_EQ(t.Text(t.processes[0].rank_source), "MPI");
}

// cuMemAlloc_v2 is a function of its own, and so is what has fewer digits than a version of CUDA.
TEST(Nsight, FunctionsOfTheRuntimeHaveNoVersion) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"cudaGraphLaunch_v10000", "cudaGraphLaunch"},
      {"cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel_ptsz"},
      {"cuMemAlloc_v2", "cuMemAlloc_v2"},
      {"cudaThing_v2", "cudaThing_v2"},
      {"cudaThing_v30x0", "cudaThing_v30x0"},
      {"_v3020", "_v3020"}};
  for (const auto& [written, read] : kNames) {
    const Trace t = Read(New("INSERT INTO StringIds VALUES (70, '" + std::string(written) +
                             "'); UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = 70 WHERE correlationId = 11;"));
    EXPECT_EQ(t.Text(t.api_calls[1].function), read);
  }
}

TEST(Nsight, SaysWhichTablesWereNotRead) {
  const Trace t = Read(New(R"sql(
CREATE TABLE SCHED_EVENTS (start INTEGER, end INTEGER);
INSERT INTO SCHED_EVENTS VALUES (1, 2), (3, 4), (5, 6);
CREATE TABLE COMPOSITE_EVENTS (start INTEGER);
INSERT INTO COMPOSITE_EVENTS VALUES (1);
CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER);
INSERT INTO SAMPLING_CALLCHAINS VALUES (1);
CREATE TABLE GPU_METRICS (timestamp INTEGER);)sql"));
  EXPECT_THAT(Notices(t), testing::Contains("Skipped: SCHED_EVENTS (3 rows), COMPOSITE_EVENTS (1 row)"));
  EXPECT_TRUE(t.health.IsComplete());
}

constexpr std::string_view kGpuMetrics = R"sql(
CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, sourceId INTEGER, typeName TEXT, metricId INTEGER, metricName TEXT);
INSERT INTO TARGET_INFO_GPU_METRICS VALUES (256, 0, 'GPU Metrics', 9, 'GPC Clock Frequency [MHz]'),
  (256, 0, 'GPU Metrics', 12, 'SMs Active [Throughput %]');
CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER, value);
)sql";

TEST(Nsight, SamplesOfGpusAreCounterTracks) {
  const Trace t = Read(New(std::string(kGpuMetrics) + R"sql(
INSERT INTO GPU_METRICS VALUES (-50, 256, 12, 99), (1000, 256, 9, 1755000000), (1000, 256, 12, 10),
  (1100, 256, 9, 1980000000), (1100, 256, 12, 20), (1200, 256, 12, 30), (2000, 256, 12, 40), (2100, 256, 12, 'x');)sql"));
  ASSERT_EQ(t.metric_sources.size(), 2u);
  const MetricSource &clock = t.metric_sources[0], &active = t.metric_sources[1];
  EXPECT_EQ(t.Text(active.name), "SMs Active");
  EXPECT_EQ(t.Text(active.unit), "%");
  EXPECT_EQ(active.scope, trace::MetricScope::kDevice);
  EXPECT_EQ(active.device, 0u);
  EXPECT_EQ(active.period_ns, 100);
  EXPECT_EQ(t.Text(clock.unit), "MHz");
  ASSERT_EQ(t.SamplesOf(0).size(), 2u);
  EXPECT_EQ(ScaledValue(clock, t.SamplesOf(0)[1].value), 1980);
  const auto samples = t.SamplesOf(1);  // what was before the session is left out
  ASSERT_EQ(samples.size(), 4u);
  EXPECT_EQ(samples[1].value, 20);
  EXPECT_EQ(samples[1].start_ns, samples[0].end_ns);
  EXPECT_EQ(samples[1].end_ns - samples[1].start_ns, 100);
  EXPECT_EQ(samples[3].end_ns - samples[3].start_ns, 100);  // not of the time without samples before it
  ASSERT_EQ(t.metric_losses.size(), 1u);
  EXPECT_EQ(t.metric_losses[0].source, 1u);
  EXPECT_EQ(t.metric_losses[0].end_ns - t.metric_losses[0].start_ns, 700);
  EXPECT_EQ(t.end_ns, 4100);  // samples belong to no process
  EXPECT_THAT(Notices(t), testing::Contains(HasSubstr("1 row of the export skipped: values of the wrong type")));
}

TEST(Nsight, CallsOfTheOperatingSystemAreThoseOfTheProgram) {
  const Trace t = Read(New(R"sql(
CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER,
  nestingLevel INTEGER, callchainId INTEGER, argumentsId INTEGER);
INSERT INTO StringIds VALUES (70, 'pthread_mutex_lock'), (71, 'poll');
INSERT INTO OSRT_API VALUES (1500, 1600, 27, $T, 70, 3, 0, 0, 0), (1700, 1800, 27, $T, 71, 0, 0, 0, 0),
  (1, 1, 31, $T, 70, 0, 0, 0, 0), (1500, 1600, 27, 99, 70, 0, 0, 0, 0);)sql"));
  ASSERT_EQ(t.os_calls.size(), 2u);
  EXPECT_EQ(t.Text(t.os_calls[0].function), "pthread_mutex_lock");
  EXPECT_EQ(t.os_calls[0].object_kind, trace::OsObject::kMutex);
  EXPECT_EQ(t.os_calls[0].result, 3);
  EXPECT_EQ(t.threads[t.os_calls[0].thread].tid, 500u);
  EXPECT_EQ(t.os_calls[1].object_kind, trace::OsObject::kPoll);
  EXPECT_EQ(t.start_ns, 900);
}

TEST(Nsight, CallsOfMpiAreReadFromTheirTables) {
  const Trace t = Read(New(R"sql(
CREATE TABLE MPI_P2P_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER, commHandle INTEGER, tag INTEGER,
  remoteRank INTEGER, size INTEGER, requestHandle INTEGER);
CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER, commHandle INTEGER,
  rootRank INTEGER, size INTEGER, recvSize INTEGER);
CREATE TABLE MPI_START_WAIT_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER, requestHandle INTEGER);
INSERT INTO StringIds VALUES (70, 'MPI_Send'), (71, 'MPI_Recv'), (72, 'MPI_Bcast'), (73, 'MPI_Wait');
INSERT INTO MPI_P2P_EVENTS VALUES (1500, 1600, $T, 70, 1, 7, 3, 4096, NULL), (1700, 1800, $T, 71, 1, 8, 2, 512, NULL);
INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (1900, 2000, $T, 72, 1, 0, 64, 64);
INSERT INTO MPI_START_WAIT_EVENTS VALUES (2100, 2150, $T, 73, 9);)sql"));
  ASSERT_EQ(t.mpi_calls.size(), 4u);
  const MpiCall &send = t.mpi_calls[0], &receive = t.mpi_calls[1], &broadcast = t.mpi_calls[2], &wait = t.mpi_calls[3];
  EXPECT_EQ(t.Text(send.function), "MPI_Send");
  EXPECT_EQ(std::tuple(send.sent_bytes, send.received_bytes, send.peer, send.tag), std::tuple(4096, 0, 3, 7));
  EXPECT_EQ(std::tuple(receive.sent_bytes, receive.received_bytes, receive.peer), std::tuple(0, 512, 2));
  EXPECT_EQ(std::tuple(broadcast.sent_bytes, broadcast.received_bytes, broadcast.peer), std::tuple(64, 64, 0));
  EXPECT_EQ(std::tuple(wait.sent_bytes, wait.peer, wait.tag, wait.DurationNs()), std::tuple(0, -1, -1, 50));
  EXPECT_EQ(t.threads[send.thread].tid, 500u);
  EXPECT_FALSE(t.Lacks(Fact::kMpiCalls));
}

TEST(Nsight, CallsAreOfTheRuntimeWhereTheExportSaysSo) {
  const Trace t = Read(New(R"sql(
INSERT INTO StringIds VALUES (70, 'hipLaunchKernel');
UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = 70, eventClass = 0 WHERE correlationId = 11;
UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = 70, eventClass = 1 WHERE correlationId = 12;)sql"));
  EXPECT_EQ(t.api_calls[1].domain, trace::ApiDomain::kRuntime);
  EXPECT_EQ(t.api_calls[2].domain, trace::ApiDomain::kDriver);
}

}  // namespace
}  // namespace gprof
