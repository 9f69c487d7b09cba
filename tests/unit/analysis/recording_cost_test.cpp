#include "analysis/facts/recording/recording_cost.h"

#include <gtest/gtest.h>

#include "analysis/facts/recording/overhead_kinds.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/topics/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

constexpr uint32_t kBufferFlush = 1u << 16;

class CostMaker : public TraceMaker {
 public:
  CostMaker() { trace().processes[0].tracer_version = Name("0.2.0"); }
  void LiveFor(int64_t ns) { trace().processes[0].end_ns = ns; }
};

RecordingCost CostOf(const Trace& trace) { return AnalysisInput(trace).shared().recording_cost(); }

TEST(RecordingCost, NotKnownOfWhatAnotherToolRecorded) {
  TraceMaker maker;
  maker.Launch(0, 10'000, 20'000, 30'000);
  const RecordingCost cost = CostOf(maker.Finish());
  EXPECT_FALSE(cost.is_known);
  EXPECT_EQ(cost.TotalNs(), 0);
}

// A launch 678 ns, a wait 576, a copy 1308, another call 307, a range 46.
TEST(RecordingCost, CallsAndRangesAtTheirMeasuredCost) {
  CostMaker maker;
  maker.Launch(0, 10'000, 20'000, 80'000);
  maker.AddCall(50'000, 90'000, "cudaDeviceSynchronize");
  maker.AddCall(90'000, 100'000, "cudaMemcpyAsync");
  maker.AddCall(100'000, 101'000, "cudaEventRecord");
  maker.AddRange(0, 200'000, "step");
  const RecordingCost cost = CostOf(maker.Finish());
  ASSERT_TRUE(cost.is_known);
  ASSERT_EQ(cost.threads.size(), 1u);
  const ThreadCost& thread = cost.threads[0];
  EXPECT_EQ(thread.calls, 4);
  EXPECT_EQ(thread.nvtx, 1);
  EXPECT_EQ(thread.calls_ns, 678 + 576 + 1308 + 307);
  EXPECT_EQ(thread.nvtx_ns, 46);
  EXPECT_EQ(thread.cupti_ns, 0);
  EXPECT_EQ(thread.active_ns, 200'000);
  EXPECT_EQ(thread.gpu_window_ns, 60'000);
  EXPECT_EQ(thread.gpu_cost_ns, 576);  // only the wait began while the GPU was at work
  EXPECT_DOUBLE_EQ(cost.Percent(), 100.0 * 2915 / 200'000);
  EXPECT_DOUBLE_EQ(cost.GpuPercent(), 100.0 * 576 / 60'000);
}

double PercentOfRun(double cost_ns, double run_ns) { return 100 * cost_ns / (run_ns - cost_ns); }

// 20 launches of 678 ns in 1 ms, and the GPU works for half of it: a quarter of the cost where it has no work, up to
// twice all of it. There is time for other things in between, so that each may take 1530 ns more.
TEST(RecordingCost, SlowDownIsBetweenWhatShowsAndTwiceTheCost) {
  CostMaker maker;
  for (int64_t i = 0; i < 20; ++i)
    maker.Launch(i * 50'000, i * 50'000 + 10'000, i * 50'000 + 20'000, i * 50'000 + 45'000);
  maker.AddCall(999'000, 1'000'000, "cudaDeviceSynchronize");
  maker.LiveFor(1'000'000);
  const RecordingCost cost = CostOf(maker.Finish());
  const double all_ns = 20 * 678 + 576;
  EXPECT_NEAR(cost.slow_down.least_percent, PercentOfRun(0.25 * all_ns * 0.5, 1e6), 1e-9);
  EXPECT_NEAR(cost.slow_down.most_percent, PercentOfRun(2 * (all_ns + 21 * 1530), 1e6), 1e-9);
}

// At most, of so many launches one after the other, in a process that lives for that long.
double MostPercent(int64_t calls, int64_t ns_of_call, int64_t life_ns) {
  CostMaker maker;
  for (int64_t i = 0; i < calls; ++i) maker.AddCall(i * ns_of_call, (i + 1) * ns_of_call, "cudaLaunchKernel");
  maker.LiveFor(life_ns);
  return CostOf(maker.Finish()).slow_down.most_percent;
}

TEST(RecordingCost, CachesStayWarmInATightLoop) {
  constexpr double kWarmNs = 678, kColdNs = 1530;
  EXPECT_NEAR(MostPercent(100, 1'000, 4'000'000), PercentOfRun(2 * 100 * (kWarmNs + 0.1 * kColdNs), 4e6), 1e-9);
  EXPECT_NEAR(MostPercent(100, 4'000, 4'000'000), PercentOfRun(2 * 100 * (kWarmNs + 0.4 * kColdNs), 4e6), 1e-9);
  EXPECT_NEAR(MostPercent(100, 40'000, 4'000'000), PercentOfRun(2 * 100 * (kWarmNs + kColdNs), 4e6), 1e-9);
}

// The base is the time of the process, not that from its first call to its last.
TEST(RecordingCost, OneCallOfALongRunIsNothing) {
  const double percent = MostPercent(1, 3'000, 1'000'000'000);
  EXPECT_GT(percent, 0);
  EXPECT_LT(percent, 0.001);
}

TEST(RecordingCost, CallsWithinCallsCostOnce) {
  CostMaker maker;
  const uint32_t outer = maker.AddCall(0, 10'000, "cudaLaunchKernel");
  maker.AddInnerCall(1'000, 9'000, "cuLaunchKernel", outer);
  EXPECT_EQ(CostOf(maker.Finish()).TotalNs(), 678);
}

// What CUPTI recorded within a call is not estimated again; loading and a full command buffer are not its own.
TEST(RecordingCost, WhatCuptiRecordedCountsOnce) {
  CostMaker maker;
  maker.AddCall(0, 10'000, "cudaLaunchKernel");
  maker.AddCall(20'000, 30'000, "cudaLaunchKernel");
  maker.AddOverhead(1'000, 1'600, kBufferFlush);    // less than the launch: 78 ns remain to be estimated
  maker.AddOverhead(1'500, 1'700, kBufferFlush);    // 100 ns of it are new
  maker.AddOverhead(21'000, 26'000, kBufferFlush);  // more than the launch
  maker.AddOverhead(40'000, 41'000, kBufferFlush);  // outside of calls
  maker.AddOverhead(3'000, 9'000, kOverheadLazyLoading);
  maker.AddOverhead(3'000, 9'000, kOverheadCommandBufferFull);
  const RecordingCost cost = CostOf(maker.Finish());
  ASSERT_EQ(cost.threads.size(), 1u);
  EXPECT_EQ(cost.threads[0].cupti_ns, 700 + 5'000 + 1'000);
  EXPECT_EQ(cost.threads[0].calls_ns, 0);  // 678 - 700 and 678 - 5000: nothing is left
}

TEST(RecordingCost, TheThreadWithTheMostDecides) {
  CostMaker maker;
  const uint32_t other = maker.AddThread(0, 2, "loader");
  maker.AddCall(0, 1'000, "cudaLaunchKernel");
  maker.AddCall(99'000, 100'000, "cudaLaunchKernel");
  maker.AddRange(0, 1'000'000, "load", other);
  const RecordingCost cost = CostOf(maker.Finish());
  ASSERT_EQ(cost.threads.size(), 2u);
  EXPECT_EQ(cost.TotalNs(), 2 * 678 + 46);
  EXPECT_EQ(cost.LargestNs(), 2 * 678);
  EXPECT_DOUBLE_EQ(cost.Percent(), 100.0 * 2 * 678 / 100'000);
}

TEST(RecordingCost, PausesBetweenCapturesAreNobodysTime) {
  CostMaker maker;
  maker.AddCapture(0, 10'000);
  maker.AddCapture(90'000, 100'000);
  maker.AddCall(0, 1'000, "cudaLaunchKernel");
  maker.AddCall(99'000, 100'000, "cudaLaunchKernel");
  maker.AddOverhead(5'000, 50'000, kBufferFlush);
  const RecordingCost cost = CostOf(maker.Finish());
  ASSERT_EQ(cost.threads.size(), 1u);
  EXPECT_EQ(cost.threads[0].active_ns, 20'000);
  EXPECT_EQ(cost.threads[0].cupti_ns, 5'000);
}

TEST(RecordingCost, AFindingFromTenPercentOn) {
  CostMaker much, little;
  for (int64_t i = 0; i < 10; ++i) {
    much.AddCall(i * 5'000, i * 5'000 + 5'000, "cudaLaunchKernel");
    little.AddCall(i * 50'000, i * 50'000 + 50'000, "cudaLaunchKernel");
  }
  const AnalysisResult found = RunHealth(much.Finish(), {}), fine = RunHealth(little.Finish(), {});
  EXPECT_NE(FindingOf(found, "health.overhead"), nullptr);
  EXPECT_EQ(MetricOf(found, "health.overhead_ns"), 6'780);
  EXPECT_DOUBLE_EQ(MetricOf(found, "health.overhead_percent"), 100.0 * 6'780 / 50'000);
  EXPECT_EQ(FindingOf(fine, "health.overhead"), nullptr);
  EXPECT_EQ(IntOf(TableOf(fine, "recording_cost"), 0, "total_ns"), 6'780);
}

// Starting CUPTI takes long once; it makes no call look longer than it is.
TEST(RecordingCost, StartUpAloneIsNoFinding) {
  CostMaker maker;
  maker.AddCall(0, 100'000'000, "cudaFree");
  maker.AddOverhead(1'000, 60'000'000, kBufferFlush);
  const AnalysisResult result = RunHealth(maker.Finish(), {});
  EXPECT_GT(MetricOf(result, "health.overhead_percent"), 59);
  EXPECT_EQ(FindingOf(result, "health.overhead"), nullptr);
}

// ---- on a machine that is calibrated ----

class CalibratedMaker : public CostMaker {
 public:
  CalibratedMaker() {
    Add({0, trace::RecordedOperation::kLaunch, 1, 1000, 2000, 200, kMeasuredUnixS});
    Add({0, trace::RecordedOperation::kWait, 1, 500, 700, 0, kMeasuredUnixS});
    Add({0, trace::RecordedOperation::kLaunch, 4, 1500, 1500, 0, kMeasuredUnixS});
  }
  void LaunchIntoStream(int64_t call_ns, int64_t call_end_ns, int64_t start_ns, int64_t end_ns) {
    Launch(call_ns, call_end_ns, start_ns, end_ns).stream = stream_;
  }
  static constexpr int64_t kMeasuredUnixS = 1'764'110'000;  // 2025-11-25

 private:
  void Add(const Calibration& calibration) { trace().calibrations.push_back(calibration); }
  const uint32_t stream_ = AddStream(7);
};

TEST(RecordingCost, CalibratedCostsReplaceThoseOfElsewhere) {
  CalibratedMaker maker;
  maker.Launch(0, 10'000, 20'000, 80'000);
  maker.AddCall(90'000, 100'000, "cudaMemcpyAsync");  // was not calibrated
  const RecordingCost cost = CostOf(maker.Finish());
  EXPECT_EQ(cost.TotalNs(), 1000 + 1308);
  EXPECT_EQ(WhereCostsWereMeasured(cost), "the machine of the run, calibrated 2025-11-25");
}

// Each launch finds the GPU without work: what it costs delays the kernel, cold at most.
TEST(RecordingCost, CalibratedLaunchesOfAnIdleGpuShow) {
  CalibratedMaker maker;
  for (int64_t i = 0; i < 20; ++i)
    maker.LaunchIntoStream(i * 50'000, i * 50'000 + 10'000, i * 50'000 + 20'000, i * 50'000 + 45'000);
  maker.AddCall(999'000, 1'000'000, "cudaDeviceSynchronize");
  maker.LiveFor(1'000'000);
  const RecordingCost cost = CostOf(maker.Finish());
  EXPECT_NEAR(cost.slow_down.least_percent, PercentOfRun(0.4 * (20 * 1000 + 500), 1e6), 1e-9);
  EXPECT_NEAR(cost.slow_down.most_percent, PercentOfRun(1.5 * (20 * 2000 + 700 + 20 * 200), 1e6), 1e-9);
}

// All but the first launch find the stream with work for long: only what recording adds on the GPU shows.
TEST(RecordingCost, CalibratedLaunchesIntoAFullQueueAreHidden) {
  CalibratedMaker maker;
  for (int64_t i = 0; i < 20; ++i)
    maker.LaunchIntoStream(i * 2'000, i * 2'000 + 1'000, 10'000 + i * 50'000, 10'000 + (i + 1) * 50'000);
  maker.AddCall(50'000, 1'015'000, "cudaDeviceSynchronize");
  maker.LiveFor(1'015'000);
  const RecordingCost cost = CostOf(maker.Finish());
  EXPECT_NEAR(cost.slow_down.least_percent, PercentOfRun(0.4 * (20'500.0 / 20 + 19 * 200), 1'015'000), 1e-9);
  EXPECT_NEAR(cost.slow_down.most_percent, PercentOfRun(1.5 * (40'700.0 / 20 + 20 * 200), 1'015'000), 1e-9);
}

}  // namespace
}  // namespace gprof::test
