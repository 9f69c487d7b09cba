#include <gtest/gtest.h>

#include <string>

#include "analysis/topics/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

constexpr uint32_t kResource = 3u << 16, kLazyLoading = 5u << 16, kCommandBufferFull = 6u << 16;

int64_t TimeOf(const AnalysisResult& result, std::string_view what) {
  const Table& table = TableOf(result, "startup");
  for (size_t i = 0; i < table.rows.size(); ++i) {
    if (TextOf(table, i, "what") == what) return IntOf(table, i, "time_ns");
  }
  return 0;
}

TEST(Startup, EveryNanosecondHasOnePart) {
  TraceMaker maker;
  maker.AddCall(100, 105, "cuDeviceGetQuery");  // a query makes no context
  maker.AddCall(110, 200, "cudaMalloc");        // the first call does
  maker.AddOverhead(150, 160, kResource);       // within it
  maker.AddCall(210, 220, "cudaMalloc");
  maker.AddCall(230, 260, "cuModuleLoad");
  maker.AddJit(240, 250);
  maker.trace().jits.back().operation = 3;
  maker.AddOverhead(300, 310, kCommandBufferFull);  // is none
  const uint32_t call = maker.AddCall(320, 350, "cudaLaunchKernel");
  maker.AddOverhead(325, 340, kLazyLoading);
  maker.AddKernel(360, 400, call);
  const AnalysisResult result = RunStartup(maker.Finish(), {});
  EXPECT_EQ(TimeOf(result, "host code before the first CUDA call"), 100);
  EXPECT_EQ(TimeOf(result, "other CUDA calls"), 5);
  EXPECT_EQ(TimeOf(result, "CUDA context creation"), 80);
  EXPECT_EQ(TimeOf(result, "profiling (CUPTI)"), 10);
  EXPECT_EQ(TimeOf(result, "memory allocation"), 10);
  EXPECT_EQ(TimeOf(result, "module loading"), 20);
  EXPECT_EQ(TimeOf(result, "JIT compilation"), 10);
  EXPECT_EQ(TimeOf(result, "lazy kernel loading"), 15);
  EXPECT_EQ(TimeOf(result, "first launch"), 25);
  EXPECT_EQ(TimeOf(result, "host code between CUDA calls"), 5 + 10 + 10 + 60);
  EXPECT_EQ(SumOf(TableOf(result, "startup"), "time_ns"), 360);
  EXPECT_EQ(MetricOf(result, "startup.longest_ns"), 360);
  EXPECT_EQ(MetricOf(result, "startup.own_ns"), 185);
  EXPECT_EQ(MetricOf(result, "startup.context_ns"), 80);
  EXPECT_EQ(MetricOf(result, "startup.load_ns"), 35);
  EXPECT_EQ(MetricOf(result, "startup.compile_ns"), 10);
  EXPECT_EQ(MetricOf(result, "startup.profiler_ns"), 10);
  EXPECT_EQ(MetricOf(result, "jit.compiles"), 1);
  EXPECT_EQ(MetricOf(result, "jit.compile_ns"), 10);
  EXPECT_TRUE(result.findings.empty());
}

TEST(Startup, ACallThatMakesTheContextByItself) {
  TraceMaker maker;
  const uint32_t call = maker.AddCall(10, 110, "cuDevicePrimaryCtxRetain");
  maker.Call(call).api_class = ApiClass::kLoad;
  maker.AddCall(120, 140, "cudaMalloc");
  maker.Launch(150, 160, 170, 200);
  const AnalysisResult result = RunStartup(maker.Finish(), {});
  EXPECT_EQ(TimeOf(result, "CUDA context creation"), 100);
  EXPECT_EQ(TimeOf(result, "memory allocation"), 20);
}

TEST(Startup, OtherThreadsDoNotCount) {
  TraceMaker maker;
  const uint32_t other = maker.AddThread(0, 101);
  maker.AddCall(10, 60, "cuModuleLoad", other);
  maker.AddOverhead(20, 30, kResource, other);
  maker.Launch(70, 80, 90, 100);
  const AnalysisResult result = RunStartup(maker.Finish(), {});
  EXPECT_EQ(TimeOf(result, "host code before the first CUDA call"), 70);
  EXPECT_EQ(TimeOf(result, "first launch"), 20);
}

TEST(Startup, ProcessesOneByOne) {
  TraceMaker maker;
  const uint32_t process = maker.AddProcess(200, 1000);
  const uint32_t thread = maker.AddThread(process, 200);
  maker.Launch(10, 20, 30, 40);
  maker.Launch(1500, 1510, 1520, 1600, thread);
  const AnalysisResult result = RunStartup(maker.Finish(), {});
  const Table& table = TableOf(result, "startup_processes");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(IntOf(table, 0, "pid"), 200);
  EXPECT_EQ(IntOf(table, 0, "total_ns"), 520);
  EXPECT_EQ(IntOf(table, 1, "total_ns"), 30);
  EXPECT_EQ(MetricOf(result, "startup.longest_ns"), 520);
  EXPECT_NE(TableOf(result, "startup").note.find("Summed over 2 processes."), std::string::npos);
}

TEST(Startup, NotOfWhatWasNotRecorded) {
  TraceMaker maker;
  maker.AddCapture(1000, 2000);
  maker.Launch(1100, 1110, 1120, 1200);
  const AnalysisResult result = RunStartup(maker.Finish(), {});
  EXPECT_TRUE(TableOf(result, "startup").rows.empty());
  EXPECT_EQ(MetricOf(result, "startup.longest_ns"), 0);
}

TEST(Startup, NotOfASelectedTime) {
  TraceMaker maker;
  maker.Launch(100, 110, 120, 200);
  maker.trace().device_windows.resize(1);
  maker.trace().device_windows[0].time = {100, 300};
  EXPECT_TRUE(TableOf(RunStartup(maker.Finish(), {}), "startup").rows.empty());
}

TEST(Startup, FirstLaunchesOfKernels) {
  TraceMaker maker;
  int64_t now_ns = 0;
  const auto launch = [&](int64_t call_ns, std::string_view name) {
    maker.AddKernel(now_ns + call_ns, now_ns + call_ns + 10,
                    maker.AddCall(now_ns, now_ns + call_ns, "cudaLaunchKernel"), name);
    now_ns += call_ns + 20;
  };
  launch(500, "a");
  launch(300, "b");
  for (int i = 0; i < 4; ++i) launch(10, "a");
  launch(400, "once");
  for (int i = 0; i < 4; ++i) launch(100, "b");
  const AnalysisResult result = RunStartup(maker.Finish(), {});
  const Table& table = TableOf(result, "first_launches");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(TextOf(table, 0, "kernel"), "a");
  EXPECT_EQ(IntOf(table, 0, "extra_ns"), 490);
  EXPECT_EQ(IntOf(table, 0, "first_ns"), 500);
  EXPECT_EQ(RealOf(table, 0, "median_ns"), 10);
  EXPECT_EQ(IntOf(table, 1, "extra_ns"), 200);
  EXPECT_EQ(MetricOf(result, "startup.first_launch_ns"), 690);
}

TEST(Startup, CompilingIsWorthAFinding) {
  TraceMaker maker;
  maker.trace().processes[0].name = maker.Name("train");
  maker.AddCall(0, 100 * kMs, "cuModuleLoad");
  maker.AddJit(10 * kMs, 90 * kMs);
  maker.trace().jits.back().operation = 3;
  maker.trace().jits.back().cache_bytes = 4096;
  maker.AddCall(100 * kMs, 101 * kMs, "cuModuleLoad");
  maker.Launch(110 * kMs, 110 * kMs + 10, 110 * kMs + 20, 200 * kMs);
  const AnalysisResult result = RunStartup(maker.Finish(), {});
  const Finding* finding = FindingOf(result, "startup.load");
  ASSERT_NE(finding, nullptr);
  // The first call makes the context, whatever else it does.
  EXPECT_EQ(WordsOf(finding),
            "train (100) spent 40.5% of its lifetime (81.00 ms) loading and compiling code before its first GPU "
            "operation | Compilation took 80.00 ms");
  EXPECT_EQ(finding->gain_ns, 81 * kMs);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_NE(finding->advice.find("Build for this GPU's architecture"), std::string::npos);
  const Table& jit = TableOf(result, "jit");
  ASSERT_EQ(jit.rows.size(), 1u);
  EXPECT_EQ(IntOf(jit, 0, "bytes"), 4096);
  EXPECT_FALSE(TableOf(result, "startup").is_detail);
}

TEST(Startup, ASlowOneIsSaidWithoutAGain) {
  TraceMaker maker;
  maker.trace().processes[0].name = maker.Name("train");
  maker.AddCall(1500 * kMs, 1900 * kMs, "cudaMalloc");
  maker.Launch(2000 * kMs, 2000 * kMs + 10, 2000 * kMs + 20, 4000 * kMs);
  const AnalysisResult result = RunStartup(maker.Finish(), {});
  const Finding* finding = FindingOf(result, "startup.slow");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(
      WordsOf(finding),
      "train (100) took 50.0% of its lifetime (2.00 s) to reach its first GPU operation | Largest parts: 1.50 s "
      "host code before the first CUDA call, 400.00 ms CUDA context creation, 100.00 ms host code between CUDA calls");
  EXPECT_EQ(finding->gain_ns, 0);
}

// 100 ms for the context, and work that spans as much of the run as given.
const Finding* OnlyOf(int64_t work_ns, AnalysisResult* result) {
  TraceMaker maker;
  maker.trace().processes[0].name = maker.Name("add");
  maker.AddCall(100 * kMs, 200 * kMs, "cudaMalloc");
  maker.Launch(210 * kMs, 210 * kMs + 10, 210 * kMs + 20, 210 * kMs + 20 + work_ns);
  *result = RunStartup(maker.Finish(), {});
  return FindingOf(*result, "startup.only");
}

TEST(Startup, ARunWithHardlyAnyWorkIsSaidToBeStartUp) {
  AnalysisResult result;
  const Finding* finding = OnlyOf(2 * kMs, &result);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(WordsOf(finding),
            "The run is start-up: the GPU work of add (100) spans 0.9% of it, 2.00 ms of 212.00 ms | Largest parts "
            "before it: 100.00 ms CUDA context creation, 100.00 ms host code before the first CUDA call, "
            "10.00 ms host code between CUDA calls");
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_EQ(OnlyOf(11 * kMs, &result), nullptr);  // more than 1 %, and than a tenth of making the context
}

// `kernels` that begin after 210 ms and take 5 ms together, of which 100 ms were for the context; then the host checks
// the results.
const Finding* OnlyOfSome(int64_t kernels, int64_t checked_ns, AnalysisResult* result) {
  TraceMaker maker;
  maker.trace().processes[0].name = maker.Name("add");
  maker.AddCall(100 * kMs, 200 * kMs, "cudaMalloc");
  for (int64_t i = 0; i < kernels; ++i) {
    const int64_t start_ns = 210 * kMs + i * 5 * kMs / kernels;
    maker.Launch(start_ns, start_ns + 10, start_ns + 20, start_ns + 5 * kMs / kernels - 100);
  }
  maker.AddCall(215 * kMs + checked_ns, 215 * kMs + checked_ns + 10, "cudaFree");
  *result = RunStartup(maker.Finish(), {});
  return FindingOf(*result, "startup.only");
}

TEST(Startup, SoIsOneOfAFewOperationsThatTakeLessThanATenthOfMakingTheContext) {
  AnalysisResult result;
  EXPECT_NE(OnlyOfSome(32, 0, &result), nullptr);  // 2.3 %
  EXPECT_EQ(OnlyOfSome(33, 0, &result), nullptr);
}

TEST(Startup, WhatTheHostDoesAfterTheGpuIsNotCalledStartUp) {
  AnalysisResult result;
  const Finding* finding = OnlyOfSome(1, 5000 * kMs, &result);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(
      WordsOf(finding).find("The GPU hardly shows in the run: the GPU work of add (100) spans 0.1% of it, 5.00 ms "
                            "of 5.22 s | The host went on for 5.00 s after it | "),
      0u)
      << WordsOf(finding);
}

}  // namespace
}  // namespace gprof::test
