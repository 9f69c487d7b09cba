#include "analysis/topics/idle/idle_findings.h"

#include <gtest/gtest.h>

#include <string>

#include "analysis/findings/ranked_findings.h"
#include "analysis/result/idle_causes.h"
#include "analysis/topics/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

// `steps` kernels of `kernel_ns`; before each the host works for `host_ns` in the range step/load.
Trace StarvedLoader(int64_t steps, int64_t host_ns, int64_t kernel_ns) {
  TraceMaker maker;
  int64_t now_ns = 0;
  for (int64_t i = 0; i < steps; ++i) {
    maker.AddRange(now_ns, now_ns + host_ns + 8 * kUs, "step");
    maker.AddRange(now_ns, now_ns + host_ns, "step/load");
    now_ns += host_ns;
    maker.Launch(now_ns, now_ns + 3 * kUs, now_ns + 5 * kUs, now_ns + 5 * kUs + kernel_ns);
    now_ns += 8 * kUs;
    maker.AddCall(now_ns, now_ns + kernel_ns, "cudaDeviceSynchronize");
    now_ns += kernel_ns;
  }
  return maker.Finish();
}

TEST(IdleFindings, StarvedLoaderNamesTheRange) {
  const AnalysisResult result = RunIdle(StarvedLoader(20, 8 * kMs, 2 * kMs), {});
  const Finding* finding = FindingOf(result, "idle.host");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(&result.findings.front(), finding);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_EQ(finding->gain_ns, 19 * 8 * kMs);
  EXPECT_EQ(
      WordsOf(finding),
      "gpu0 idle for 79.1% of the time in the \"step\" iterations (152.00 ms): the host was running its own code, "
      "all in step/load | All idle time: 79.2% of 192.15 ms in the \"step\" iterations");
  EXPECT_FALSE(finding->advice.empty());
  EXPECT_FALSE(finding->basis.empty());
}

// The first step loads for 300 ms and a second passes before it; 20 others load for 1 ms each.
TEST(IdleFindings, WithStepsWhatComesOnceIsNotToBeWon) {
  TraceMaker maker;
  maker.Launch(0, 3 * kUs, 5 * kUs, 10 * kUs);
  int64_t now_ns = 1'000 * kMs;
  for (int64_t i = 0; i < 21; ++i) {
    const int64_t load_ns = i == 0 ? 300 * kMs : kMs;
    maker.AddRange(now_ns, now_ns + load_ns + 100 * kMs, "step");
    now_ns += load_ns;
    maker.Launch(now_ns, now_ns + 3 * kUs, now_ns + 5 * kUs, now_ns + 100 * kMs);
    now_ns += 100 * kMs;
  }
  const AnalysisResult result = RunIdle(maker.Finish(), {});
  EXPECT_EQ(FindingOf(result, "idle.host"), nullptr);  // 1 % of the steps
  // The figures themselves are those of all idle time.
  EXPECT_EQ(MetricOf(result, "idle.host_ns"), (1'000 * kMs - 10 * kUs) + 300 * kMs + 20 * kMs);
}

// A second passes outside any range before the first step, and 40 ms in each of 20 steps: the second is most of the
// host's time, and says nothing of the steps.
TEST(IdleFindings, WhereStepsWereIdleIsNotToldByStartUp) {
  TraceMaker maker;
  maker.Launch(0, 3 * kUs, 5 * kUs, 10 * kUs);
  int64_t now_ns = 1'000 * kMs;
  for (int64_t i = 0; i < 20; ++i) {
    maker.AddRange(now_ns, now_ns + 50 * kMs, "step");
    maker.Launch(now_ns + 40 * kMs, now_ns + 40 * kMs + 3 * kUs, now_ns + 40 * kMs + 5 * kUs, now_ns + 50 * kMs);
    now_ns += 50 * kMs;
  }
  const AnalysisResult result = RunIdle(maker.Finish(), {});
  const Finding* finding = FindingOf(result, "idle.host");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->message.find("in the \"step\" iterations"), std::string::npos) << finding->message;
  EXPECT_EQ(WordsOf(finding).find("outside any NVTX range"), std::string::npos) << WordsOf(finding);
}

TEST(IdleFindings, WhatIsQueuedForLongIsNoLatency) {
  TraceMaker maker;
  for (int64_t i = 0; i < 20; ++i) {
    maker.Launch(i * 10, i * 10 + 5, i * kMs + 100 * kUs, i * kMs + kMs - 200 * kUs);
  }
  const AnalysisResult result = RunIdle(maker.Finish(), {});
  const Finding* finding = FindingOf(result, "idle.queue");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->advice.find("300.00 us per gap"), 0u) << finding->advice;
}

// Launches that take `call_ns`, of which the GPU starts each `late_ns` after the return; every one of `kernels` by
// turns.
Trace Launches(int64_t count, int64_t call_ns, int64_t late_ns, int64_t kernels) {
  TraceMaker maker;
  int64_t now_ns = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t start_ns = now_ns + call_ns + late_ns;
    const uint32_t call = maker.AddCall(now_ns, now_ns + call_ns, "cudaLaunchKernel");
    maker.AddKernel(start_ns, start_ns + 100 * kUs, call, "kernel " + std::to_string(i % kernels));
    now_ns = start_ns + 100 * kUs;
  }
  return maker.Finish();
}

TEST(IdleFindings, AGraphIsForLaunchesAlone) {
  const AnalysisResult result = RunIdle(Launches(40, 30 * kUs, 5 * kUs, 1), {});
  const Finding* launching = FindingOf(result, "idle.launch");
  ASSERT_NE(launching, nullptr);
  EXPECT_NE(launching->advice.find("CUDA graph"), std::string::npos);
  EXPECT_EQ(launching->evidence.front(), "1.17 ms in the launch calls, 195.00 us after they had returned");
}

TEST(IdleFindings, WhatStartsLateWasLaunched) {
  const AnalysisResult result = RunIdle(Launches(40, 5 * kUs, 30 * kUs, 1), {});
  const Finding* late = FindingOf(result, "idle.launch");
  ASSERT_NE(late, nullptr);
  EXPECT_EQ(late->advice.find("CUDA graph"), std::string::npos) << late->advice;
}

TEST(IdleFindings, FirstLaunchesLoadCode) {
  const AnalysisResult result = RunIdle(Launches(40, 500 * kUs, 5 * kUs, 40), {});
  EXPECT_EQ(FindingOf(result, "idle.launch"), nullptr);
  const Finding* first = FindingOf(result, "startup.first_launches");
  ASSERT_NE(first, nullptr);
  EXPECT_GT(first->gain_ns, 9 * kMs);
}

// 60 kernels of 100 us, and before the 50th of them own code, a call that loads code, and own code again.
Trace LoadsLate(bool is_new) {
  TraceMaker maker;
  int64_t now_ns = 0;
  for (int64_t i = 0; i < 60; ++i) {
    if (i == 50) {
      maker.AddCall(now_ns + 3 * kMs, now_ns + 4 * kMs, "cuModuleLoadData");
      now_ns += 5 * kMs;
    }
    const uint32_t call = maker.AddCall(now_ns, now_ns + 5 * kUs, "cudaLaunchKernel");
    maker.AddKernel(now_ns + 5 * kUs, now_ns + 105 * kUs, call, is_new && i >= 50 ? "second" : "first");
    now_ns += 105 * kUs;
  }
  return maker.Finish();
}

TEST(IdleFindings, WhatTheHostDoesUntilItLoadsCodeIsStartUp) {
  const AnalysisResult result = RunIdle(LoadsLate(true), {});
  const Finding* first = FindingOf(result, "startup.first_launches");
  ASSERT_NE(first, nullptr);
  EXPECT_NE(WordsOf(first).find(" | 1.00 ms of loading code | 4.00 ms of host code"), std::string::npos);
  EXPECT_EQ(first->gain_ns, 5 * kMs);
  EXPECT_EQ(FindingOf(result, "idle.host"), nullptr);
}

TEST(IdleFindings, WhatIsLoadedAgainIsNoStartUp) {
  const AnalysisResult result = RunIdle(LoadsLate(false), {});
  EXPECT_EQ(FindingOf(result, "startup.first_launches"), nullptr);
  const Finding* host = FindingOf(result, "idle.host");
  ASSERT_NE(host, nullptr);
  EXPECT_EQ(host->gain_ns, 4 * kMs);
}

// A copy in, own code, one kernel, a copy out.
// 60 kernels of one name, and 20 ms of the host's own code before the 50th of them.
TraceMaker WorksLate() {
  TraceMaker maker;
  int64_t now_ns = 0;
  for (int64_t i = 0; i < 60; ++i) {
    if (i == 50) now_ns += 20 * kMs;
    const uint32_t call = maker.AddCall(now_ns, now_ns + 5 * kUs, "cudaLaunchKernel");
    maker.AddKernel(now_ns + 5 * kUs, now_ns + 105 * kUs, call, "convolution");
    now_ns += 105 * kUs;
  }
  return maker;
}
constexpr int64_t kWorksLateNs = 50 * 105 * kUs;

TEST(IdleFindings, WhatALibraryCompilesForAKernelOfTheSameNameIsStartUp) {
  TraceMaker maker = WorksLate();
  maker.AddCall(kWorksLateNs + 19 * kMs, kWorksLateNs + 20 * kMs, "cuModuleLoadData");
  const AnalysisResult result = RunIdle(maker.Finish(), {});
  const Finding* first = FindingOf(result, "startup.first_launches");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->gain_ns, 20 * kMs);
  EXPECT_EQ(FindingOf(result, "idle.host"), nullptr);
}

TEST(IdleFindings, WhatXlaSaysThatItCompilesIsStartUp) {
  const auto gain_of = [](int64_t compiles_ns) {
    TraceMaker maker = WorksLate();
    maker.AddRange(kWorksLateNs + 14 * kMs - compiles_ns, kWorksLateNs + 14 * kMs, "TSL/XlaCompile:#module=jit_step#");
    const AnalysisResult result = RunIdle(maker.Finish(), {});
    const Finding* first = FindingOf(result, "startup.first_launches");
    return first == nullptr ? 0 : first->gain_ns;
  };
  EXPECT_EQ(gain_of(10 * kMs), 14 * kMs);  // tracing a function comes before compiling it
  EXPECT_EQ(gain_of(6 * kMs), 0);          // less than half of what came until then
}

TEST(IdleFindings, WhereNoKernelRunsTwiceAllIsStartUp) {
  TraceMaker maker;
  maker.AddPageable(0, 100 * kUs, kMegabyte, maker.AddCall(0, 100 * kUs, "cudaMemcpy"));
  maker.Launch(10 * kMs, 10 * kMs + 5 * kUs, 10 * kMs + 5 * kUs, 11 * kMs);
  const uint32_t back = maker.AddCall(13 * kMs, 13 * kMs + 100 * kUs, "cudaMemcpy");
  maker.AddCopy(13 * kMs, 13 * kMs + 100 * kUs, kMegabyte, trace::CopyKind::kDeviceToHost, back);
  const AnalysisResult result = RunIdle(maker.Finish(), {});
  const Finding* once = FindingOf(result, "startup.first_launches");
  ASSERT_NE(once, nullptr);
  EXPECT_EQ(once->message.find("No kernel ran twice: GPU idle for 90.9% of the GPU window (11.90 ms)"), 0u)
      << once->message;
  EXPECT_EQ(once->severity, Severity::kWarning);
  EXPECT_EQ(FindingOf(result, "idle.host"), nullptr);
}

TEST(IdleFindings, NothingOfABusyGpu) {
  TraceMaker maker;
  for (int64_t i = 0; i < 100; ++i) maker.Launch(i * 10, i * 10 + 5, i * kMs + kMs, (i + 2) * kMs);
  EXPECT_TRUE(RunIdle(maker.Finish(), {}).findings.empty());
}

TEST(IdleFindings, LittleIdleTimeIsNotWorthAFinding) {
  EXPECT_EQ(FindingOf(RunIdle(StarvedLoader(20, 100 * kUs, 2 * kMs), {}), "idle.host"), nullptr);
}

TEST(IdleFindings, SyncDrainsTheGpu) {
  TraceMaker maker;
  for (int64_t i = 0; i < 50; ++i) {
    const int64_t start_ns = i * 100 * kUs;
    maker.Launch(start_ns, start_ns + 5 * kUs, start_ns + 8 * kUs, start_ns + 80 * kUs);
    maker.AddCall(start_ns + 5 * kUs, start_ns + 90 * kUs, "cudaStreamSynchronize");
  }
  const Trace trace = maker.Finish();
  const AnalysisResult result = RunIdle(trace, {});
  const Finding* finding = FindingOf(result, "sync.drains");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gain_ns, 49 * 28 * kUs);  // until the wait returned, host code, until the next kernel ran
  EXPECT_EQ(FindingOf(RunLaunches(trace, {}), "launch.bound"), nullptr);
}

TEST(IdleFindings, SyncIsNoProblemWhereWorkIsQueued) {
  TraceMaker maker;
  for (int64_t i = 0; i < 50; ++i) {
    const int64_t start_ns = i * 100 * kUs;
    maker.Launch(start_ns - 30 * kUs, start_ns - 25 * kUs, start_ns, start_ns + 99 * kUs);
    maker.AddCall(start_ns + 5 * kUs, start_ns + 60 * kUs, "cudaStreamSynchronize");
  }
  EXPECT_EQ(FindingOf(RunIdle(maker.Finish(), {}), "sync.drains"), nullptr);
}

TEST(IdleFindings, UnknownTimePromisesNoGain) {
  TraceMaker maker;
  maker.AddKernel(0, 100);
  maker.AddKernel(500, 600);
  const AnalysisResult result = RunIdle(maker.Finish(), {});
  const Finding* finding = FindingOf(result, "idle.unknown");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gain_ns, 0);
}

TEST(IdleFindings, SeveralGpusAreCounted) {
  TraceMaker maker;
  const uint32_t second = maker.AddDevice(1);
  for (uint32_t device : {0u, second}) {
    maker.AddKernel(0, 100).device = device;
    maker.AddKernel(500, 600).device = device;
  }
  const AnalysisResult result = RunIdle(maker.Finish(), {});
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].message.find("2 GPUs idle for 66.7% of the GPU window (800 ns): "), 0u)
      << result.findings[0].message;
}

// A gap of 100 ns between two kernels, all of it with one cause.
Trace GapWith(Cause cause) {
  TraceMaker maker;
  maker.Launch(-20, -10, 0, 100);
  const auto after_call = [&](const char* function) {
    maker.AddCall(100, 200, function);
    maker.Launch(200, 205, 200, 300);
  };
  switch (cause) {
    case Cause::kQueue:
      maker.Launch(10, 20, 200, 300);
      break;
    case Cause::kDependency: {
      const uint32_t stream = maker.AddStream(7, false);
      maker.AddSync(5, 6, trace::SyncKind::kStreamWaitEvent, kNone, stream);
      maker.Launch(10, 20, 200, 300).stream = stream;
      break;
    }
    case Cause::kLaunch:
      maker.Launch(100, 190, 200, 300);
      break;
    case Cause::kSync:
      after_call("cudaDeviceSynchronize");
      break;
    case Cause::kCopy:
      maker.AddPageable(200, 300, 64, maker.AddCall(100, 310, "cudaMemcpy"));
      break;
    case Cause::kMemory:
      after_call("cudaMalloc");
      break;
    case Cause::kLoad:
      after_call("cuModuleLoad");
      break;
    case Cause::kApi:
      after_call("cudaEventRecord");
      break;
    case Cause::kProfiler:
      maker.AddOverhead(100, 200, 1u << 16);
      maker.Launch(200, 205, 200, 300);
      break;
    case Cause::kOs: {
      OsCall call;
      call.start_ns = 100, call.end_ns = 200, call.thread = 0;
      call.function = maker.Name("read");
      maker.trace().os_calls.push_back(call);
      maker.Launch(200, 205, 200, 300);
      break;
    }
    case Cause::kMpi: {
      MpiCall call;
      call.start_ns = 100, call.end_ns = 200, call.thread = 0;
      call.function = maker.Name("MPI_Allreduce");
      maker.trace().mpi_calls.push_back(call);
      maker.Launch(200, 205, 200, 300);
      break;
    }
    case Cause::kHost:
      maker.Launch(200, 205, 200, 300);
      break;
    case Cause::kUnknown:
      maker.AddKernel(200, 300);
      break;
  }
  return maker.Finish();
}

TEST(IdleFindings, EachCauseIsSaidWhereItIsAndNowhereElse) {
  ForEachCause([](Cause cause) {
    const AnalysisResult result = RunIdle(GapWith(cause), {});
    ASSERT_EQ(result.findings.size(), 1u) << InfoOf(cause).name;
    const Finding& finding = result.findings[0];
    EXPECT_EQ(finding.id, "idle." + std::string(InfoOf(cause).name));
    EXPECT_EQ(finding.message.find("gpu0 idle for 33.3% of the GPU window (100 ns): "), 0u) << finding.message;
    EXPECT_NE(finding.message.find(InfoOf(cause).verb), std::string::npos) << finding.message;
    EXPECT_EQ(finding.advice, InfoOf(cause).advice);
  });
}

TEST(RankFindings, GainThenSeverityThenName) {
  std::vector<Finding> findings = {{"b", Severity::kInfo, "", "", 0, ""},
                                   {"a", Severity::kInfo, "", "", 0, ""},
                                   {"c", Severity::kWarning, "", "", 0, ""},
                                   {"d", Severity::kInfo, "", "", 7, ""},
                                   {"e", Severity::kInfo, "", "", 9, ""}};
  RankFindings(&findings);
  std::string order;
  for (const Finding& finding : findings) order += finding.id;
  EXPECT_EQ(order, "edcab");
}

}  // namespace
}  // namespace gprof::test
