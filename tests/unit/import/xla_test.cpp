// Traces of TensorFlow and JAX: lanes by their names, facts in texts. Made by hand, as XLA's profiler writes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kineto_capture.h"

namespace gprof {
namespace {

using testing::HasSubstr;

constexpr std::string_view kLanes = R"json(
{"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}},
{"ph":"M","pid":1,"tid":13,"name":"thread_name","args":{"name":"Stream #13(MemcpyH2D)"}},
{"ph":"M","pid":1,"tid":14,"name":"thread_name","args":{"name":"Stream #14(Compute,Memset)"}},
{"ph":"M","pid":1,"tid":1000,"name":"thread_name","args":{"name":"XLA Ops"}},
{"ph":"M","pid":2,"name":"process_name","args":{"name":"/device:GPU:1"}},
{"ph":"M","pid":2,"tid":20,"name":"thread_name","args":{"name":"Stream #20(MemcpyP2P)"}},
{"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}},
{"ph":"M","pid":701,"tid":55,"name":"thread_name","args":{"name":"python"}},
)json";

constexpr std::string_view kWork = R"json(
{"ph":"X","pid":701,"tid":55,"ts":5,"dur":90,"name":"PjitFunction(f)"},
{"ph":"X","pid":701,"tid":55,"ts":8,"dur":1.5,"name":"cuMemcpyHtoDAsync_v2","args":{"correlation_id":"40"}},
{"ph":"X","pid":701,"tid":55,"ts":10,"dur":2.25,"name":"cuLaunchKernel","args":{"correlation_id":"41","device_id":"0"}},
{"ph":"X","pid":701,"tid":55,"ts":13,"dur":1,"name":"cudnn autotune","args":{"correlation_id":"44"}},
{"ph":"X","pid":1,"tid":13,"ts":12,"dur":3,"name":"MemcpyH2D",
 "args":{"context_id":"$$1","correlation_id":"40","memcpy_details":"kind_src:pageable kind_dst:device size:4096 dest:0 async:1"}},
{"ph":"X","pid":1,"tid":14,"ts":20,"dur":30.125,"name":"fusion_1",
 "args":{"context_id":"$$1","correlation_id":"41","hlo_op":"fusion.1","kernel_details":"regs:32 static_shared:16 dynamic_shared:1024 grid:64,2,1 block:256,1,1 occ_pct:100"}},
{"ph":"X","pid":1,"tid":14,"ts":60,"dur":1,"name":"Memset",
 "args":{"context_id":"$$1","correlation_id":"42","Memset_details":"kind:device num_bytes:512 async:1"}},
{"ph":"X","pid":2,"tid":20,"ts":70,"dur":4,"name":"MemcpyP2P",
 "args":{"context_id":"$$2","correlation_id":"43","memcpy_details":"kind_src:device kind_dst:device size:100 dest:0 async:1"}},
{"ph":"X","pid":1,"tid":1000,"ts":20,"dur":30.125,"name":"fusion.1","args":{"hlo_op":"fusion.1"}},
{"ph":"X","pid":1,"tid":14,"ts":80,"dur":0,"name":"MemoryAlloc","args":{"correlation_id":"45","memalloc_details":"kind:device num_bytes:64"}}
)json";

Trace ReadXla(std::string_view events) {
  return ReadKineto(Document(events, R"("displayTimeUnit":"ns","metadata":{"highres-ticks":true},)"), "trace.json");
}

const GpuOp FindOp(const Trace& t, OpKind kind) {
  for (const GpuOp op : t.ops) {
    if (op.kind == kind) return op;
  }
  ADD_FAILURE() << "no operation of kind " << static_cast<int>(kind);
  return {};
}

TEST(Xla, StreamsOfDevicesAreGpuWork) {
  const Trace t = ReadXla(std::string(kLanes) + std::string(kWork));
  ASSERT_EQ(t.ops.size(), 4u);
  EXPECT_EQ(t.recorder, "XLA profiler");
  const GpuOp kernel = FindOp(t, OpKind::kKernel);
  EXPECT_EQ(t.Text(kernel.name), "fusion_1");
  EXPECT_EQ(kernel.DurationNs(), 30'125);
  EXPECT_EQ(t.streams[kernel.stream].id, 14u);
  EXPECT_EQ(t.streams[kernel.stream].context, 1u);
  EXPECT_EQ(t.devices[kernel.device].ordinal, 0u);
  const trace::KernelShapeRecord& shape = t.shapes[kernel.shape];
  EXPECT_EQ(shape.grid_x, 64u);
  EXPECT_EQ(shape.grid_y, 2u);
  EXPECT_EQ(shape.block_x, 256u);
  EXPECT_EQ(shape.registers_per_thread, 32u);
  EXPECT_EQ(shape.dynamic_shared_bytes, 1040u);
  const GpuOp copy = FindOp(t, OpKind::kMemcpy);
  EXPECT_EQ(copy.copy_kind, trace::CopyKind::kHostToDevice);
  EXPECT_TRUE(copy.IsPageable());
  EXPECT_EQ(copy.size_bytes, 4096u);
  EXPECT_EQ(t.streams[copy.stream].id, 13u);
  const GpuOp peer = FindOp(t, OpKind::kPeerCopy);
  EXPECT_EQ(t.devices[peer.SourceDevice()].ordinal, 1u);
  EXPECT_EQ(t.devices[peer.DestinationDevice()].ordinal, 0u);
  const GpuOp fill = FindOp(t, OpKind::kMemset);
  EXPECT_EQ(fill.size_bytes, 512u);
  EXPECT_EQ(fill.destination_memory, trace::MemoryKind::kDevice);
}

TEST(Xla, CallsOfTheHostLaunchThem) {
  const Trace t = ReadXla(std::string(kLanes) + std::string(kWork));
  ASSERT_EQ(t.api_calls.size(), 2u);
  const GpuOp kernel = FindOp(t, OpKind::kKernel);
  ASSERT_NE(kernel.api, kNone);
  const ApiCall call = t.api_calls[kernel.api];
  EXPECT_EQ(t.Text(call.function), "cuLaunchKernel");
  EXPECT_EQ(call.domain, trace::ApiDomain::kDriver);
  EXPECT_EQ(call.DurationNs(), 2'250);
  // What is no call is a range, and so is what has the look of one.
  ASSERT_EQ(t.ranges.size(), 2u);
  EXPECT_EQ(t.Text(t.ranges[0].name), "PjitFunction(f)");
  EXPECT_EQ(t.Text(t.ranges[1].name), "cudnn autotune");
}

// As jax.profiler writes it today: launching calls have the name of what they launch, and Python's frames are among
// them.
TEST(Xla, CallsHaveTheNamesOfWhatTheyLaunch) {
  const Trace t = ReadXla(std::string(kLanes) + R"json(
{"ph":"X","pid":701,"tid":55,"ts":5,"dur":90,"name":"$train.py:12 main"},
{"ph":"X","pid":701,"tid":55,"ts":6,"dur":60,"name":"train","args":{"step_num":"0"}},
{"ph":"X","pid":701,"tid":55,"ts":10,"dur":2,"name":"fusion_1","args":{"correlation_id":"41","device_id":"0","scope_range_id":"9"}},
{"ph":"X","pid":701,"tid":55,"ts":14,"dur":1,"name":"MemcpyH2D",
 "args":{"correlation_id":"40","device_id":"0","memcpy_details":"kind_src:unknown kind_dst:unknown size:4 dest:0 async:1"}},
{"ph":"X","pid":701,"tid":55,"ts":16,"dur":1,"name":"cuLaunchHostFunc"},
{"ph":"X","pid":1,"tid":14,"ts":20,"dur":30,"name":"fusion_1","args":{"correlation_id":"41","kernel_details":"regs:32 grid:4,1,1"}},
{"ph":"X","pid":1,"tid":13,"ts":22,"dur":3,"name":"MemcpyH2D",
 "args":{"correlation_id":"40","memcpy_details":"kind_src:pinned kind_dst:device size:4 dest:0 async:1"}},
{})json");
  ASSERT_EQ(t.api_calls.size(), 3u);
  EXPECT_EQ(t.Text(t.api_calls[FindOp(t, OpKind::kKernel).api].function), "cuLaunchKernel");
  EXPECT_EQ(t.Text(t.api_calls[FindOp(t, OpKind::kMemcpy).api].function), "cuMemcpyHtoDAsync");
  EXPECT_EQ(t.Text(t.api_calls[2].function), "cuLaunchHostFunc");
  ASSERT_EQ(t.ranges.size(), 2u);
  EXPECT_EQ(t.Text(t.ranges[0].path), "python_function/$train.py:12 main");
  EXPECT_EQ(t.Text(t.ranges[1].path), "train");
  EXPECT_EQ(t.health.lost_records, 0u);
  for (const Notice& notice : t.notices)
    EXPECT_THAT(std::string(t.Text(notice.message)), testing::Not(HasSubstr("Skipped")));
}

TEST(Xla, LanesDerivedFromStreamsAreCountedNotRead) {
  const Trace t = ReadXla(std::string(kLanes) + std::string(kWork));
  std::string notices;
  for (const Notice& notice : t.notices) notices += std::string(t.Text(notice.message)) + "\n";
  EXPECT_THAT(notices, HasSubstr("2 events of lanes that XLA derives from streams"));
}

TEST(Xla, TheSameArgumentsElsewhereAreRanges) {
  const Trace t = ReadXla(R"json({"ph":"M","pid":1,"name":"process_name","args":{"name":"my program"}},
{"ph":"X","pid":1,"tid":14,"ts":20,"dur":30,"name":"f","args":{"correlation_id":"41","kernel_details":"regs:32 grid:1,1,1"}})json");
  EXPECT_TRUE(t.ops.empty());
  EXPECT_EQ(t.ranges.size(), 1u);
}

TEST(Xla, DetailsOfAnyFormAreTaken) {
  for (const char* details :
       {"", ":", "grid:", "grid:1", "grid:99999999999999999999,1,1", "regs:-1 grid:-1,2,3 block:,,", "regs regs: :regs",
        "static_shared:9223372036854775807 dynamic_shared:1"}) {
    const Trace t = ReadXla(
        std::string(kLanes) +
        R"({"ph":"X","pid":1,"tid":14,"ts":20,"dur":30,"name":"f","args":{"correlation_id":"41","kernel_details":")" +
        details + "\"}}");
    EXPECT_EQ(t.ops.size(), 1u) << details;
  }
}

}  // namespace
}  // namespace gprof
