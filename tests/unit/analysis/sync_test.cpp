// Where the host waits, the idle time it causes, implied waits and polling.
#include <gtest/gtest.h>

#include "analysis/topics/analyses.h"
#include "analysis/topics/waits/host_waits.h"
#include "random_trace.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

using trace::CopyKind;
using trace::SyncKind;

std::vector<uint32_t> WaitsOf(const Trace& trace) {
  std::vector<uint32_t> memory_calls;
  for (uint32_t i = 0; i < trace.api_calls.size(); ++i) {
    if (trace.api_calls[i].api_class == ApiClass::kMemory) memory_calls.push_back(i);
  }
  return ImpliedWaits(trace, OpFacts(trace), memory_calls);
}

// Three steps: launch, 20 us of kernel, a wait that returns 30 us after the kernel ended, 5 us of own code.
TraceMaker ThreeSteps(std::string_view path) {
  TraceMaker maker;
  for (int64_t step = 0; step < 3; ++step) {
    const int64_t at = step * 60 * kUs;
    maker.Launch(at, at + 2 * kUs, at + 4 * kUs, at + 24 * kUs);
    maker.AddCall(at + 3 * kUs, at + 54 * kUs, "cudaStreamSynchronize");
    if (!path.empty()) maker.AddRange(at, at + 58 * kUs, path);
  }
  return maker;
}

TEST(SyncSites, IdleTimeByPlace) {
  TraceMaker maker = ThreeSteps("train/step");
  const uint32_t other = maker.AddThread(0, 101, "loader");
  maker.AddCall(10 * kUs, 15 * kUs, "cudaEventSynchronize", other);
  const AnalysisResult result = RunSync(maker.Finish(), {});
  const Table& table = TableOf(result, "sync_sites");
  EXPECT_TRUE(table.is_detail);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(TextOf(table, 0, "function"), "cudaStreamSynchronize");
  EXPECT_EQ(TextOf(table, 0, "waits_for"), "stream");
  EXPECT_EQ(TextOf(table, 0, "thread"), "main (100)");
  EXPECT_EQ(TextOf(table, 0, "path"), "train/step");
  EXPECT_EQ(IntOf(table, 0, "count"), 3);
  EXPECT_EQ(IntOf(table, 0, "blocked_ns"), 3 * 51 * kUs);
  EXPECT_EQ(IntOf(table, 0, "longest_ns"), 51 * kUs);
  EXPECT_EQ(IntOf(table, 0, "idle_ns"), 2 * 30 * kUs);  // nothing comes after the last
  EXPECT_EQ(TextOf(table, 1, "thread"), "loader (101)");
  EXPECT_EQ(IntOf(table, 1, "idle_ns"), 0);
  EXPECT_EQ(MetricOf(result, "sync.idle_ns"), 60 * kUs);
  EXPECT_EQ(MetricOf(result, "sync.stream_count"), 3);
  EXPECT_EQ(MetricOf(result, "sync.stream_blocked_ns"), 3 * 51 * kUs);
  EXPECT_EQ(MetricOf(result, "sync.event_count"), 1);
  EXPECT_EQ(MetricOf(result, "sync.device_count"), 0);
  EXPECT_EQ(IntOf(TableOf(result, "sync"), 0, "idle_ns"), 60 * kUs);
}

TEST(SyncSites, TheCostliestIsAFindingWhereItsRangeIsKnown) {
  const AnalysisResult result = RunSync(ThreeSteps("train/step").Finish(), {});
  const Finding* finding = FindingOf(result, "sync.site");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(WordsOf(finding),
            "GPU idle for 42.9% of the GPU window (60.00 us) in the most expensive wait; in cudaStreamSynchronize "
            "(thread main (100), range train/step) | 3 calls, host blocked for 153.00 us, GPU idle for 60.00 us of "
            "that");
  EXPECT_EQ(finding->gain_ns, 60 * kUs);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  // One place without a range: idle.sync has said it.
  EXPECT_EQ(FindingOf(RunSync(ThreeSteps("").Finish(), {}), "sync.site"), nullptr);
}

// The idle time by place sums to the causes of `idle`.
TEST(SyncSites, SumsToTheIdleTimeOfTheCauses) {
  TraceMaker maker = ThreeSteps("");
  const int64_t at = 300 * kUs;
  maker.AddPageable(at + 40 * kUs, at + 50 * kUs, 1 << 20, maker.AddCall(at, at + 52 * kUs, "cudaMemcpy"));
  maker.Launch(at + 60 * kUs, at + 61 * kUs, at + 63 * kUs, at + 70 * kUs);
  const Trace trace = maker.Finish();
  const AnalysisResult sync = RunSync(trace, {}), idle = RunIdle(trace, {});
  EXPECT_EQ(MetricOf(sync, "sync.idle_ns"), MetricOf(idle, "idle.sync_ns"));
  EXPECT_EQ(MetricOf(sync, "sync.copy_idle_ns"), MetricOf(idle, "idle.copy_ns"));
  EXPECT_EQ(MetricOf(sync, "sync.idle_ns"), 3 * 30 * kUs);  // the third until the pageable copy is called
  EXPECT_EQ(MetricOf(sync, "sync.copy_idle_ns"), 40 * kUs + 2 * kUs);
}

TEST(SyncSites, SumsToTheIdleTimeOfTheCausesOfRandomTraces) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const Trace trace = RandomTrace(seed);
    const AnalysisResult sync = RunSync(trace, {}), idle = RunIdle(trace, {});
    if (!HasMetric(idle, "idle.sync_ns")) continue;
    EXPECT_EQ(MetricOf(sync, "sync.idle_ns"), MetricOf(idle, "idle.sync_ns")) << seed;
    EXPECT_LE(MetricOf(sync, "sync.copy_idle_ns"), MetricOf(idle, "idle.copy_ns")) << seed;
    EXPECT_LE(MetricOf(sync, "sync.implied_idle_ns"), MetricOf(idle, "idle.memory_ns")) << seed;
  }
}

TEST(ImpliedWaits, AFreeThatWaitsForAKernel) {
  TraceMaker maker;
  maker.Launch(0, 2 * kUs, 4 * kUs, 100 * kUs);
  maker.AddCall(10 * kUs, 105 * kUs, "cudaFree");
  maker.Launch(110 * kUs, 112 * kUs, 114 * kUs, 120 * kUs);
  const AnalysisResult result = RunSync(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "sync.count"), 0);
  EXPECT_EQ(MetricOf(result, "sync.implied_count"), 1);
  EXPECT_EQ(MetricOf(result, "sync.implied_blocked_ns"), 95 * kUs);
  EXPECT_EQ(MetricOf(result, "sync.implied_idle_ns"), 5 * kUs);
  EXPECT_EQ(TextOf(TableOf(result, "sync"), 0, "waits_for"), "free");
  const Finding* finding = FindingOf(result, "sync.implied");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message,
            "1 memory call synchronised implicitly with the GPU: host blocked for 95.00 us, GPU idle for 5.00 us of "
            "that; mostly in cudaFree (thread main (100))");
  EXPECT_EQ(finding->gain_ns, 5 * kUs);
}

TEST(ImpliedWaits, AtTheEndTheyWaitForKernelsAlone) {
  TraceMaker maker;
  maker.Launch(0, 2 * kUs, 4 * kUs, 100 * kUs);
  maker.AddCall(10 * kUs, 105 * kUs, "cudaFree");
  const AnalysisResult result = RunSync(maker.Finish(), {});
  const Finding* finding = FindingOf(result, "sync.implied");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gain_ns, 0);
  EXPECT_EQ(finding->severity, Severity::kInfo);
}

TEST(ImpliedWaits, WhatDoesNotCount) {
  TraceMaker maker;
  const uint32_t other = maker.AddProcess(200);
  maker.AddKernel(0, 100 * kUs);
  maker.AddCall(10 * kUs, 20 * kUs, "cudaFree");        // returned while the kernel ran
  maker.AddCall(30 * kUs, 110 * kUs, "cudaFreeAsync");  // says that it does not wait
  maker.AddCall(97 * kUs, 99 * kUs, "cudaMalloc");      // too short
  maker.AddCall(90 * kUs, 200 * kUs, "cudaMalloc");     // most of it is its own work
  maker.AddCall(300 * kUs, 400 * kUs, "cudaFree");      // nothing ran
  maker.AddKernel(490 * kUs, 560 * kUs).process = other;
  maker.AddCall(500 * kUs, 570 * kUs, "cudaFree");  // another process ran
  EXPECT_TRUE(WaitsOf(maker.Finish()).empty());
}

TEST(ImpliedWaits, QueuedWorkCountsToo) {
  TraceMaker maker;
  maker.AddKernel(0, 20 * kUs);
  maker.AddKernel(21 * kUs, 60 * kUs);
  maker.AddCall(10 * kUs, 62 * kUs, "cudaFreeHost");
  EXPECT_EQ(WaitsOf(maker.Finish()).size(), 1u);
}

TEST(Polling, LoopsOfQueries) {
  TraceMaker maker;
  int64_t now_ns = 0;
  const auto query = [&](int times, std::string_view function) {
    for (int i = 0; i < times; ++i, now_ns += kUs) maker.AddCall(now_ns, now_ns + 500, function);
  };
  maker.AddKernel(0, 60 * kUs);
  query(20, "cudaEventQuery");  // 19.5 us
  query(9, "cudaStreamQuery");  // too few
  query(10, "cudaEventQuery");  // 9.5 us
  maker.AddCall(now_ns, now_ns + 100, "cudaLaunchKernel");
  now_ns += kUs;
  query(5, "cudaEventQuery");
  maker.AddCall(now_ns, now_ns + 100, "cudaLaunchKernel");
  now_ns += kUs;
  query(5, "cudaEventQuery");
  const AnalysisResult result = RunSync(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "sync.polling_loops"), 2);
  EXPECT_EQ(MetricOf(result, "sync.polling_calls"), 30);
  EXPECT_EQ(MetricOf(result, "sync.polling_ns"), 29 * kUs);
  const Table& table = TableOf(result, "polling");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(TextOf(table, 0, "function"), "cudaEventQuery");
  const Finding* finding = FindingOf(result, "sync.polling");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message, "main (100) polled the GPU 30 times with cudaEventQuery, in 2 loops that took 29.00 us");
  EXPECT_EQ(finding->gain_ns, 0);
}

TEST(Polling, QueriesForErrorsNeitherPollNorEndALoop) {
  TraceMaker maker;
  const auto ask = [&](int64_t start_ns, std::string_view function) {
    maker.Call(maker.AddCall(start_ns, start_ns + 100, function)).api_class = ApiClass::kQuery;
  };
  for (int64_t i = 0; i < 10; ++i) {
    ask(i * kUs, "cudaStreamQuery");
    ask(i * kUs + 500, "cudaGetLastError");
  }
  for (int64_t i = 20; i < 60; ++i) ask(i * kUs, "cudaGetDevice");
  const AnalysisResult result = RunSync(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "sync.polling_loops"), 1);
  EXPECT_EQ(MetricOf(result, "sync.polling_calls"), 10);
  EXPECT_EQ(MetricOf(result, "sync.polling_ns"), 9 * kUs + 100);
}

TEST(Sync, EmptyTrace) {
  TraceMaker maker;
  const AnalysisResult result = RunSync(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "sync.count"), 0);
  EXPECT_EQ(MetricOf(result, "sync.polling_loops"), 0);
  EXPECT_TRUE(result.findings.empty());
}

}  // namespace
}  // namespace gprof::test
