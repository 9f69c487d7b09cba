// API calls: order, parents, classes, and the operations that they launched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "trace/model/api_class.h"
#include "trace_text.h"

namespace gprof {
namespace {

TEST(ApiClass, GoesByTheName) {
  const auto expect = [](ApiClass expected, std::initializer_list<std::string_view> functions) {
    for (const std::string_view f : functions) {
      EXPECT_EQ(static_cast<int>(ClassifyApi(f)), static_cast<int>(expected)) << f;
    }
  };
  expect(ApiClass::kLaunch, {"cudaLaunchKernel", "cudaLaunchKernel_v7000", "cudaLaunchKernel_ptsz_v7000",
                             "cuLaunchKernel", "cuLaunchKernel_ptsz", "cuLaunchKernelEx", "cudaLaunchKernelExC_v11060",
                             "cudaLaunchCooperativeKernel_v9000", "cuLaunchGridAsync", "cuLaunchCooperativeKernel"});
  expect(ApiClass::kLaunch,
         {"hipLaunchKernel", "hipModuleLaunchKernel", "hipExtModuleLaunchKernel", "hipExtLaunchKernel"});
  expect(ApiClass::kCopy, {"hipMemcpyAsync", "hipMemcpyWithStream"});
  expect(ApiClass::kSync, {"hipDeviceSynchronize", "hipStreamSynchronize"});
  expect(ApiClass::kGraphLaunch, {"cudaGraphLaunch_v10000", "cudaGraphLaunch_ptsz_v10000", "cuGraphLaunch"});
  expect(ApiClass::kCopy, {"cudaMemcpy_v3020", "cudaMemcpyAsync_v3020", "cudaMemcpyPeerAsync_v4000", "cuMemcpyHtoD_v2",
                           "cuMemcpyHtoDAsync_v2_ptsz", "cudaMemcpy2DToArray_v3020", "cudaMemcpyToSymbol_ptds_v7000",
                           "cudaMemcpyBatchAsync_v12080", "cuMemcpyDtoD_v2"});
  expect(ApiClass::kMemset, {"cudaMemset_v3020", "cudaMemsetAsync_v3020", "cuMemsetD8_v2", "cuMemsetD32Async"});
  expect(ApiClass::kSync,
         {"cudaDeviceSynchronize_v3020", "cudaStreamSynchronize_ptsz_v7000", "cudaEventSynchronize_v3020",
          "cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize", "cudaThreadSynchronize"});
  expect(ApiClass::kMemory, {"cudaMalloc_v3020",
                             "cudaFree_v3020",
                             "cudaMallocAsync_v11020",
                             "cudaFreeAsync_v11020",
                             "cudaHostAlloc_v3020",
                             "cudaMallocHost_v3020",
                             "cudaFreeHost_v3020",
                             "cudaHostRegister_v4000",
                             "cudaHostUnregister",
                             "cuMemAlloc_v2",
                             "cuMemFree_v2",
                             "cuMemHostAlloc",
                             "cuMemHostRegister_v2",
                             "cudaMallocManaged_v6000",
                             "cuMemAllocManaged",
                             "cudaMemPoolCreate_v11020",
                             "cuMemPoolDestroy",
                             "cudaMemPrefetchAsync_v8000",
                             "cudaMemAdvise",
                             "cuMemMap",
                             "cuMemCreate",
                             "cuMemAddressReserve",
                             "cudaMallocPitch",
                             "cudaMalloc3DArray",
                             "cuArrayCreate_v2"});
  expect(ApiClass::kLoad,
         {"cuInit", "cudaInitDevice_v12000", "cuCtxCreate_v2", "cuDevicePrimaryCtxRetain", "cuModuleLoadDataEx",
          "cuModuleLoadFatBinary", "cuLibraryLoadData", "cudaLibraryLoadData_v12080", "cuModuleGetFunction",
          "cuLibraryGetKernel", "cudaGraphInstantiate_v12000", "cuGraphInstantiateWithFlags", "cuLinkAddData_v2",
          "cudaSetDevice_v3020", "cudaDeviceReset_v3020", "cuModuleUnload"});
  expect(ApiClass::kQuery, {"cudaGetDevice_v3020",      "cudaGetLastError_v3020",
                            "cudaPeekAtLastError",      "cudaStreamQuery_v3020",
                            "cudaEventQuery",           "cuStreamQuery_ptsz",
                            "cudaMemGetInfo_v3020",     "cuMemGetInfo_v2",
                            "cudaPointerGetAttributes", "cuPointerGetAttribute",
                            "cudaDeviceGetAttribute",   "cudaFuncGetAttributes_v3020",
                            "cuFuncGetAttribute",       "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
                            "cuCtxGetCurrent",          "cuDriverGetVersion",
                            "cudaRuntimeGetVersion",    "cudaStreamIsCapturing_v10000",
                            "cudaEventElapsedTime",     "cudaDeviceCanAccessPeer",
                            "cudaStreamGetPriority",    "cudaHostGetDevicePointer"});
  expect(ApiClass::kStream, {"cudaStreamCreate_v3020", "cudaStreamCreateWithFlags", "cudaStreamDestroy_v5050",
                             "cudaStreamWaitEvent_v3020", "cuStreamWaitEvent_ptsz", "cudaStreamBeginCapture_v10000",
                             "cudaStreamEndCapture", "cudaStreamAddCallback", "cudaLaunchHostFunc_v10000"});
  expect(ApiClass::kEvent, {"cudaEventCreate_v3020", "cudaEventRecord_ptsz_v7000", "cuEventDestroy_v2"});
  expect(ApiClass::kOther, {"cuCtxSetCurrent", "cudaGraphAddMemcpyNode_v10000", "cudaGraphCreate", "", "main", "curl"});
}

TEST(ApiClass, VersionSuffixesAreTaken) {
  EXPECT_EQ(WithoutVersion("cudaMalloc_v3020"), "cudaMalloc");
  EXPECT_EQ(WithoutVersion("cudaMemcpy_ptds_v7000"), "cudaMemcpy");
  EXPECT_EQ(WithoutVersion("cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync");
  EXPECT_EQ(WithoutVersion("cuMemsetD32"), "cuMemsetD32");
  EXPECT_EQ(WithoutVersion("_v2"), "");
  EXPECT_EQ(WithoutVersion("v2"), "v2");
  EXPECT_EQ(WithoutVersion("123"), "123");
}

ApiCall Call(const Trace& t, std::string_view function) {
  for (const ApiCall& c : t.api_calls) {
    if (t.Text(c.function) == function) return c;
  }
  ADD_FAILURE() << "no call of " << function;
  return t.api_calls.front();
}

TEST(Api, CallsAreOrderedByThreadAndTimeParentsFirst) {
  const Trace t = LoadText(R"(
api start_ns=110 duration_ns=10 tid=1 function="cuInner" domain=2
api start_ns=100 duration_ns=50 tid=1 function="cudaOuter" domain=1
api start_ns=50 duration_ns=5 tid=2 function="cudaOther" domain=1
api start_ns=10 duration_ns=5 tid=1 function="cudaFirst" domain=1
api start_ns=100 duration_ns=50 tid=1 function="cuSame" domain=2
)");
  std::vector<std::string_view> names;
  for (const ApiCall& c : t.api_calls) names.push_back(t.Text(c.function));
  EXPECT_THAT(names, testing::ElementsAre("cudaFirst", "cudaOuter", "cuSame", "cuInner", "cudaOther"));
  EXPECT_EQ(Call(t, "cudaFirst").parent, kNone);
  EXPECT_EQ(Call(t, "cudaOuter").parent, kNone);
  EXPECT_EQ(Call(t, "cuSame").parent, 1u);
  EXPECT_EQ(Call(t, "cuInner").parent, 2u);
  EXPECT_EQ(Call(t, "cudaOther").parent, kNone);
  ASSERT_EQ(t.thread_api_calls.size(), 2u);
  EXPECT_EQ(t.thread_api_calls[0].first, 0u);
  EXPECT_EQ(t.thread_api_calls[0].last, 4u);
  EXPECT_EQ(t.thread_api_calls[1].last, 5u);
}

TEST(Api, CallsThatOnlyTouchAreNotNested) {
  const Trace t = LoadText(R"(
api start_ns=100 duration_ns=50 tid=1 function="a" domain=1
api start_ns=150 duration_ns=0 tid=1 function="b" domain=1
api start_ns=151 duration_ns=10 tid=1 function="c" domain=1
api start_ns=200 duration_ns=0 tid=1 function="d" domain=1
api start_ns=200 duration_ns=0 tid=1 function="e" domain=2
)");
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_EQ(Call(t, name).parent, kNone) << name;
  EXPECT_EQ(t.Text(t.api_calls[Call(t, "e").parent].function), "d");
}

TEST(Api, FromCallsNestedWithoutEndItIsNotFarToTheOutermost) {
  constexpr uint32_t kCalls = 40'000;
  std::string text;
  for (uint32_t i = 0; i < kCalls; ++i) text += "api start_ns=100 duration_ns=50 tid=1 domain=2\n";
  const Trace t = LoadText(text);
  ASSERT_EQ(t.api_calls.size(), kCalls);
  uint32_t most_steps = 0;
  for (uint32_t i = 1; i < kCalls; ++i) {
    uint32_t steps = 0, call = i;
    for (; t.api_calls[call].parent != kNone; ++steps) call = t.api_calls[call].parent;
    ASSERT_EQ(call, 0u);
    ASSERT_TRUE(i > 256 || steps == i) << i;
    most_steps = std::max(most_steps, steps);
  }
  EXPECT_LE(most_steps, 1000u);
}

TEST(Api, OperationsFindTheRuntimeCallOfTheirCorrelation) {
  const Trace t = LoadText(R"(
chunk pid=1
api start_ns=110 duration_ns=10 tid=1 correlation=5 function="cuLaunchKernel" domain=2
api start_ns=100 duration_ns=50 tid=1 correlation=5 function="cudaLaunchKernel" domain=1
kernel start_ns=200 duration_ns=5 correlation=5
kernel start_ns=210 duration_ns=5 correlation=5
kernel start_ns=220 duration_ns=5 correlation=6
kernel start_ns=230 duration_ns=5
chunk pid=2
api start_ns=100 duration_ns=50 tid=1 correlation=6 function="cudaLaunchKernel" domain=1
memcpy start_ns=300 duration_ns=5 correlation=5
)");
  EXPECT_EQ(t.ops[0].api, 0u);
  EXPECT_EQ(t.ops[1].api, 0u);
  EXPECT_EQ(t.ops[2].api, kNone);  // the call with that id is another process's
  EXPECT_EQ(t.ops[3].api, kNone);
  EXPECT_EQ(t.ops[4].api, kNone);
  EXPECT_EQ(t.api_calls[0].domain, trace::ApiDomain::kRuntime);
  EXPECT_EQ(t.api_calls[0].op_count, 2u);
  EXPECT_EQ(t.api_calls[1].op_count, 0u);
  EXPECT_EQ(t.health.unmatched_ops, 3u);
  EXPECT_EQ(t.health.unmatched_launches, 1u);  // of process 2
}

TEST(Api, CorrelationsFarApartAreFoundToo) {
  const Trace t = LoadText(R"(
api start_ns=100 duration_ns=5 tid=1 correlation=1 function="cudaLaunchKernel"
api start_ns=200 duration_ns=5 tid=1 correlation=4294967295 function="cudaLaunchKernel"
kernel start_ns=300 duration_ns=5 correlation=4294967295
kernel start_ns=310 duration_ns=5 correlation=1
kernel start_ns=320 duration_ns=5 correlation=77
)");
  EXPECT_EQ(t.ops[0].api, 1u);
  EXPECT_EQ(t.ops[1].api, 0u);
  EXPECT_EQ(t.ops[2].api, kNone);
}

// With their call, of several that have the same; without one; and without any correlation.
TEST(Api, OperationsHaveTheirCorrelationWhateverCallIsKnown) {
  const Trace t = LoadText(R"(
api start_ns=100 duration_ns=50 tid=1 correlation=7 function="cudaLaunchKernel"
api start_ns=110 duration_ns=30 tid=1 correlation=7 function="cuLaunchKernel" domain=2
api start_ns=100 duration_ns=50 tid=2 correlation=7 function="cudaLaunchKernel"
kernel start_ns=200 duration_ns=5 correlation=7
kernel start_ns=210 duration_ns=5 correlation=8
kernel start_ns=220 duration_ns=5 correlation=4294967295
kernel start_ns=230 duration_ns=5
)");
  ASSERT_EQ(t.ops.size(), 4u);
  EXPECT_EQ(t.ops[0].api, 0u);
  constexpr uint32_t kCorrelations[] = {7, 8, 4294967295, 0};
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(t.ops[i].api == kNone, i > 0) << i;
    EXPECT_EQ(t.CorrelationOf(t.ops[i]), kCorrelations[i]) << i;
  }
}

uint64_t UnmatchedLaunches(std::string_view text) { return LoadText(text).health.unmatched_launches; }

TEST(Api, LaunchesWithoutOperationsAreCounted) {
  constexpr std::string_view kLaunch =
      "api start_ns=100 duration_ns=50 tid=1 correlation=5 function=\"cudaLaunchKernel\"";
  const auto launch = [&](std::string_view more) {
    return std::string(kLaunch) + " domain=1" + std::string(more) + "\n";
  };
  EXPECT_EQ(UnmatchedLaunches(launch("")), 1u);
  EXPECT_EQ(UnmatchedLaunches(launch(" result=700")), 0u);
  EXPECT_EQ(UnmatchedLaunches(launch(" is_unfinished=1")), 0u);
  EXPECT_EQ(UnmatchedLaunches("api start_ns=1 duration_ns=5 tid=1 correlation=5 function=\"cudaMalloc\"\n"), 0u);
  // One launch is a runtime call and the driver call in it.
  const std::string inner = "api start_ns=110 duration_ns=5 tid=1 correlation=6 function=\"cuLaunchKernel\" domain=2\n";
  EXPECT_EQ(UnmatchedLaunches(launch("") + inner), 1u);
  EXPECT_EQ(UnmatchedLaunches(launch("") + inner + "kernel start_ns=200 duration_ns=1 correlation=6\n"), 0u);
  EXPECT_EQ(UnmatchedLaunches(launch("") + inner + "kernel start_ns=200 duration_ns=1 correlation=5\n"), 0u);
}

TEST(Api, LaunchesIntoAStreamThatIsCapturedRunNothing) {
  EXPECT_EQ(UnmatchedLaunches(R"(
api start_ns=100 duration_ns=5 tid=1 function="cudaStreamBeginCapture_v10000"
api start_ns=110 duration_ns=5 tid=1 correlation=1 function="cudaLaunchKernel"
api start_ns=120 duration_ns=5 tid=2 correlation=2 function="cudaLaunchKernel"
api start_ns=130 duration_ns=5 tid=1 function="cudaStreamEndCapture_v10000"
api start_ns=140 duration_ns=5 tid=1 correlation=3 function="cudaLaunchKernel"
)"),
            2u);
}

// All others have an operation, or one of another thread has none as well.
TEST(Api, LaunchesThatACaptureExplainsAreToldFromOthers) {
  const std::string captured = R"(
api start_ns=100 duration_ns=5 tid=1 function="cudaStreamBeginCapture_v10000"
api start_ns=110 duration_ns=5 tid=1 correlation=1 function="cudaLaunchKernel"
api start_ns=115 duration_ns=5 tid=1 correlation=2 function="cudaLaunchKernel"
api start_ns=130 duration_ns=5 tid=1 function="cudaStreamEndCapture_v10000"
api start_ns=140 duration_ns=5 tid=1 correlation=3 function="cudaLaunchKernel"
api start_ns=120 duration_ns=5 tid=2 correlation=4 function="cudaLaunchKernel"
api start_ns=150 duration_ns=5 tid=2 function="cudaStreamBeginCapture_v10000"
api start_ns=160 duration_ns=5 tid=2 correlation=5 function="cudaLaunchKernel"
kernel start_ns=200 duration_ns=1 correlation=3
)";
  EXPECT_EQ(UnmatchedLaunches(captured + "kernel start_ns=210 duration_ns=1 correlation=4\n"), 0u);
  EXPECT_EQ(UnmatchedLaunches(captured), 1u);
  EXPECT_EQ(UnmatchedLaunches(captured + "kernel start_ns=210 duration_ns=1 correlation=2\n"), 1u);
  EXPECT_EQ(UnmatchedLaunches(captured + "kernel start_ns=210 duration_ns=1 correlation=4\n" +
                              "kernel start_ns=220 duration_ns=1 correlation=2\n"),
            0u);
}

TEST(Api, TheFreeBeforeTheFirstAllocationMakesTheContext) {
  const Trace t = LoadText(R"(
api start_ns=100 duration_ns=5000 tid=1 function="cudaFree_v3020"
api start_ns=6000 duration_ns=5 tid=1 function="cudaMalloc_v3020"
api start_ns=6100 duration_ns=5 tid=1 function="cudaFree_v3020"
)");
  EXPECT_EQ(t.api_calls[0].api_class, ApiClass::kLoad);
  EXPECT_EQ(t.api_calls[1].api_class, ApiClass::kMemory);
  EXPECT_EQ(t.api_calls[2].api_class, ApiClass::kMemory);
}

TEST(Api, AnUnfinishedCallLastsToTheEndOfItsProcess) {
  const Trace t = LoadText(R"(
api start_ns=100 tid=1 function="cudaDeviceSynchronize" is_unfinished=1
kernel start_ns=200 duration_ns=800
)");
  EXPECT_EQ(t.api_calls[0].end_ns, 1000);
  EXPECT_TRUE(t.api_calls[0].is_unfinished);
}

TEST(Api, SyncsAndMemoryFindTheirCalls) {
  const Trace t = LoadText(R"(
api start_ns=100 duration_ns=50 tid=1 correlation=5 function="cudaStreamSynchronize"
api start_ns=200 duration_ns=50 tid=1 correlation=6 function="cudaMalloc"
stream context=1 stream=13
sync start_ns=110 duration_ns=30 sync_kind=3 tid=1 correlation=5 context=1 stream=13 event=9
sync start_ns=100 duration_ns=1 sync_kind=4 tid=1
sync start_ns=120 duration_ns=1 sync_kind=3 tid=1 stream=13
sync start_ns=130 duration_ns=1 sync_kind=77 tid=1 stream=99
memory time_ns=220 operation=1 memory=3 address=4096 size_bytes=100 correlation=6
memory time_ns=210 operation=2 memory=3 address=4096 context=1 stream=13 is_async=1
)");
  ASSERT_EQ(t.syncs.size(), 4u);
  EXPECT_EQ(t.syncs[0].kind, trace::SyncKind::kContext);
  EXPECT_EQ(t.syncs[0].stream, kNone);
  EXPECT_EQ(t.syncs[0].api, kNone);
  EXPECT_EQ(t.syncs[1].api, 0u);
  EXPECT_EQ(t.syncs[1].stream, 0u);
  EXPECT_EQ(t.syncs[1].event, 9u);
  EXPECT_EQ(t.syncs[2].stream, 0u);  // by its id alone: the record did not know the context
  EXPECT_EQ(t.syncs[3].stream, kNone);
  EXPECT_EQ(t.syncs[3].kind, trace::SyncKind::kUnknown);
  ASSERT_EQ(t.memory_events.size(), 2u);
  EXPECT_EQ(t.memory_events[0].operation, trace::MemoryOp::kFree);
  EXPECT_EQ(t.memory_events[0].stream, 0u);
  EXPECT_EQ(t.memory_events[0].device, kNone);
  EXPECT_EQ(t.memory_events[1].api, 1u);
}

}  // namespace
}  // namespace gprof
