// What a trace cannot tell is no figure of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "../analysis/trace_maker.h"
#include "gate/runs/measurement.h"

namespace gprof {
namespace {

using test::TraceMaker;

TraceMaker ALaunchAndACopy() {
  TraceMaker maker;
  maker.Launch(100, 200, 300, 1000);
  maker.AddPageable(1100, 1500, 4096, maker.AddCall(1050, 1600, "cudaMemcpy"));
  return maker;
}

bool HasAny(const Measurement& run, std::string_view prefix) {
  return std::any_of(run.metrics.begin(), run.metrics.end(),
                     [prefix](const Metric& metric) { return metric.id.starts_with(prefix); });
}

TEST(Measure, HasTheFiguresOfATrace) {
  const Measurement run = Measure(ALaunchAndACopy().Finish());
  EXPECT_EQ(FindIn(run, "memcpy.pageable_bytes")->value, 4096);
  EXPECT_EQ(FindIn(run, "kernels.count", "kernel:work")->value, 1);
  EXPECT_EQ(FindIn(run, "kernels.median_ns", "kernel:work")->value, 700);
  EXPECT_EQ(FindIn(run, "run.wall_ns")->value, 1500);
  EXPECT_EQ(run.breakdown.devices.size(), 1u);
  EXPECT_TRUE(run.is_exact);
  EXPECT_EQ(WhyNotRecorded(run, "memcpy.pageable_bytes"), "");
}

TEST(Measure, WhatAnotherToolLacksIsNotZero) {
  Trace trace = ALaunchAndACopy().Finish();
  trace.recorder = "Nsight Systems 2025.3";
  for (const Fact fact : {Fact::kMemoryKinds, Fact::kStreamsMade, Fact::kDevices}) trace.lacks |= fact;
  const Measurement run = Measure(trace);
  EXPECT_FALSE(HasAny(run, "memcpy.pageable_"));
  EXPECT_FALSE(HasAny(run, "streams.unused"));
  EXPECT_FALSE(HasAny(run, "occupancy."));
  EXPECT_TRUE(HasAny(run, "memcpy.h2d_bytes"));
  EXPECT_EQ(WhyNotRecorded(run, "memcpy.pageable_bytes"), "Nsight Systems 2025.3 did not record memory kinds");
  EXPECT_EQ(run.fingerprint.tool_version, "Nsight Systems 2025.3");
}

TEST(Measure, CausesOfIdleTimeNeedCalls) {
  TraceMaker maker;
  maker.AddKernel(100, 200);
  maker.AddKernel(300, 400);
  const Measurement run = Measure(maker.Finish());
  EXPECT_EQ(FindIn(run, "gpu.idle_ns")->value, 100);
  EXPECT_EQ(FindIn(run, "idle.unknown_ns")->value, 100);
  EXPECT_FALSE(HasAny(run, "idle.host"));
  EXPECT_FALSE(HasAny(run, "sync."));
  EXPECT_EQ(WhyNotRecorded(run, "idle.host_ns"), "the trace has no CUDA calls");
}

TEST(Measure, WhatIsMissingIsNamed) {
  Trace trace = ALaunchAndACopy().Finish();
  trace.health.unfinished_gpu_work = 1;
  Measurement run = Measure(trace);
  EXPECT_FALSE(run.is_complete);
  EXPECT_TRUE(run.is_host_complete);
  EXPECT_EQ(run.missing, std::vector<std::string>{"1 process whose last GPU work may be missing"});
  trace.health.lost_records = 3;
  run = Measure(trace);
  EXPECT_FALSE(run.is_host_complete);
  EXPECT_EQ(run.missing.front(), "3 records lost while recording");
}

TEST(Measure, CapturesByTimeAreNotExact) {
  for (const trace::CaptureTrigger trigger :
       {trace::CaptureTrigger::kNvtx, trace::CaptureTrigger::kDelay, trace::CaptureTrigger::kSignal}) {
    TraceMaker maker = ALaunchAndACopy();
    maker.AddCapture(0, 2000);
    maker.trace().captures.back().trigger = trigger;
    maker.trace().captures.back().end_trigger = trace::CaptureTrigger::kEnd;
    EXPECT_EQ(Measure(maker.Finish()).is_exact, trigger == trace::CaptureTrigger::kNvtx);
  }
}

}  // namespace
}  // namespace gprof
