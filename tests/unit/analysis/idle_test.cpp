// The causes of idle time, one pattern each.
#include <gtest/gtest.h>

#include <utility>

#include "analysis/result/idle_causes.h"
#include "analysis/topics/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

using trace::SyncKind;

constexpr uint32_t kBufferFlush = 1u << 16, kLazyLoading = 5u << 16, kBufferFull = 6u << 16;

// Idle time of the causes that occur, as the table says: "host 30, launch 5".
std::string CausesOf(const AnalysisResult& result) {
  const Table& table = TableOf(result, "idle");
  std::string text;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    text += (row == 0 ? "" : ", ") + TextOf(table, row, "cause") + " " + std::to_string(IntOf(table, row, "idle_ns"));
  }
  return text;
}

// A kernel [0, 100) that was launched before; what follows ends the gap that begins at 100.
TraceMaker AfterAKernel() {
  TraceMaker maker;
  maker.Launch(-20, -10, 0, 100);
  return maker;
}

TEST(Idle, QueueWhenTheCallHadReturnedBefore) {
  TraceMaker maker = AfterAKernel();
  maker.Launch(10, 20, 107, 200);
  EXPECT_EQ(CausesOf(RunIdle(maker.Finish(), {})), "queue 7");
}

TEST(Idle, QueueWhenTheCallReturnedJustAsTheGapBegan) {
  TraceMaker maker = AfterAKernel();
  maker.Launch(90, 100, 107, 200);
  EXPECT_EQ(CausesOf(RunIdle(maker.Finish(), {})), "queue 7");
}

TEST(Idle, LaunchFromTheEntryOfTheCall) {
  TraceMaker maker = AfterAKernel();
  maker.Launch(90, 101, 107, 200);
  EXPECT_EQ(CausesOf(RunIdle(maker.Finish(), {})), "launch 7");
}

TEST(Idle, HostBeforeTheLaunchByRange) {
  TraceMaker maker = AfterAKernel();
  maker.AddRange(50, 160, "step");
  maker.AddRange(110, 140, "step/load");
  maker.Launch(150, 155, 157, 200);
  const AnalysisResult result = RunIdle(maker.Finish(), kAllRows);
  EXPECT_EQ(CausesOf(result), "host 50, launch 7");
  const Table& paths = TableOf(result, "idle_by_nvtx");
  ASSERT_EQ(paths.rows.size(), 2u);
  EXPECT_EQ(TextOf(paths, 0, "path"), "step/load");
  EXPECT_EQ(IntOf(paths, 0, "idle_ns"), 30);
  EXPECT_EQ(TextOf(paths, 1, "path"), "step");
  EXPECT_EQ(IntOf(paths, 1, "host_ns"), 20);
  EXPECT_EQ(IntOf(paths, 1, "launch_ns"), 7);  // the launch was made in it
}

TEST(Idle, HostOutsideOfRanges) {
  TraceMaker maker = AfterAKernel();
  maker.Launch(150, 155, 157, 200);
  const AnalysisResult result = RunIdle(maker.Finish(), {});
  EXPECT_EQ(TextOf(TableOf(result, "idle_by_nvtx"), 0, "path"), "(no range)");
}

TEST(Idle, StartEndRangesDoNotOwnHostTime) {
  TraceMaker maker = AfterAKernel();
  maker.AddRange(0, 300, "whole run").is_push_pop = false;
  maker.Launch(150, 155, 157, 200);
  const AnalysisResult result = RunIdle(maker.Finish(), {});
  EXPECT_EQ(TextOf(TableOf(result, "idle_by_nvtx"), 0, "path"), "(no range)");
}

TEST(Idle, AnOpenRangeCountsToItsEnd) {
  TraceMaker maker = AfterAKernel();
  maker.AddRange(90, 1000, "step").is_open = true;
  maker.Launch(150, 155, 157, 200);
  const AnalysisResult result = RunIdle(maker.Finish(), {});
  EXPECT_EQ(IntOf(TableOf(result, "idle_by_nvtx"), 0, "host_ns"), 50);
}

TEST(Idle, SyncThenHostThenLaunch) {
  TraceMaker maker = AfterAKernel();
  maker.AddCall(30, 108, "cudaStreamSynchronize");
  maker.Launch(120, 125, 127, 200);
  const AnalysisResult result = RunIdle(maker.Finish(), {});
  EXPECT_EQ(CausesOf(result), "host 12, sync 8, launch 7");
  const Table& calls = TableOf(result, "idle_by_call");
  EXPECT_EQ(TextOf(calls, 0, "function"), "cudaStreamSynchronize");
  EXPECT_EQ(IntOf(calls, 0, "idle_ns"), 8);
}

TEST(Idle, CopyWhenABlockingCopyHeldTheThread) {
  TraceMaker maker = AfterAKernel();
  maker.AddCopy(80, 100, 64, trace::CopyKind::kDeviceToHost, maker.AddCall(50, 109, "cudaMemcpy")).is_async = false;
  maker.Launch(110, 115, 117, 200);
  EXPECT_EQ(CausesOf(RunIdle(maker.Finish(), {})), "copy 9, launch 7, host 1");
}

TEST(Idle, ApiWhenTheCopyWasAsynchronous) {
  TraceMaker maker = AfterAKernel();
  maker.AddCopy(80, 100, 64, trace::CopyKind::kDeviceToHost, maker.AddCall(50, 109, "cudaMemcpyAsync"));
  maker.Launch(109, 115, 117, 200);
  EXPECT_EQ(CausesOf(RunIdle(maker.Finish(), {})), "api 9, launch 8");
}

TEST(Idle, CopyWhileAPageableCopyFillsItsStagingBuffer) {
  TraceMaker maker = AfterAKernel();
  maker.AddPageable(140, 200, 1 << 20, maker.AddCall(110, 205, "cudaMemcpyAsync"));
  EXPECT_EQ(CausesOf(RunIdle(maker.Finish(), {})), "copy 30, host 10");
}

TEST(Idle, MemoryLoadAndOtherCalls) {
  TraceMaker maker = AfterAKernel();
  maker.AddCall(100, 130, "cudaMalloc");
  maker.AddCall(130, 150, "cuModuleLoadData");
  maker.AddCall(150, 165, "cudaEventRecord");
  maker.Launch(165, 170, 175, 200);
  EXPECT_EQ(CausesOf(RunIdle(maker.Finish(), {})), "memory 30, load 20, api 15, launch 10");
}

TEST(Idle, CallsWithinCallsBelongToTheOuterOne) {
  TraceMaker maker = AfterAKernel();
  const uint32_t sync = maker.AddCall(90, 120, "cudaDeviceSynchronize");
  maker.AddInnerCall(95, 115, "cuMemAlloc", sync);
  const uint32_t launch = maker.AddCall(120, 140, "cudaLaunchKernel");
  maker.AddKernel(150, 200, maker.AddInnerCall(130, 135, "cuLaunchKernel", launch));
  EXPECT_EQ(CausesOf(RunIdle(maker.Finish(), {})), "launch 30, sync 20");
}

TEST(Idle, ProfilerAndLazyLoadingWithinTheLaunch) {
  TraceMaker maker = AfterAKernel();
  maker.Launch(100, 190, 200, 300);
  maker.AddOverhead(110, 130, kBufferFlush);
  maker.AddOverhead(125, 160, kLazyLoading);
  maker.AddJit(155, 170);
  maker.AddOverhead(170, 190, kBufferFull);
  EXPECT_EQ(CausesOf(RunIdle(maker.Finish(), {})), "launch 40, load 40, profiler 20");
}

TEST(Idle, OverheadOfOtherThreadsHoldsUpNobody) {
  TraceMaker maker = AfterAKernel();
  const uint32_t worker = maker.AddThread(0, 101);
  maker.AddOverhead(100, 120, kBufferFlush, worker);
  maker.AddOverhead(100, 120, kBufferFlush, kNone);
  maker.Launch(120, 130, 140, 200);
  EXPECT_EQ(CausesOf(RunIdle(maker.Finish(), {})), "launch 20, host 20");
}

TEST(Idle, DependencyWhenTheStreamWaitsForAnEvent) {
  TraceMaker maker = AfterAKernel();
  const uint32_t stream = maker.AddStream(7);
  maker.AddSync(20, 22, SyncKind::kStreamWaitEvent, kNone, stream);
  maker.Launch(30, 35, 108, 200).stream = stream;
  EXPECT_EQ(CausesOf(RunIdle(maker.Finish(), {})), "dependency 8");
}

TEST(Idle, QueueWhenAnEarlierOperationHadTheWait) {
  TraceMaker maker;
  const uint32_t stream = maker.AddStream(7);
  maker.AddSync(-30, -28, SyncKind::kStreamWaitEvent, kNone, stream);
  maker.Launch(-20, -10, 0, 100).stream = stream;
  maker.Launch(30, 35, 108, 200).stream = stream;
  EXPECT_EQ(CausesOf(RunIdle(maker.Finish(), {})), "queue 8");
}

TEST(Idle, UnknownWithoutALaunchingCallSaysWhy) {
  TraceMaker maker;
  maker.AddKernel(0, 100);
  maker.AddKernel(150, 200);
  const AnalysisResult result = RunIdle(maker.Finish(), {});
  EXPECT_EQ(CausesOf(result), "unknown 50");
  EXPECT_NE(TableOf(result, "idle").note.find("no CUDA calls were recorded"), std::string::npos);
}

TEST(Idle, UnknownInAnIncompleteTraceSaysSo) {
  TraceMaker maker = AfterAKernel();
  maker.AddKernel(150, 200);
  maker.trace().health.lost_records = 3;
  EXPECT_NE(TableOf(RunIdle(maker.Finish(), {}), "idle").note.find("the trace is incomplete"), std::string::npos);
}

TEST(Idle, UnknownBeforeTheLaunchingProcessStarted) {
  TraceMaker maker = AfterAKernel();
  maker.trace().processes[0].end_ns = 300;
  const uint32_t thread = maker.AddThread(maker.AddProcess(200, 140), 200);
  maker.Launch(180, 190, 200, 300, thread);
  const AnalysisResult result = RunIdle(maker.Finish(), {});
  EXPECT_EQ(CausesOf(result), "host 40, unknown 40, launch 20");
  EXPECT_NE(TableOf(result, "idle").note.find("had not started"), std::string::npos);
}

TEST(Idle, SeveralProcessesShareTheGapsOfTheDevice) {
  TraceMaker maker;
  const uint32_t other = maker.AddThread(maker.AddProcess(200), 200);
  maker.Launch(-20, -10, 0, 100);
  maker.Launch(-20, -10, 50, 150, other);
  maker.Launch(160, 165, 170, 200);
  const AnalysisResult result = RunIdle(maker.Finish(), {});
  EXPECT_EQ(CausesOf(result), "launch 10, host 10");
  EXPECT_EQ(MetricOf(result, "gaps.count"), 1);
}

TEST(Idle, AnOperationBeforeItsCallHasNoLaunchPart) {
  TraceMaker maker = AfterAKernel();
  maker.Launch(130, 140, 120, 200);
  EXPECT_EQ(CausesOf(RunIdle(maker.Finish(), {})), "host 20");
}

TEST(Idle, NothingInATraceWithoutGpu) {
  TraceMaker maker;
  maker.AddCall(0, 10, "cudaGetDevice");
  const AnalysisResult result = RunIdle(maker.Finish(), {});
  EXPECT_TRUE(result.metrics.empty());
  EXPECT_TRUE(result.findings.empty());
  for (const Table& table : result.tables) EXPECT_TRUE(table.rows.empty());
}

TEST(Idle, LongestGapsWithTheirEvidence) {
  TraceMaker maker = AfterAKernel();
  maker.AddRange(120, 180, "load");
  maker.Launch(200, 205, 210, 300);
  maker.Launch(290, 300, 305, 400);
  const AnalysisResult result = RunIdle(maker.Finish(), {.max_rows = 1, .min_gap_ns = 0});
  const Table& gaps = TableOf(result, "gaps");
  ASSERT_EQ(gaps.rows.size(), 1u);
  EXPECT_EQ(IntOf(gaps, 0, "start_ns"), 120);  // the trace begins at -20
  EXPECT_EQ(IntOf(gaps, 0, "duration_ns"), 110);
  EXPECT_EQ(TextOf(gaps, 0, "device"), "gpu0");
  EXPECT_EQ(TextOf(gaps, 0, "split"), "host 90.9%, launch 9.1%");
  EXPECT_EQ(TextOf(gaps, 0, "path"), "load");
  EXPECT_EQ(TextOf(gaps, 0, "before"), "work");
  EXPECT_EQ(TextOf(gaps, 0, "call"), "cudaLaunchKernel");
  EXPECT_EQ(TextOf(gaps, 0, "thread"), "main (100)");
  EXPECT_EQ(MetricOf(result, "gaps.count"), 2);
  EXPECT_EQ(MetricOf(result, "gaps.longest_ns"), 110);
}

TEST(Idle, ShortGapsStayInTheSums) {
  TraceMaker maker = AfterAKernel();
  maker.Launch(200, 205, 210, 300);
  maker.Launch(290, 300, 305, 400);
  const AnalysisResult result = RunIdle(maker.Finish(), {.max_rows = 20, .min_gap_ns = 50});
  const Table& gaps = TableOf(result, "gaps");
  ASSERT_EQ(gaps.rows.size(), 2u);
  EXPECT_EQ(TextOf(gaps, 1, "path"), "(1 shorter gap)");
  EXPECT_EQ(IntOf(gaps, 1, "duration_ns"), 5);
  EXPECT_EQ(TextOf(gaps, 1, "split"), "queue 100.0%");
  EXPECT_EQ(MetricOf(result, "gaps.count"), 2);
  EXPECT_EQ(SumOf(TableOf(result, "idle"), "idle_ns"), 115);
}

TEST(Idle, ByTheNextOperationAndItsCall) {
  TraceMaker maker = AfterAKernel();
  maker.AddKernel(110, 120, maker.AddCall(90, 95, "cudaLaunchKernel"), "short");
  maker.AddFill(150, 160, 64, maker.AddCall(100, 105, "cudaMemsetAsync"));
  maker.AddKernel(200, 300);
  const AnalysisResult result = RunIdle(maker.Finish(), kAllRows);
  const Table& next = TableOf(result, "idle_by_next");
  ASSERT_EQ(next.rows.size(), 3u);
  EXPECT_EQ(TextOf(next, 0, "kernel"), "work");
  EXPECT_EQ(IntOf(next, 0, "unknown_ns"), 40);
  EXPECT_EQ(TextOf(next, 1, "kernel"), "memset");
  EXPECT_EQ(IntOf(next, 1, "queue_ns"), 30);
  EXPECT_EQ(TextOf(next, 2, "kernel"), "short");
  EXPECT_EQ(IntOf(next, 2, "idle_ns"), 10);
  const Table& launch = TableOf(result, "idle_by_launch");
  ASSERT_EQ(launch.rows.size(), 3u);
  EXPECT_EQ(TextOf(launch, 0, "function"), "(unknown)");
  EXPECT_EQ(TextOf(launch, 1, "function"), "cudaMemsetAsync");
  EXPECT_EQ(TextOf(launch, 2, "function"), "cudaLaunchKernel");
  EXPECT_EQ(IntOf(launch, 2, "gaps"), 1);
  const Table& paths = TableOf(result, "idle_by_nvtx");
  ASSERT_EQ(paths.rows.size(), 2u);  // ties come in the order of their names
  EXPECT_EQ(TextOf(paths, 0, "path"), "(no range)");
  EXPECT_EQ(TextOf(paths, 1, "path"), "(unknown)");
}

TEST(Idle, GapsByLength) {
  TraceMaker maker;
  int64_t at_ns = 0;
  maker.AddKernel(at_ns, at_ns + 10);
  for (const int64_t gap_ns : {999LL, 1000LL, 9999LL, 10'000LL, 99'999'999LL, 100'000'000LL, 5'000'000'000LL}) {
    at_ns += 10 + gap_ns;
    maker.AddKernel(at_ns, at_ns + 10);
  }
  const AnalysisResult result = RunIdle(maker.Finish(), kAllRows);
  const Table& lengths = TableOf(result, "gap_lengths");
  ASSERT_EQ(lengths.rows.size(), 7u);
  const int64_t gaps[] = {1, 2, 1, 0, 0, 1, 2};
  const int64_t idle_ns[] = {999, 10'999, 10'000, 0, 0, 99'999'999, 5'100'000'000};
  for (size_t row = 0; row < 7; ++row) {
    EXPECT_EQ(IntOf(lengths, row, "gaps"), gaps[row]) << row;
    EXPECT_EQ(IntOf(lengths, row, "idle_ns"), idle_ns[row]) << row;
  }
}

TEST(Idle, StartUpAndTearDownAreNoIdleTime) {
  TraceMaker maker;
  maker.Launch(500, 505, 510, 600);
  maker.Launch(580, 590, 700, 800);
  const uint32_t second = maker.AddProcess(200, 300);
  maker.AddKernel(620, 650).process = second;
  maker.trace().processes[0].end_ns = 1000;
  maker.trace().processes[second].end_ns = 790;
  const AnalysisResult result = RunIdle(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "gpu.startup_ns", "gpu0"), 510);
  EXPECT_EQ(MetricOf(result, "gpu.teardown_ns", "gpu0"), 200);
  const Table& outside = TableOf(result, "outside");
  ASSERT_EQ(outside.rows.size(), 2u);
  EXPECT_EQ(IntOf(outside, 1, "pid"), 200);
  EXPECT_EQ(IntOf(outside, 1, "startup_ns"), 210);
  EXPECT_EQ(IntOf(outside, 1, "teardown_ns"), 0);  // it ended before the other's last operation
  EXPECT_EQ(SumOf(TableOf(result, "idle"), "idle_ns"), 70);
}

TEST(Idle, AThreadThatLaunchesOnTwoDevicesIsWalkedForEach) {
  TraceMaker maker;
  const uint32_t second = maker.AddDevice(1);
  for (int64_t i = 0; i < 3; ++i) {
    maker.Launch(1000 * i, 1000 * i + 10, 1000 * i + 20, 1000 * i + 100);
    maker.Launch(1000 * i + 500, 1000 * i + 510, 1000 * i + 520, 1000 * i + 600).device = second;
  }
  const AnalysisResult result = RunIdle(maker.Finish(), {});
  for (const char* scope : {"gpu0", "gpu1"}) {
    EXPECT_EQ(MetricOf(result, "idle.host_ns", scope), 1780) << scope;
    EXPECT_EQ(MetricOf(result, "idle.api_ns", scope), 20) << scope;
    EXPECT_EQ(MetricOf(result, "idle.launch_ns", scope), 40) << scope;
  }
}

TEST(Idle, QueuedWorkThatWaitsForManagedMemoryIsMemory) {
  TraceMaker maker;
  maker.Launch(0, 5, 10, 20);
  maker.Launch(6, 8, 120, 130);
  for (const auto& [start_ns, end_ns] : {std::pair{15, 40}, {30, 50}, {90, 100}}) {
    ManagedMemory m;
    m.start_ns = start_ns;
    m.end_ns = end_ns;
    m.destination = 0;
    m.kind = trace::ManagedKind::kHostToDevice;
    maker.trace().managed_memory.push_back(m);
  }
  const AnalysisResult idle = RunIdle(maker.Finish(), {});
  EXPECT_EQ(MetricOf(idle, "idle.memory_ns"), 40);
  EXPECT_EQ(MetricOf(idle, "idle.queue_ns"), 60);
  EXPECT_EQ(MetricOf(idle, "gaps.count"), 1);
}

TEST(Captures, CutGapsAndWindows) {
  TraceMaker maker;
  maker.AddCapture(0, 100);
  maker.AddCapture(200, 300);
  maker.Launch(10, 12, 20, 40);
  maker.Launch(210, 212, 230, 240);
  const Trace trace = maker.Finish();
  const AnalysisResult idle = RunIdle(trace, {}), devices = RunDevices(trace, {});
  EXPECT_EQ(MetricOf(devices, "gpu.window_ns"), 120);  // 20 to 100 and 200 to 240
  EXPECT_EQ(MetricOf(devices, "gpu.idle_ns"), 90);
  EXPECT_EQ(MetricOf(idle, "gaps.count"), 2);
  EXPECT_EQ(MetricOf(idle, "gaps.longest_ns"), 60);
  EXPECT_EQ(MetricOf(idle, "idle.host_ns"), 70);
  EXPECT_EQ(MetricOf(idle, "idle.launch_ns"), 20);
  const Table& gaps = TableOf(idle, "gaps");
  EXPECT_EQ(TextOf(gaps, 0, "before"), "work");
  EXPECT_EQ(TextOf(gaps, 0, "after"), "(end of the capture)");
  EXPECT_EQ(TextOf(gaps, 1, "before"), "(start of the capture)");
  EXPECT_EQ(TextOf(gaps, 1, "after"), "work");
  EXPECT_NE(TableOf(idle, "idle").note.find("Time between captures was not recorded"), std::string::npos);
  EXPECT_EQ(MetricOf(RunStreams(trace, {}), "streams.max_concurrency"), 1);
}

TEST(Captures, OfOneProcessDoNotCutWhatAnotherRecordsThroughout) {
  TraceMaker maker;
  maker.trace().processes[0].end_ns = 300;
  const uint32_t other = maker.AddThread(maker.AddProcess(200), 200);
  maker.AddCapture(0, 100);
  maker.AddCapture(200, 300);
  maker.Launch(10, 12, 20, 40);
  maker.Launch(210, 212, 230, 240);
  maker.Launch(250, 251, 260, 270, other);
  const AnalysisResult idle = RunIdle(maker.Finish(), {});
  EXPECT_EQ(MetricOf(idle, "gaps.count"), 2);
  EXPECT_EQ(MetricOf(idle, "gaps.longest_ns"), 190);
  EXPECT_EQ(MetricOf(idle, "idle.unknown_ns"), 100);  // the process that launched next was not recorded
  EXPECT_NE(TableOf(idle, "idle").note.find("100 ns because the process that launched next was not being recorded"),
            std::string::npos);
}

// `bash -c 'a; b'`: what lies between the work of the two is the end of one and the start of the other.
TEST(Captures, BetweenTwoProgramsIsNobodysTime) {
  TraceMaker maker;
  const uint32_t other = maker.AddThread(maker.AddProcess(200, 200), 200);
  maker.trace().processes[0].end_ns = 100;
  maker.Launch(10, 12, 20, 40);
  maker.Launch(45, 46, 60, 80);
  maker.Launch(260, 262, 280, 290, other);
  const Trace trace = maker.Finish();
  const AnalysisResult idle = RunIdle(trace, {});
  EXPECT_EQ(MetricOf(RunDevices(trace, {}), "gpu.window_ns"), 60 + 10);
  EXPECT_EQ(MetricOf(idle, "gaps.count"), 1);
  EXPECT_EQ(MetricOf(idle, "gaps.longest_ns"), 20);
  EXPECT_EQ(MetricOf(idle, "idle.unknown_ns"), 0);
}

TEST(Captures, WorkFromBeforeThemIsSaidToBe) {
  TraceMaker maker;
  maker.AddCapture(0, 100);
  maker.AddCapture(200, 300);
  maker.Launch(10, 12, 20, 100);
  maker.AddKernel(230, 240).is_from_before = true;
  const AnalysisResult idle = RunIdle(maker.Finish(), {});
  EXPECT_EQ(MetricOf(idle, "idle.unknown_ns"), 30);
  EXPECT_NE(TableOf(idle, "idle").note.find("Unknown: 30 ns because the call was made before the capture"),
            std::string::npos);
}

}  // namespace
}  // namespace gprof::test
