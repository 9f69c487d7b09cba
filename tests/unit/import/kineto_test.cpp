// What becomes of the events of torch.profiler and other writers of Trace Event JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "kineto_capture.h"

namespace gprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

Trace ReadCapture() { return ReadKineto(Document(kCapture, kMembers), "test.json"); }

std::optional<GpuOp> FindOp(const Trace& t, OpKind kind) {
  const auto at = std::find_if(t.ops.begin(), t.ops.end(), [&](const GpuOp& op) { return op.kind == kind; });
  return at == t.ops.end() ? std::nullopt : std::optional(*at);
}

std::vector<std::string> PathsOf(const Trace& t) {
  std::vector<std::string> paths;
  for (const NvtxRange& range : t.ranges) paths.emplace_back(t.Text(range.path));
  return paths;
}

std::vector<std::string> NoticesOf(const Trace& t) {
  std::vector<std::string> notices;
  for (const Notice& notice : t.notices) notices.emplace_back(t.Text(notice.message));
  return notices;
}

TEST(Kineto, IsToldByItsBeginning) {
  EXPECT_TRUE(IsKineto(Document(kCapture, kMembers)));
  EXPECT_TRUE(IsKineto("\xEF\xBB\xBF [{\"ph\": \"M\"}"));
  // Ranks of many process groups come first.
  const std::string before = R"("distributedInfo": {"ranks": [)" + std::string(200 << 10, ' ') + "]}, ";
  EXPECT_TRUE(IsKineto(Document("", before)));
  EXPECT_FALSE(IsKineto(R"({"schema": "gprof.budget/1"})"));
  EXPECT_FALSE(IsKineto("[1, 2]"));
  EXPECT_FALSE(IsKineto("traceEvents: {\"traceEvents\": []}"));
  EXPECT_FALSE(IsKineto("\x1F\x8B no gzip"));
  EXPECT_FALSE(IsKineto(""));
}

TEST(Kineto, KernelsHaveAllThatTheirArgumentsSay) {
  const Trace t = ReadCapture();
  const std::optional<GpuOp> kernel = FindOp(t, OpKind::kKernel);
  ASSERT_TRUE(kernel);
  EXPECT_EQ(t.Text(kernel->name), "void add<float>(float*, \"x\")");
  EXPECT_EQ(kernel->start_ns, 5000040003);
  EXPECT_EQ(kernel->DurationNs(), 100004);
  EXPECT_EQ(kernel->graph, 5u);
  EXPECT_EQ(kernel->graph_node, 21474836481u);
  const Stream& stream = t.streams[kernel->stream];
  EXPECT_EQ(stream.context, 1u);
  EXPECT_EQ(stream.id, 7u);
  const trace::KernelShapeRecord& shape = t.shapes[kernel->shape];
  EXPECT_EQ(shape.grid_x * 10000 + shape.grid_y * 100 + shape.grid_z, 1410203u);
  EXPECT_EQ(shape.block_x * 10000 + shape.block_y * 100 + shape.block_z, 1280401u);
  EXPECT_EQ(shape.registers_per_thread, 24u);
  EXPECT_EQ(shape.static_shared_bytes + shape.dynamic_shared_bytes, 1024u);
  ASSERT_NE(kernel->api, kNone);
  EXPECT_EQ(t.Text(t.api_calls[kernel->api].function), "cudaLaunchKernel");
}

TEST(Kineto, OperatorsHaveTheSizesAndTypesOfTheirInputs) {
  const Trace t = ReadEvents(R"json(
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 4, "tid": 4, "ts": 10, "dur": 5, "args": {"External id": 2,
 "Concrete Inputs": ["", ""], "Input type": ["float", "float"], "Input Dims": [[2, 5],
 [5, 8]]}},
{"ph": "X", "cat": "cpu_op", "name": "aten::convolution", "pid": 4, "tid": 4, "ts": 20, "dur": 5, "args": {
 "Concrete Inputs": ["", "[2,2]", "False"], "Input type": ["float"], "Input Dims": [[1, 3], [], []]}},
{"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 4, "tid": 4, "ts": 30, "dur": 5, "args": {"Input Dims": []}})json");
  ASSERT_EQ(t.ranges.size(), 3u);
  EXPECT_EQ(t.Text(t.ranges[0].name), "aten::mm, sizes = [[2, 5], [5, 8]], types = [float, float]");
  EXPECT_EQ(t.Text(t.ranges[1].name),
            "aten::convolution, sizes = [[1, 3], [], []], types = [float], inputs = [, [2, 2], False]");
  EXPECT_EQ(t.Text(t.ranges[2].name), "aten::relu");
  EXPECT_THAT(PathsOf(t), ElementsAre(HasSubstr("aten::mm"), HasSubstr("aten::convolution"), HasSubstr("aten::relu")));
  EXPECT_EQ(PathsOf(t)[0].find("sizes"), std::string::npos);
}

TEST(Kineto, CopiesAndFillsHaveTheirMemory) {
  const Trace t = ReadCapture();
  const std::optional<GpuOp> copy = FindOp(t, OpKind::kMemcpy);
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->copy_kind, trace::CopyKind::kHostToDevice);
  EXPECT_TRUE(copy->IsPageable());
  EXPECT_TRUE(copy->is_async);
  EXPECT_EQ(copy->size_bytes, 4096u);
  EXPECT_EQ(copy->start_ns, 5000210500);
  const std::optional<GpuOp> fill = FindOp(t, OpKind::kMemset);
  ASSERT_TRUE(fill);
  EXPECT_EQ(fill->size_bytes, 512u);
  EXPECT_EQ(fill->destination_memory, trace::MemoryKind::kDevice);
  EXPECT_FALSE(fill->is_async);
  EXPECT_EQ(t.api_calls[fill->api].domain, trace::ApiDomain::kDriver);  // the call came later in the file
}

TEST(Kineto, RangesSayWhereTheyComeFrom) {
  const Trace t = ReadCapture();
  EXPECT_THAT(PathsOf(t), UnorderedElementsAre("user_annotation/ProfilerStep#*", HasSubstr("aten::add")));
  EXPECT_EQ(t.ranges[0].DurationNs(), 900500);
  ASSERT_EQ(t.domains.size(), 2u);
  const ApiCall& launch = t.api_calls[FindOp(t, OpKind::kKernel)->api];
  ASSERT_NE(launch.range, kNone);
  EXPECT_EQ(t.Text(t.ranges[launch.range].name), "aten::add");
}

TEST(Kineto, WaitsKnowTheirCallAndWhatTheyWaitedFor) {
  const Trace t = ReadCapture();
  ASSERT_EQ(t.syncs.size(), 2u);
  EXPECT_EQ(t.syncs[0].kind, trace::SyncKind::kStreamWaitEvent);
  EXPECT_EQ(t.syncs[0].event, 19u);
  EXPECT_EQ(t.streams[t.syncs[0].stream].id, 20u);
  EXPECT_EQ(t.syncs[1].kind, trace::SyncKind::kContext);
  EXPECT_EQ(t.syncs[1].DurationNs(), 598000);
  EXPECT_EQ(t.threads[t.syncs[1].thread].tid, 4000u);
  ASSERT_EQ(t.event_records.size(), 1u);
  EXPECT_EQ(t.event_records[0].event, 19u);
  EXPECT_EQ(t.event_records[0].time_ns, 5000241000);
  EXPECT_EQ(t.streams[t.event_records[0].stream].id, 7u);
  ASSERT_EQ(t.overheads.size(), 1u);
  EXPECT_EQ(t.overheads[0].kind, 7u << 16);
}

TEST(Kineto, KnowsProcessThreadsDevicesAndRank) {
  const Trace t = ReadCapture();
  ASSERT_EQ(t.processes.size(), 1u);
  const Process& p = t.processes[0];
  EXPECT_EQ(p.pid, 4000u);
  EXPECT_EQ(t.Text(p.name), "python3");
  EXPECT_EQ(p.rank, 3);
  EXPECT_EQ(p.world_size, 8u);
  EXPECT_EQ(p.driver_version, 12090u);
  ASSERT_EQ(t.threads.size(), 2u);
  EXPECT_TRUE(std::any_of(t.threads.begin(), t.threads.end(),
                          [&](const Thread& thread) { return thread.tid == 4001 && t.Text(thread.name) == "loader"; }));
  ASSERT_EQ(t.devices.size(), 1u);  // that of which there is something
  EXPECT_EQ(t.Text(t.devices[0].name), "NVIDIA H100");
  EXPECT_EQ(t.devices[0].properties.compute_major, 9u);
  EXPECT_EQ(t.devices[0].properties.sm_count, 132u);
  EXPECT_EQ(t.devices[0].properties.max_shared_bytes_per_block, 232448u);
  EXPECT_EQ(t.recorder, "torch.profiler");
  ASSERT_EQ(t.clocks.size(), 1u);
  EXPECT_EQ(t.clocks[0].anchor.realtime_ns, 1751410836000000000u + 5000000000u);
  EXPECT_TRUE(t.health.IsComplete());
}

TEST(Kineto, WhatTheFileDoesNotTellIsSaid) {
  const Trace t = ReadCapture();
  for (const Fact fact : {Fact::kStreamsMade, Fact::kMemory}) EXPECT_TRUE(t.Lacks(fact));
  for (const Fact fact : {Fact::kApiCalls, Fact::kMemoryKinds, Fact::kSyncs, Fact::kEvents, Fact::kNvtx, Fact::kShapes,
                          Fact::kGraphNodes, Fact::kDevices}) {
    EXPECT_FALSE(t.Lacks(fact)) << static_cast<int>(fact);
  }
  EXPECT_THAT(NoticesOf(t), ElementsAre("Skipped: 1 counter samples, 1 gpu_user_annotation"));
  const Trace poor = ReadEvents(R"(
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": "stream 7", "ts": 1, "dur": 1},
{"ph": "X", "cat": "gpu_memcpy", "name": "CopyHostToDevice", "pid": 0, "tid": "stream 7", "ts": 3, "dur": 1, "args": {"kind": "HtoD"}})");
  for (const Fact fact :
       {Fact::kApiCalls, Fact::kMemoryKinds, Fact::kEvents, Fact::kNvtx, Fact::kShapes, Fact::kDevices}) {
    EXPECT_TRUE(poor.Lacks(fact)) << static_cast<int>(fact);
  }
  EXPECT_EQ(poor.streams[poor.ops[0].stream].id, 7u);
  EXPECT_EQ(FindOp(poor, OpKind::kMemcpy)->copy_kind, trace::CopyKind::kHostToDevice);
  EXPECT_TRUE(
      ReadEvents(R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 1, "ts": 1,
"dur": 1, "args": {"correlation": 1}})")
          .Lacks(Fact::kSyncs));
}

// ---- times ----

TEST(Kineto, TimesFrom1970AreExactAndKeepTheirDistances) {
  const Trace t = ReadEvents(R"(
{"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 1712195495894849.501, "dur": 7.463},
{"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 1712195495894849.499, "dur": 0.001})");
  ASSERT_EQ(t.ops.size(), 2u);
  EXPECT_EQ(t.ops[1].start_ns - t.ops[0].start_ns, 2);
  EXPECT_EQ(t.ops[1].DurationNs(), 7463);
  EXPECT_EQ(t.ops[0].DurationNs(), 1);
  ASSERT_EQ(t.clocks.size(), 1u);
  EXPECT_EQ(static_cast<int64_t>(t.clocks[0].anchor.realtime_ns) -
                static_cast<int64_t>(t.clocks[0].anchor.monotonic_ns) + t.ops[0].start_ns,
            1712195495894849499);
}

TEST(Kineto, TimesAround0AreTimesToo) {
  const Trace t = ReadEvents(R"(
{"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 0, "dur": 1},
{"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": -2.5, "dur": 1e-1})");
  ASSERT_EQ(t.ops.size(), 2u);
  EXPECT_EQ(t.Text(t.ops[0].name), "b");
  EXPECT_EQ(t.ops[1].start_ns - t.ops[0].start_ns, 2500);
  EXPECT_EQ(t.ops[0].DurationNs(), 100);
  EXPECT_TRUE(t.health.IsComplete());
}

TEST(Kineto, BadTimesAreCounted) {
  const Trace t = ReadEvents(R"(
{"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 10, "dur": -1},
{"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": NaN, "dur": 1},
{"ph": "X", "cat": "kernel", "name": "c", "pid": 0, "tid": 7, "ts": 1e300, "dur": 1},
{"ph": "X", "cat": "cpu_op", "name": "d", "pid": 1, "tid": 7, "ts": 5, "dur": -3},
{"ph": "X", "cat": "kernel", "name": "e", "pid": 0, "tid": 7, "ts": 9223372036854775.807, "dur": 1},
{"ph": "X", "cat": "kernel", "name": "f", "pid": 0, "tid": 7, "ts": 12, "dur": Infinity},
{"ph": "X", "cat": "kernel", "name": "g", "pid": 0, "tid": 7, "dur": 1},
{"ph": "X", "cat": "kernel", "name": "good", "pid": 0, "tid": 7, "ts": "20.5", "dur": "1"})");
  ASSERT_EQ(t.ops.size(), 1u);
  EXPECT_EQ(t.Text(t.ops[0].name), "good");
  EXPECT_EQ(t.health.bad_times, 1u);  // work that ended before it started
  EXPECT_EQ(t.health.lost_records, 6u);
  EXPECT_FALSE(t.health.IsComplete());
}

// ---- other writers ----

TEST(Chrome, BeginAndEndBecomeRanges) {
  const Trace t = ReadKineto(R"([
{"ph": "B", "name": "outer", "cat": "app", "pid": "main", "tid": "worker", "ts": 1},
{"ph": "B", "name": "inner", "cat": "app", "pid": "main", "tid": "worker", "ts": 2},
{"ph": "E", "pid": "main", "tid": "worker", "ts": 3.5},
{"ph": "E", "pid": "main", "tid": "worker", "ts": 9},
{"ph": "E", "pid": "main", "tid": "worker", "ts": 10},
{"ph": "B", "name": "open", "cat": "app", "pid": "main", "tid": "worker", "ts": 11},
{"ph": "b", "name": "request", "cat": "net", "id": "0x1", "pid": "main", "tid": "worker", "ts": 2},
{"ph": "e", "name": "request", "cat": "net", "id": "0x1", "pid": "main", "tid": "other", "ts": 20},
{"ph": "i", "name": "mark", "pid": "main", "tid": "worker", "ts": 4, "s": "t"})",
                             "bare.json");  // no end: as it may be
  EXPECT_THAT(PathsOf(t), UnorderedElementsAre("app/outer", "app/outer/inner", "app/open", "net/request"));
  EXPECT_EQ(t.health.lost_records, 1u);  // an end too many
  EXPECT_EQ(t.health.open_ranges, 1u);
  EXPECT_FALSE(t.health.is_truncated);
  ASSERT_EQ(t.marks.size(), 1u);
  EXPECT_EQ(t.recorder, "Chrome JSON");
  ASSERT_EQ(t.processes.size(), 1u);
  EXPECT_EQ(t.Text(t.processes[0].name), "main");
  ASSERT_EQ(t.threads.size(), 1u);
  EXPECT_EQ(t.Text(t.threads[0].name), "worker");
  for (const NvtxRange& range : t.ranges) {
    const std::string_view name = t.Text(range.name);
    const int64_t expected_ns = name == "request" ? 18000 : name == "inner" ? 1500 : name == "outer" ? 8000 : 9000;
    EXPECT_EQ(range.DurationNs(), expected_ns) << name;
  }
}

TEST(Chrome, ArrowsTieWorkToCallsWithoutCorrelations) {
  const Trace t = ReadEvents(R"(
{"ph": "f", "id": "b", "cat": "launch", "name": "x", "pid": 0, "tid": 7, "ts": 60, "bp": "e"},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 10, "dur": 5},
{"ph": "X", "cat": "cuda_runtime", "name": "cuLaunchKernelEx", "pid": 9, "tid": 9, "ts": 20, "dur": 5},
{"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 50, "dur": 5},
{"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 60, "dur": 5},
{"ph": "s", "id": "a", "cat": "launch", "name": "x", "pid": 9, "tid": 9, "ts": 12},
{"ph": "f", "id": "a", "cat": "launch", "name": "x", "pid": 0, "tid": 7, "ts": 50, "bp": "e"},
{"ph": "s", "id": "b", "cat": "launch", "name": "x", "pid": 9, "tid": 9, "ts": 25})");
  ASSERT_EQ(t.ops.size(), 2u);
  ASSERT_NE(t.ops[0].api, kNone);
  ASSERT_NE(t.ops[1].api, kNone);
  EXPECT_EQ(t.Text(t.api_calls[t.ops[0].api].function), "cudaLaunchKernel");
  EXPECT_EQ(t.Text(t.api_calls[t.ops[1].api].function), "cuLaunchKernelEx");
  EXPECT_EQ(t.health.unmatched_ops, 0u);
}

TEST(Chrome, WorkOfSeveralProcessesFindsItsOwn) {
  const Trace t = ReadEvents(R"(
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 1, "ts": 10, "dur": 5, "args": {"correlation": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 200, "tid": 1, "ts": 10, "dur": 5, "args": {"correlation": 2}},
{"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 50, "dur": 5, "args": {"correlation": 2}},
{"ph": "X", "cat": "kernel", "name": "b", "pid": 1, "tid": 7, "ts": 50, "dur": 5, "args": {"correlation": 1}})");
  ASSERT_EQ(t.ops.size(), 2u);
  for (const GpuOp& op : t.ops) {
    EXPECT_EQ(t.processes[op.process].pid, t.Text(op.name) == "a" ? 200u : 100u);
    EXPECT_NE(op.api, kNone);
  }
}

TEST(Chrome, IdentifiersOfAllKindsArePlaces) {
  const Trace t = ReadEvents(R"(
{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": -247463936, "ts": 1, "dur": 1, "args": {"Comms Id": 10159970886766084423}},
{"ph": "X", "cat": "cpu_op", "name": "b", "pid": "1", "tid": 140243668498176, "ts": 2, "dur": 1},
{"ph": "X", "cat": "cpu_op", "name": "c", "pid": 1, "tid": "", "ts": 3, "dur": 1})");
  EXPECT_EQ(t.processes.size(), 1u);
  EXPECT_EQ(t.threads.size(), 3u);
  EXPECT_EQ(t.ranges.size(), 3u);
  EXPECT_TRUE(t.health.IsComplete());
}

TEST(Kineto, AmdGpusAreGpus) {
  const Trace t = ReadKineto(
      Document(
          R"json(
{"ph": "X", "cat": "cuda_runtime", "name": "hipExtModuleLaunchKernel", "pid": 851, "tid": 851, "ts": 10, "dur": 5, "args": {"cid": 1, "correlation": 5}},
{"ph": "X", "cat": "kernel", "name": "Cijk", "pid": 2, "tid": 0, "ts": 20, "dur": 15.399, "args": {"device": 2, "stream": 0, "correlation": 5, "kind": "Dispatch Task"}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoD (Device -> Device)", "pid": 2, "tid": 0, "ts": 40, "dur": 5, "args": {"device": 2, "stream": 0, "correlation": 6, "kind": "DtoD", "bytes": 4100}})json",
          R"("deviceProperties": [{"id": 2, "name": "AMD Instinct MI300X", "computeMajor": 9, "computeMinor": 4, "warpSize": 64}], )"),
      "amd.json");
  ASSERT_EQ(t.ops.size(), 2u);
  EXPECT_EQ(t.devices[0].ordinal, 2u);
  EXPECT_EQ(t.devices[0].properties.compute_major, 0u);  // it is no GPU of compute capability 9.4
  EXPECT_EQ(t.api_calls[t.ops[0].api].api_class, ApiClass::kLaunch);
  EXPECT_EQ(t.ops[1].copy_kind, trace::CopyKind::kDeviceToDevice);
}

}  // namespace
}  // namespace gprof
