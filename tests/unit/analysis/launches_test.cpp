#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "analysis/topics/analyses.h"
#include "analysis/topics/launches/queue_depth.h"
#include "random_trace.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

// Kernels of `kernel_ns`, a launch every 5 us, nothing between the launches.
Trace Staircase(int64_t kernels, int64_t kernel_ns) {
  TraceMaker maker;
  for (int64_t i = 0; i < kernels; ++i) {
    const int64_t call_ns = i * 5 * kUs;
    maker.Launch(call_ns, call_ns + 4500, call_ns + 4000, call_ns + 4000 + kernel_ns);
  }
  return maker.Finish();
}

TEST(Launches, BoundWhenLaunchingTakesLongerThanRunning) {
  const AnalysisResult result = RunLaunches(Staircase(200, 2 * kUs), {});
  const Finding* finding = FindingOf(result, "launch.bound");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(WordsOf(finding),
            "Launch-bound for 59.9% of the GPU window (597.00 us): 199 kernels of 2.00 us on average started on an "
            "empty queue | 3.00 us idle before each of them, one launch every 5.00 us");
  EXPECT_EQ(finding->gain_ns, 199 * 3 * kUs);
  EXPECT_EQ(finding->basis, "idle time before those kernels, 597.00 us of it in their launch calls");
  EXPECT_EQ(MetricOf(result, "launches.late_kernels"), 199);
  EXPECT_EQ(MetricOf(result, "launches.late_idle_ns"), 199 * 3 * kUs);
  EXPECT_EQ(MetricOf(result, "launches.interval_median_ns"), 5 * kUs);
  EXPECT_EQ(MetricOf(result, "launches.call_ns"), 200 * 4500);
  EXPECT_DOUBLE_EQ(MetricOf(result, "launches.per_second"), 200 * 1e9 / 997'000);
  EXPECT_FALSE(TableOf(result, "kernel_launches").is_detail);
}

TEST(Launches, NotBoundWhenKernelsAreLonger) {
  const AnalysisResult result = RunLaunches(Staircase(200, 6 * kUs), {});
  EXPECT_EQ(FindingOf(result, "launch.bound"), nullptr);
  EXPECT_TRUE(TableOf(result, "kernel_launches").is_detail);
}

TEST(Launches, NotBoundByAFewKernels) {
  EXPECT_EQ(FindingOf(RunLaunches(Staircase(5, 2 * kUs), {}), "launch.bound"), nullptr);
}

TEST(Launches, TimeOfTheHostBetweenLaunchesIsInTheGain) {
  TraceMaker maker;
  for (int64_t i = 0; i < 20; ++i) {  // call 0 to 3, kernel 2 to 4, the host works until 10
    const int64_t now_ns = i * 10 * kUs;
    maker.Launch(now_ns, now_ns + 3 * kUs, now_ns + 2 * kUs, now_ns + 4 * kUs);
  }
  const AnalysisResult result = RunLaunches(maker.Finish(), {});
  const Finding* finding = FindingOf(result, "launch.bound");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gain_ns, 19 * 8 * kUs);
  EXPECT_NE(finding->basis.find("38.00 us of it in their launch calls"), std::string::npos) << finding->basis;
}

TEST(Launches, ALongPauseIsNotTheLaunch) {
  TraceMaker maker;
  for (int64_t i = 0; i < 20; ++i) {
    const int64_t now_ns = i * 120 * kUs;
    maker.Launch(now_ns, now_ns + 3 * kUs, now_ns + 2 * kUs, now_ns + 4 * kUs);
  }
  const AnalysisResult result = RunLaunches(maker.Finish(), {});
  EXPECT_EQ(FindingOf(result, "launch.bound"), nullptr);
  EXPECT_EQ(MetricOf(result, "launches.late_kernels"), 0);
}

// Twenty kernels that come 6 us after the GPU ran dry; before each launch the host makes a call of 2 us.
AnalysisResult WithCallBetween(std::string_view function, bool is_overhead = false) {
  TraceMaker maker;
  for (int64_t i = 0; i < 20; ++i) {
    const int64_t now_ns = i * 10 * kUs;
    maker.Launch(now_ns, now_ns + 3 * kUs, now_ns + 2 * kUs, now_ns + 6 * kUs);
    if (is_overhead) {
      maker.AddOverhead(now_ns + 7 * kUs, now_ns + 9 * kUs, 3u << 16);
    } else {
      maker.AddCall(now_ns + 7 * kUs, now_ns + 9 * kUs, function);
    }
  }
  return RunLaunches(maker.Finish(), {});
}

TEST(Launches, WhatHoldsUpTheHostIsNotTheLaunch) {
  for (const char* function : {"cudaStreamQuery", "cudaEventRecord", "cudaMemcpyAsync", "cudaMemsetAsync"}) {
    EXPECT_EQ(MetricOf(WithCallBetween(function), "launches.late_kernels"), 19) << function;
  }
  for (const char* function : {"cudaStreamSynchronize", "cudaMemcpy", "cudaMalloc", "cuModuleLoad", "cudaMemset"}) {
    EXPECT_EQ(MetricOf(WithCallBetween(function), "launches.late_kernels"), 0) << function;
  }
  EXPECT_EQ(MetricOf(WithCallBetween("", true), "launches.late_kernels"), 0);
}

TEST(Launches, CallsWithinCallsDoNotHideTheOuterOne) {
  for (const char* function : {"cudaStreamSynchronize", "cudaEventRecord"}) {
    TraceMaker maker;
    for (int64_t i = 0; i < 20; ++i) {
      const int64_t now_ns = i * 10 * kUs;
      maker.Launch(now_ns, now_ns + 3 * kUs, now_ns + 2 * kUs, now_ns + 6 * kUs);
      const uint32_t call = maker.AddCall(now_ns + 4 * kUs, now_ns + 9 * kUs, function);
      const uint32_t inner = maker.AddInnerCall(now_ns + 4 * kUs, now_ns + 5 * kUs, "cuQuery", call);
      maker.AddInnerCall(now_ns + 4 * kUs, now_ns + 4500, "cuQuery", inner);
    }
    const bool holds_up = std::string_view(function) == "cudaStreamSynchronize";
    EXPECT_EQ(MetricOf(RunLaunches(maker.Finish(), {}), "launches.late_kernels"), holds_up ? 0 : 19) << function;
  }
}

TEST(Launches, QueuedWorkIsNotLate) {
  TraceMaker maker;
  for (int64_t i = 0; i < 20; ++i) maker.Launch(i * 100, i * 100 + 50, i * 10 * kUs, i * 10 * kUs + 5 * kUs);
  EXPECT_EQ(MetricOf(RunLaunches(maker.Finish(), {}), "launches.late_kernels"), 0);
}

// The idle time of late launches is a part of what `idle` says of launches, other calls and the host.
TEST(Launches, NeverMoreThanTheIdleTimeOfTheirCauses) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Trace trace = RandomTrace(seed);
    if (trace.ops.empty()) continue;
    const AnalysisResult idle = RunIdle(trace, {});
    const double most_ns =
        MetricOf(idle, "idle.launch_ns") + MetricOf(idle, "idle.api_ns") + MetricOf(idle, "idle.os_ns") +
        MetricOf(idle, "idle.mpi_ns") + MetricOf(idle, "idle.host_ns") + MetricOf(idle, "idle.copy_ns") +
        MetricOf(idle, "idle.load_ns") + MetricOf(idle, "idle.profiler_ns") + MetricOf(idle, "idle.unknown_ns");
    EXPECT_LE(MetricOf(RunLaunches(trace, {}), "launches.late_idle_ns"), most_ns) << seed;
  }
}

// Depth 0 is idle time, and all depths together are the window.
TEST(QueueDepth, SumsToTheWindow) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Trace trace = RandomTrace(seed);
    const AnalysisResult result = RunLaunches(trace, {}), devices = RunDevices(trace, {});
    for (const Metric& metric : devices.metrics) {
      if (metric.id != "gpu.window_ns" || metric.scope.empty()) continue;
      const auto of = [&](std::string_view id) { return MetricOf(result, id, metric.scope); };
      EXPECT_EQ(of("launches.depth0_ns") + of("launches.depth1_ns") + of("launches.depth2_ns"), metric.value) << seed;
      EXPECT_LE(of("launches.depth0_ns"), MetricOf(devices, "gpu.idle_ns", metric.scope)) << seed;
    }
  }
}

TEST(Launches, CallQueueAndRunOfEachKernel) {
  TraceMaker maker;
  const auto launch = [&](int64_t call_ns, int64_t start_ns, int64_t end_ns, std::string_view name) {
    maker.AddKernel(start_ns, end_ns, maker.AddCall(call_ns, call_ns + 10, "cudaLaunchKernel"), name);
  };
  launch(0, 8, 100, "gemm");                // starts before its call returns: not queued
  launch(20, 100, 180, "gemm");             // queued for 70
  launch(40, 180, 250, "gemm");             // for 130
  launch(60, 250, 260, "add");              // for 180
  maker.AddKernel(300, 310, kNone, "add");  // no call
  const AnalysisResult result = RunLaunches(maker.Finish(), {});
  const Table& table = TableOf(result, "kernel_launches");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(TextOf(table, 0, "kernel"), "gemm");
  EXPECT_EQ(IntOf(table, 0, "kernels"), 3);
  EXPECT_EQ(IntOf(table, 0, "calls"), 3);
  EXPECT_EQ(IntOf(table, 0, "call_ns"), 30);
  EXPECT_EQ(RealOf(table, 0, "call_median_ns"), 10);
  EXPECT_EQ(IntOf(table, 0, "queued"), 2);
  EXPECT_EQ(IntOf(table, 0, "queue_ns"), 200);
  EXPECT_EQ(RealOf(table, 0, "queue_median_ns"), 100);
  EXPECT_EQ(IntOf(table, 0, "run_ns"), 242);
  EXPECT_EQ(RealOf(table, 0, "run_median_ns"), 80);
  EXPECT_EQ(IntOf(table, 1, "kernels"), 2);
  EXPECT_EQ(IntOf(table, 1, "calls"), 1);
  EXPECT_EQ(MetricOf(result, "launches.queued"), 3);
  EXPECT_EQ(MetricOf(result, "launches.queue_ns"), 380);
}

TEST(Launches, AGraphLaunchIsOneCall) {
  TraceMaker maker;
  const uint32_t call = maker.AddCall(0, 10, "cudaGraphLaunch");
  for (int64_t i = 0; i < 4; ++i) maker.AddKernel(20 + 10 * i, 30 + 10 * i, call, "node");
  const AnalysisResult result = RunLaunches(maker.Finish(), {});
  const Table& table = TableOf(result, "kernel_launches");
  EXPECT_EQ(IntOf(table, 0, "kernels"), 4);
  EXPECT_EQ(IntOf(table, 0, "calls"), 1);
  EXPECT_EQ(IntOf(table, 0, "call_ns"), 10);
  EXPECT_EQ(IntOf(table, 0, "queued"), 4);
}

TEST(QueueDepth, TimeAtEachDepth) {
  TraceMaker maker;
  maker.Launch(0, 5, 10, 100);       // alone until 20
  maker.Launch(20, 25, 100, 150);    // two until 100, then one until 150
  maker.Launch(170, 175, 180, 200);  // nothing from 150 to 170
  maker.AddKernel(200, 205);         // no call: from its start
  const AnalysisResult result = RunLaunches(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "launches.depth0_ns"), 20);
  EXPECT_EQ(MetricOf(result, "launches.depth1_ns"), 10 + 50 + 30 + 5);
  EXPECT_EQ(MetricOf(result, "launches.depth2_ns"), 80);
  EXPECT_EQ(MetricOf(result, "launches.max_depth"), 2);
  EXPECT_EQ(MetricOf(result, "launches.depth0_ns", "gpu0"), 20);
  const Table& table = TableOf(result, "queue_depth");
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(SumOf(table, "time_ns"), 195);
  EXPECT_EQ(TextOf(table, 2, "depth"), "2");
}

TEST(QueueDepth, NotRecordedTimeIsLeftOut) {
  TraceMaker maker;
  maker.AddCapture(0, 100);
  maker.AddCapture(200, 300);
  maker.Launch(0, 5, 10, 60);
  maker.Launch(210, 215, 220, 260);
  const AnalysisResult result = RunLaunches(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "launches.depth0_ns"), 40 + 10);
  EXPECT_EQ(MetricOf(result, "launches.depth1_ns"), 50 + 50);
}

TEST(QueueDepth, OfASelectedTime) {
  TraceMaker maker;
  maker.Launch(20, 25, 30, 60);
  maker.trace().device_windows.resize(1);
  maker.trace().device_windows[0].time = {10, 100};
  const AnalysisResult result = RunLaunches(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "launches.depth0_ns"), 10 + 40);
  EXPECT_EQ(MetricOf(result, "launches.depth1_ns"), 40);
  TraceMaker nothing;
  nothing.trace().device_windows.resize(1);
  nothing.trace().device_windows[0].time = {10, 100};
  EXPECT_EQ(MetricOf(RunLaunches(nothing.Finish(), {}), "launches.depth0_ns"), 90);
}

// Several threads that launch into streams: what is launched and not finished in each nanosecond.
TEST(QueueDepth, AsOneByOne) {
  std::mt19937 random(5);
  const auto below = [&](uint32_t limit) { return static_cast<int64_t>(random() % limit); };
  for (int round = 0; round < 120; ++round) {
    TraceMaker maker;
    const uint32_t threads = 1 + static_cast<uint32_t>(round % 4), late = std::array{1u, 12u, 60u}[round % 3];
    const bool is_in_order = round % 5 != 0;
    std::vector<uint32_t> streams;
    for (uint32_t i = 0; i < threads; ++i) streams.push_back(maker.AddStream(7 + i));
    for (uint32_t i = 1; i < threads; ++i) maker.AddThread(0, 100 + i);
    for (uint32_t thread = 0; thread < threads; ++thread) {
      int64_t call_ns = below(20), free_ns = 0;
      for (int i = 0; i < 40; ++i) {
        const int64_t start_ns = std::max(free_ns, call_ns + 1 + below(late)), end_ns = start_ns + below(9);
        maker.Launch(call_ns, call_ns + 1, start_ns, end_ns, thread).stream = streams[thread];
        free_ns = is_in_order ? end_ns : start_ns;
        call_ns += 2 + below(12);
      }
    }
    const Trace trace = maker.Finish();
    const auto launch_ns = [&](const GpuOp& op) { return std::min(op.start_ns, trace.api_calls[op.api].start_ns); };
    std::array<int64_t, QueueDepth::kLevels> expected_ns{};
    int64_t end_ns = 0;
    for (const GpuOp& op : trace.ops) end_ns = std::max(end_ns, op.end_ns);
    for (int64_t ns = trace.ops[0].start_ns; ns < end_ns; ++ns) {
      const auto depth = std::count_if(trace.ops.begin(), trace.ops.end(),
                                       [&](const GpuOp& op) { return launch_ns(op) <= ns && ns < op.end_ns; });
      ++expected_ns[QueueDepth::LevelOf(depth)];
    }
    int64_t most = 1;  // right before an operation ends
    for (const GpuOp& ending : trace.ops) {
      const auto depth = std::count_if(trace.ops.begin(), trace.ops.end(), [&](const GpuOp& op) {
        return launch_ns(op) < ending.end_ns && op.end_ns >= ending.end_ns;
      });
      most = std::max<int64_t>(most, depth);
    }
    const QueueDepth depth = QueueDepthOf(AnalysisInput(trace), 0);
    EXPECT_EQ(depth.time_ns, expected_ns) << round;
    EXPECT_EQ(depth.max, most) << round;
  }
}

TEST(QueueDepth, LevelsHaveNames) {
  EXPECT_EQ(QueueDepth::LevelName(QueueDepth::LevelOf(0)), "0");
  EXPECT_EQ(QueueDepth::LevelName(QueueDepth::LevelOf(2)), "2");
  EXPECT_EQ(QueueDepth::LevelName(QueueDepth::LevelOf(3)), "3 to 4");
  EXPECT_EQ(QueueDepth::LevelName(QueueDepth::LevelOf(4)), "3 to 4");
  EXPECT_EQ(QueueDepth::LevelName(QueueDepth::LevelOf(257)), "over 256");
}

// 100 us: a kernel in the first 10, launched before it; ten in the last 50, all launched at 50.
TEST(Launches, OverTime) {
  TraceMaker maker;
  maker.Launch(0, 1'000, 2'000, 12'000);
  for (int64_t i = 0; i < 10; ++i) {
    maker.Launch(52'000 + i, 52'001 + i, 52'000 + i * 5'000 + 20, 57'000 + i * 5'000);
  }
  const AnalysisResult result = RunLaunches(maker.Finish(), {});
  const Table& table = TableOf(result, "launches_over_time");
  ASSERT_EQ(table.rows.size(), 10u);
  EXPECT_EQ(IntOf(table, 0, "start_ns"), 2'000);
  EXPECT_EQ(IntOf(table, 1, "start_ns"), 12'000);
  EXPECT_EQ(RealOf(table, 0, "busy_percent"), 100);
  EXPECT_EQ(RealOf(table, 1, "busy_percent"), 0);
  EXPECT_EQ(RealOf(table, 5, "busy_percent"), 100.0 * (10'000 - 40) / 10'000);
  EXPECT_EQ(IntOf(table, 0, "launched"), 1);
  EXPECT_EQ(IntOf(table, 5, "launched"), 10);
  EXPECT_EQ(SumOf(table, "launched"), 11);
  EXPECT_EQ(RealOf(table, 5, "per_second"), 1e6);
  EXPECT_EQ(RealOf(table, 0, "depth"), 1);
  EXPECT_EQ(RealOf(table, 1, "depth"), 0);
  EXPECT_NEAR(RealOf(table, 5, "depth"), 9.5, 0.01);
  EXPECT_NEAR(RealOf(table, 9, "depth"), 1.5, 0.01);
}

}  // namespace
}  // namespace gprof::test
