#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "analysis/causes/step_times.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/steps/step_finder.h"
#include "analysis/topics/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

// A step that prepares for 100 ns and `extra_ns`, launches a kernel of 380 ns and `kernel_ns`, and ends 100 ns after
// it. Returns when it ends.
int64_t AddStep(TraceMaker* maker, int64_t start_ns, int64_t extra_ns = 0, int64_t kernel_ns = 0,
                std::string_view name = "step") {
  const int64_t call_ns = start_ns + 100 + extra_ns;
  maker->Launch(call_ns, call_ns + 10, call_ns + 20, call_ns + 400 + kernel_ns);
  const int64_t end_ns = call_ns + 500 + kernel_ns;
  maker->AddRange(start_ns, end_ns, name);
  if (extra_ns > 0) maker->AddRange(start_ns, call_ns, "step/load").depth = 1;
  return end_ns;
}

Trace Loop(int64_t count, int64_t slow = -1, std::string_view name = "step") {
  TraceMaker maker;
  int64_t at_ns = 1000;
  for (int64_t i = 0; i < count; ++i) at_ns = AddStep(&maker, at_ns, i == slow ? 5000 : 0, 0, name) + 50;
  return maker.Finish();
}

TEST(Steps, FindsTheOutermostRangeThatRepeats) {
  const Trace trace = Loop(6);
  const std::optional<StepChoice> choice = FindStep(trace, "");
  ASSERT_TRUE(choice);
  EXPECT_EQ(trace.Text(choice->path), "step");
  EXPECT_EQ(choice->ranges.size(), 6u);
  EXPECT_EQ(choice->window_ns, 6 * 600 + 5 * 50 - 120 - 100);
  EXPECT_EQ(choice->covered_ns, choice->window_ns - 5 * 50);
}

TEST(Steps, FourTimesAreTooFewUnlessAskedForOrCalledSo) {
  const Trace called = Loop(4);
  ASSERT_TRUE(FindStep(called, ""));
  EXPECT_EQ(MetricOf(RunSteps(called, {}), "step.count"), 4);
  EXPECT_FALSE(FindStep(called, "stride"));
  TraceMaker maker;
  for (int64_t i = 0; i < 4; ++i) {
    maker.AddRange(1000 * i, 1000 * i + 900, "round");
    maker.AddKernel(1000 * i + 100, 1000 * i + 800);
  }
  const Trace trace = maker.Finish();
  EXPECT_FALSE(FindStep(trace, ""));
  EXPECT_TRUE(RunSteps(trace, {}).tables.empty());
  EXPECT_TRUE(RunSteps(trace, {}).metrics.empty());
  AnalysisOptions options;
  options.step = "round";
  EXPECT_EQ(MetricOf(RunSteps(trace, options), "step.count"), 4);
}

TEST(Steps, RangesOfSeveralDepthsOrAFewNanosecondsAreNone) {
  TraceMaker maker;
  maker.Launch(0, 10, 20, 10'000);
  for (int i = 0; i < 6; ++i) maker.AddRange(1000 * i, 1000 * i + 400, "short");
  for (int i = 0; i < 6; ++i) maker.AddRange(20'000 + 10 * i, 20'009 + 10 * i, "late");
  EXPECT_FALSE(FindStep(maker.Finish(), ""));
}

// Long start-up, then steps on one thread whose kernels another thread launches, as autograd does.
TEST(Steps, WhereStartUpIsLongTheWorkSaysIt) {
  TraceMaker maker;
  const uint32_t other = maker.AddThread(0, 2);
  maker.Launch(0, 10, 20, 900);
  for (int64_t i = 0; i < 6; ++i) {
    const int64_t at_ns = 1'000'000 + 1000 * i;
    maker.AddRange(at_ns, at_ns + 900, "step");
    maker.AddKernel(at_ns + 300, at_ns + 800, maker.AddCall(at_ns + 100, at_ns + 110, "cudaLaunchKernel", other));
  }
  const Trace trace = maker.Finish();
  const std::optional<StepChoice> choice = FindStep(trace, "");
  ASSERT_TRUE(choice);
  EXPECT_EQ(trace.Text(choice->path), "step");
  EXPECT_EQ(choice->ranges.size(), 6u);
  EXPECT_EQ(choice->work_ns, 6 * 500);
  EXPECT_EQ(choice->all_work_ns, 6 * 500 + 880);
}

TEST(Steps, WithoutAGpuTheTraceIsTheWindow) {
  TraceMaker maker;
  for (int i = 0; i < 6; ++i) maker.AddRange(1000 * i, 1000 * i + 900, "frame");
  const AnalysisResult result = RunSteps(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "step.median_ns"), 900);
  EXPECT_TRUE(TableOf(result, "step_parts").rows.empty());
}

TEST(Steps, PartsSumToTheTimeOfEachStep) {
  const Trace trace = Loop(6);
  const StepTimes times = TimeSteps(trace, *FindStep(trace, ""));
  ASSERT_EQ(times.iterations.size(), 6u);
  for (const Iteration& step : times.iterations) {
    int64_t sum_ns = 0;
    for (const int64_t ns : step.parts_ns) sum_ns += ns;
    EXPECT_EQ(sum_ns, step.duration_ns);
    EXPECT_EQ(step.parts_ns[kStepKernels], 380);
  }
  const size_t host = kStepIdle + static_cast<size_t>(Cause::kHost),
               launch = kStepIdle + static_cast<size_t>(Cause::kLaunch);
  EXPECT_EQ(times.iterations[0].parts_ns[kStepOutside], 120);
  EXPECT_EQ(times.iterations[1].parts_ns[kStepOutside], 0);
  EXPECT_EQ(times.iterations[1].parts_ns[host], 200);
  EXPECT_EQ(times.iterations[1].parts_ns[launch], 20);
  EXPECT_EQ(times.iterations[5].parts_ns[kStepOutside], 100);
  EXPECT_EQ(times.median_parts_ns[host], 200);
}

// Kernels in a row, some at once, some behind copies, some across the borders of steps, against each nanosecond.
TEST(Steps, PartsAreWhatRanInEachNanosecond) {
  std::mt19937 random(3);
  const auto below = [&](uint64_t most) { return static_cast<int64_t>(random() % most); };
  for (int round = 0; round < 60; ++round) {
    TraceMaker maker;
    int64_t at_ns = 100;
    for (int i = 0; i < 150; ++i) {
      at_ns += below(4) == 0 ? below(30) : below(6);
      const int64_t end_ns = at_ns + (round % 4 == 0 ? 0 : 1) + below(12);
      if (round % 3 != 0 && below(10) == 0) {
        maker.AddCopy(at_ns, end_ns, 64, trace::CopyKind::kHostToDevice);
      } else {
        maker.AddKernel(at_ns, end_ns, maker.AddCall(at_ns - 20, at_ns - 20 + below(30), "cudaLaunchKernel"));
      }
    }
    for (int64_t start_ns = 90; start_ns < at_ns; start_ns += 100) maker.AddRange(start_ns, start_ns + 97, "step");
    const Trace trace = maker.Finish();
    const std::optional<StepChoice> choice = FindStep(trace, "step");
    ASSERT_TRUE(choice);
    for (const Iteration& step : TimeSteps(trace, *choice).iterations) {
      int64_t kernels_ns = 0, copies_ns = 0;
      for (int64_t ns = step.start_ns; ns < step.EndNs(); ++ns) {
        bool is_kernel = false, is_copy = false;
        for (const GpuOp& op : trace.ops) {
          if (op.start_ns <= ns && ns < op.end_ns) (op.kind == OpKind::kKernel ? is_kernel : is_copy) = true;
        }
        kernels_ns += is_kernel;
        copies_ns += is_copy && !is_kernel;
      }
      EXPECT_EQ(step.parts_ns[kStepKernels], kernels_ns) << round << " " << step.start_ns;
      EXPECT_EQ(step.parts_ns[kStepCopies], copies_ns) << round << " " << step.start_ns;
    }
  }
}

TEST(Steps, ASlowStepIsExplained) {
  const AnalysisResult result = RunSteps(Loop(20, 7), {});
  EXPECT_EQ(MetricOf(result, "step.count"), 20);
  EXPECT_EQ(MetricOf(result, "step.outliers"), 1);
  EXPECT_EQ(MetricOf(result, "step.warmup_count"), 0);
  EXPECT_EQ(MetricOf(result, "step.median_ns"), 600);
  EXPECT_EQ(MetricOf(result, "step.mean_ns"), 850);
  EXPECT_EQ(MetricOf(result, "step.p95_ns"), 600);
  EXPECT_EQ(MetricOf(result, "step.p99_ns"), 5600);
  EXPECT_EQ(MetricOf(result, "step.max_ns"), 5600);
  EXPECT_EQ(MetricOf(result, "step.trend_percent"), 0);
  const Table& slow = TableOf(result, "step_outliers");
  ASSERT_EQ(slow.rows.size(), 1u);
  EXPECT_EQ(IntOf(slow, 0, "number"), 8);
  EXPECT_EQ(RealOf(slow, 0, "above_median_ns"), 5000);
  EXPECT_EQ(TextOf(slow, 0, "extra"), "idle: host +5.00 us");
  const Finding* finding = FindingOf(result, "steps.outliers");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gain_ns, 5000);
  EXPECT_NE(WordsOf(finding).find("mostly in step/load"), std::string::npos) << WordsOf(finding);
}

// The last step goes on for 100 us when the GPU is done: nothing on the GPU would be over earlier without that.
TEST(Steps, WhatASlowStepDoesWhenTheGpuIsDoneIsNotToBeWon) {
  TraceMaker maker;
  int64_t at_ns = 1000;
  for (int64_t i = 0; i < 20; ++i) {
    maker.Launch(at_ns + 100, at_ns + 110, at_ns + 120, at_ns + 500);
    const int64_t end_ns = at_ns + (i == 19 ? 100'000 : 600);
    maker.AddRange(at_ns, end_ns, "step");
    at_ns = end_ns + 50;
  }
  const Trace trace = maker.Finish();
  const AnalysisResult result = RunSteps(trace, {});
  EXPECT_EQ(MetricOf(result, "step.outliers"), 1);
  const Finding* finding = FindingOf(result, "steps.outliers");
  EXPECT_TRUE(finding == nullptr || finding->gain_ns <= 600) << finding->gain_ns;
}

TEST(Steps, SlowOnesAtTheBeginningAreTheWarmup) {
  TraceMaker maker;
  int64_t at_ns = 1000;
  for (int64_t i = 0; i < 12; ++i) at_ns = AddStep(&maker, at_ns, 0, i < 2 ? 9000 : 0) + 50;
  const AnalysisResult result = RunSteps(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "step.count"), 12);
  EXPECT_EQ(MetricOf(result, "step.warmup_count"), 2);
  EXPECT_EQ(MetricOf(result, "step.outliers"), 0);
  EXPECT_EQ(MetricOf(result, "step.max_ns"), 600);
  ASSERT_NE(FindingOf(result, "steps.warmup"), nullptr);
  EXPECT_EQ(FindingOf(result, "steps.warmup")->gain_ns, 18'000);
  EXPECT_EQ(TextOf(TableOf(result, "step_outliers"), 0, "extra"), "kernels +9.00 us");
}

TEST(Steps, ATrendIsFoundDespiteOutliers) {
  TraceMaker maker;
  int64_t at_ns = 1000;
  for (int64_t i = 0; i < 20; ++i) at_ns = AddStep(&maker, at_ns, 0, i == 9 ? 50'000 : 10 * i) + 50;
  const AnalysisResult result = RunSteps(maker.Finish(), {});
  const Finding* finding = FindingOf(result, "steps.trend");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gain_ns, 10 * 20 * 19 / 2);
  EXPECT_NE(finding->message.find("by 10 ns per iteration"), std::string::npos) << finding->message;
  EXPECT_NE(WordsOf(finding).find("first: kernels +"), std::string::npos) << WordsOf(finding);
}

TEST(Steps, StepsThatDifferByChanceHaveNoTrend) {
  TraceMaker maker;
  int64_t at_ns = 1000;
  for (int64_t i = 0; i < 40; ++i) at_ns = AddStep(&maker, at_ns, 0, i * 37 % 11 * 10) + 50;
  const AnalysisResult result = RunSteps(maker.Finish(), {});
  EXPECT_EQ(FindingOf(result, "steps.trend"), nullptr);
  EXPECT_EQ(MetricOf(result, "step.outliers"), 0);
}

TEST(Steps, CutRangesAreNoSteps) {
  TraceMaker maker;
  int64_t at_ns = 1000;
  for (int64_t i = 0; i < 6; ++i) at_ns = AddStep(&maker, at_ns) + 50;
  maker.AddRange(at_ns, at_ns + 9, "step").is_open = true;
  maker.AddRange(at_ns + 10, at_ns + 19, "step").is_cut = true;
  EXPECT_EQ(MetricOf(RunSteps(maker.Finish(), {}), "step.count"), 6);
}

TEST(Steps, ANameThatMeansAStepNeedsNoFiveTimes) {
  for (const int64_t count : {1, 3}) {
    const Trace trace = Loop(count, -1, "train_step");
    const std::optional<StepChoice> choice = FindStep(trace, "");
    ASSERT_TRUE(choice) << count;
    EXPECT_TRUE(choice->is_named);
    EXPECT_EQ(choice->ranges.size(), static_cast<size_t>(count));
  }
}

TEST(Steps, AStepOwnsMostOfTheWork) {
  TraceMaker maker;  // most of the kernel time is launched before and after the ranges, which cover the window
  maker.Launch(100, 110, 2000, 9000);
  for (int64_t i = 0; i < 6; ++i) maker.AddRange(1500 + 1400 * i, 1500 + 1400 * i + 1300, "frame");
  EXPECT_FALSE(FindStep(maker.Finish(), ""));
}

TEST(Steps, AHostHeldBackByAFullQueueIsNoTrend) {
  TraceMaker maker;  // each range takes longer, each kernel as long as before; the GPU is busy all the time
  int64_t at_ns = 1000;
  for (int64_t i = 0; i < 20; ++i) {
    const int64_t end_ns = at_ns + 400 + 30 * i;
    maker.Launch(at_ns + 10, at_ns + 20, 1100 + 700 * i, 1100 + 700 * i + 700);
    maker.AddRange(at_ns, end_ns, "step");
    at_ns = end_ns;
  }
  EXPECT_EQ(FindingOf(RunSteps(maker.Finish(), {}), "steps.trend"), nullptr);
}

// emit_nvtx() gives every operator a range, and NCCL every group: they repeat more often than the step, and within it.
TEST(Steps, AnOperatorAndACallOfALibraryAreNoStep) {
  for (const std::string_view name : {"aten::linear", "ncclGroupEnd", "ncclAllReduce", "AccumulateGrad/allreduce",
                                      "_ReduceFromModelParallelRegion", "layer 3", "c10d::broadcast_"}) {
    TraceMaker maker;
    for (int64_t i = 0; i < 10; ++i) {
      maker.Launch(100 * i + 10, 100 * i + 20, 100 * i + 20, 100 * i + 90);
      maker.AddRange(100 * i + 5, 100 * i + 95, name);
    }
    const Trace trace = maker.Finish();
    EXPECT_FALSE(FindStep(trace, "").has_value()) << name;
    EXPECT_TRUE(FindStep(trace, std::string(name)).has_value()) << name;  // for those who ask for it
  }
}

TEST(TimeSlices, CutTheTimeOfTheGpu) {
  const Trace trace = Loop(6);
  const AnalysisInput input(trace);
  const std::vector<Iteration> slices = TimeSlices(input, 0, 8);
  ASSERT_EQ(slices.size(), 8u);
  int64_t busy_ns = 0, all_ns = 0, at_ns = slices.front().start_ns;
  EXPECT_EQ(at_ns, trace.ops[0].start_ns);
  for (const Iteration& slice : slices) {
    EXPECT_EQ(slice.start_ns, at_ns);
    at_ns = slice.EndNs();
    busy_ns += slice.parts_ns[kStepKernels] + slice.parts_ns[kStepCopies];
    all_ns += std::accumulate(slice.parts_ns.begin(), slice.parts_ns.end(), int64_t{0});
    EXPECT_EQ(slice.parts_ns[kStepOutside], 0);
  }
  EXPECT_EQ(busy_ns, 6 * 380);
  EXPECT_EQ(all_ns, input.shared().window_ns(0));
}

TEST(TimeSlices, AGpuWithoutOperationsHasNone) {
  TraceMaker maker;
  const Trace trace = maker.Finish();
  EXPECT_TRUE(TimeSlices(trace, 0, 8).empty());
}

}  // namespace
}  // namespace gprof::test
