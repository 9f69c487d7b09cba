#include "analysis/topics/tracks/gpu_energy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/topics/analyses.h"
#include "analysis/topics/tracks/gpu_states.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

constexpr int64_t kS = 1'000'000'000;

// Tracks of gpu0 beside operations.
class Sampled {
 public:
  TraceMaker maker;

  void Add(const char* name, const char* unit, const char* origin, trace::MetricKind kind,
           const std::vector<MetricSample>& samples, int32_t scale = 0, int64_t period_ns = 100 * kMs) {
    MetricSource source;
    source.name = maker.Name(name);
    source.unit = maker.Name(unit);
    source.origin = maker.Name(origin);
    source.metric_kind = kind;
    source.scope = trace::MetricScope::kDevice;
    source.device = 0;
    source.scale = scale;
    source.period_ns = period_ns;
    for (MetricSample sample : samples) {
      sample.source = static_cast<uint32_t>(sources_.size());
      samples_.push_back(sample);
    }
    sources_.push_back(source);
  }
  // Every 100 ms from 0 on.
  void AddPower(const std::vector<int64_t>& watts) {
    std::vector<MetricSample> samples;
    for (std::size_t i = 0; i < watts.size(); ++i) {
      const int64_t at_ns = static_cast<int64_t>(i) * 100 * kMs;
      samples.push_back({at_ns, at_ns, watts[i], 0});
    }
    Add("power", "W", "nvml", trace::MetricKind::kGauge, samples);
  }
  // Means over 10 ms each, from 0 on.
  void AddMeans(const char* name, const char* unit, int count, int64_t value, const char* origin = "pm") {
    std::vector<MetricSample> samples;
    for (int64_t i = 0; i < count; ++i) samples.push_back({i * 10 * kMs, (i + 1) * 10 * kMs, value, 0});
    Add(name, unit, origin, trace::MetricKind::kRate, samples);
  }
  Trace Finish() {
    Trace trace = maker.Finish();
    trace.metric_sources = sources_;
    trace.metric_samples = samples_;
    return trace;
  }

 private:
  std::vector<MetricSource> sources_;
  std::vector<MetricSample> samples_;
};

TEST(GpuEnergy, IsPowerTimesTimeOfTheWindow) {
  Sampled sampled;
  sampled.AddPower({0, 100, 100, 300, 300, 0});
  sampled.maker.AddKernel(50 * kMs, 200 * kMs, kNone, "small");
  sampled.maker.AddKernel(200 * kMs, 400 * kMs, kNone, "large");
  const Trace trace = sampled.Finish();
  const AnalysisResult result = RunGpuMetrics(trace, {});
  EXPECT_DOUBLE_EQ(MetricOf(result, "gpu.energy_j"), 100 * 0.15 + 300 * 0.2);
  EXPECT_DOUBLE_EQ(MetricOf(result, "gpu.energy_j", "gpu0"), 75);
  const Table& table = TableOf(result, "gpu_energy");
  EXPECT_EQ(TextOf(table, 0, "kernel"), "large");
  EXPECT_DOUBLE_EQ(RealOf(table, 0, "joules"), 60);
  EXPECT_DOUBLE_EQ(RealOf(table, 0, "uncertainty_joules"), 0);
  EXPECT_EQ(TextOf(table, 1, "kernel"), "small");
  EXPECT_DOUBLE_EQ(RealOf(table, 1, "joules"), 15);
  EXPECT_EQ(IntOf(table, 1, "time_ns"), 150 * kMs);
}

TEST(GpuEnergy, WorkThatSharesASampleIsUncertain) {
  Sampled sampled;
  sampled.AddPower({0, 200, 100, 300});
  sampled.maker.AddKernel(0, 50 * kMs, kNone, "a");
  sampled.maker.AddKernel(50 * kMs, 100 * kMs, kNone, "b");
  sampled.maker.AddKernel(100 * kMs, 300 * kMs, kNone, "c");
  const Trace trace = sampled.Finish();
  const AnalysisResult result = RunGpuMetrics(trace, {});
  const Table& table = TableOf(result, "gpu_energy");
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(TextOf(table, 0, "kernel"), "c");
  EXPECT_DOUBLE_EQ(RealOf(table, 0, "uncertainty_joules"), 0);
  // 10 J, and 5 to 15 J by the least and the largest power.
  EXPECT_DOUBLE_EQ(RealOf(table, 1, "joules"), 10);
  EXPECT_DOUBLE_EQ(RealOf(table, 1, "uncertainty_joules"), 5);
}

TEST(GpuEnergy, WhatRunsAtTheSameTimeSharesIt) {
  Sampled sampled;
  sampled.AddPower({0, 100, 100});
  const Trace trace = [&] {
    sampled.maker.AddKernel(0, 200 * kMs, kNone, "a");
    sampled.maker.AddKernel(100 * kMs, 200 * kMs, kNone, "b");
    return sampled.Finish();
  }();
  const std::optional<PowerCurve> power = PowerCurve::Of(trace, 0);
  ASSERT_TRUE(power);
  const std::vector<StateInterval> intervals = {{0, 200 * kMs, 0}, {100 * kMs, 200 * kMs, 1}};
  const std::vector<StateEnergy> energies = EnergyOfStates(*power, {0, 200 * kMs}, intervals, 2);
  EXPECT_DOUBLE_EQ(energies[0].joules, 15);
  EXPECT_DOUBLE_EQ(energies[1].joules, 5);
  EXPECT_DOUBLE_EQ(energies[2].joules, 0);
}

TEST(GpuEnergy, TheIdleTimeIsItsOwnRow) {
  Sampled sampled;
  sampled.AddPower({0, 300, 100, 100, 300});
  sampled.maker.AddKernel(0, 100 * kMs, kNone, "a");
  sampled.maker.AddKernel(300 * kMs, 400 * kMs, kNone, "a");
  const Trace trace = sampled.Finish();
  const AnalysisResult result = RunGpuMetrics(trace, {});
  const Table& table = TableOf(result, "gpu_energy");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_DOUBLE_EQ(RealOf(table, 0, "joules"), 60);
  EXPECT_DOUBLE_EQ(RealOf(table, 0, "above_idle_joules"), 40);
  EXPECT_EQ(TextOf(table, 1, "kernel"), "(idle)");
  EXPECT_DOUBLE_EQ(RealOf(table, 1, "joules"), 20);
}

TEST(GpuEnergy, TheCounterOfTheGpuIsRight) {
  Sampled sampled;
  std::vector<int64_t> watts(31, 100);
  sampled.AddPower(watts);
  sampled.Add("energy", "J", "nvml", trace::MetricKind::kCounter,
              {{0, 0, 1'000'000, 0}, {1 * kS, 1 * kS, 1'110'000, 0}, {3 * kS, 3 * kS, 1'330'000, 0}}, -3);
  sampled.maker.AddKernel(0, 3 * kS);
  const Trace trace = sampled.Finish();
  EXPECT_NEAR(MetricOf(RunGpuMetrics(trace, {}), "gpu.energy_j"), 330, 1e-6);
  EXPECT_NEAR(PowerCurve::Of(trace, 0)->scale(), 1.1, 1e-9);
}

TEST(GpuEnergy, IsNotToldOfAWindowThatWasNotSampled) {
  Sampled sampled;
  sampled.AddPower({100, 100, 100});
  sampled.maker.AddKernel(0, 3 * kS);
  const AnalysisResult result = RunGpuMetrics(sampled.Finish(), {});
  EXPECT_FALSE(HasMetric(result, "gpu.energy_j"));
}

TEST(GpuEnergy, OfATokenIsTheMeanOverTheTokens) {
  Sampled sampled;
  sampled.AddPower({0, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100});
  sampled.maker.AddKernel(0, 1000 * kMs);
  Trace& trace = sampled.maker.trace();
  for (uint32_t step = 1; step <= 4; ++step) {
    const int64_t start_ns = (100 + 200 * (int64_t{step} - 1)) * kMs;
    trace.engine_steps.push_back({start_ns, start_ns + 200 * kMs, 0, 0, step, 1, 0, 0, 0});
    trace.step_requests.push_back({start_ns, 0, step, 1, 1, 0, 2, false});
  }
  // 80 joules in 800 ms, in which 8 tokens came out.
  EXPECT_NEAR(MetricOf(RunGpuMetrics(sampled.Finish(), {}), "gpu.energy_per_token_j"), 10, 1e-6);
}

TEST(GpuEnergy, OfAStepIsTheMeanOverTheSteps) {
  Sampled sampled;
  std::vector<int64_t> watts = {0};
  for (int i = 0; i < 10; ++i) watts.push_back(100 + 100 * (i % 2));
  sampled.AddPower(watts);
  for (int64_t i = 0; i < 5; ++i) {
    sampled.maker.AddRange(i * 200 * kMs, (i + 1) * 200 * kMs, "step");
    sampled.maker.AddKernel(i * 200 * kMs, (i + 1) * 200 * kMs);
  }
  const AnalysisResult result = RunGpuMetrics(sampled.Finish(), {});
  EXPECT_NEAR(MetricOf(result, "gpu.energy_per_step_j"), 30, 1e-9);
  const Table& ranges = TableOf(result, "gpu_energy_ranges");
  ASSERT_EQ(ranges.rows.size(), 1u);
  EXPECT_NEAR(RealOf(ranges, 0, "joules"), 150, 1e-9);
  EXPECT_EQ(IntOf(ranges, 0, "count"), 5);
}

TEST(GpuEnergy, OfARangeIsUncertainWhereItSharesASample) {
  Sampled sampled;
  sampled.AddPower({0, 100, 100, 300, 100});
  sampled.maker.AddRange(0, 250 * kMs, "load");
  sampled.maker.AddKernel(0, 300 * kMs);
  const AnalysisResult result = RunGpuMetrics(sampled.Finish(), {});
  const Table& ranges = TableOf(result, "gpu_energy_ranges");
  ASSERT_EQ(ranges.rows.size(), 1u);
  EXPECT_DOUBLE_EQ(RealOf(ranges, 0, "joules"), 10 + 10 + 15);
  // Of the last 50 ms: 5 J at the least power, 15 J at the most.
  EXPECT_DOUBLE_EQ(RealOf(ranges, 0, "uncertainty_joules"), 10);
}

// ---- distributions ----

// 10 ms each, 0 % and so on.
void AddRamp(int count, Sampled* sampled) {
  std::vector<MetricSample> samples;
  for (int64_t i = 0; i < count; ++i) samples.push_back({i * 10 * kMs, (i + 1) * 10 * kMs, i, 0});
  sampled->Add("SMs Active", "%", "pm", trace::MetricKind::kRate, samples);
}

TEST(GpuMetrics, ARangeHasTheSamplesOfWhatItLaunched) {
  Sampled sampled;
  sampled.maker.AddRange(0, 5 * kMs, "outer");
  sampled.maker.AddRange(1 * kMs, 4 * kMs, "outer/inner");
  const uint32_t inner = sampled.maker.AddCall(2 * kMs, 3 * kMs, "cudaLaunchKernel");
  const uint32_t outer = sampled.maker.AddCall(4'200'000, 4'400'000, "cudaLaunchKernel");
  const uint32_t none = sampled.maker.AddCall(6 * kMs, 7 * kMs, "cudaLaunchKernel");
  sampled.maker.AddKernel(100 * kMs, 200 * kMs, inner);
  sampled.maker.AddKernel(200 * kMs, 300 * kMs, outer);
  sampled.maker.AddKernel(300 * kMs, 400 * kMs, none);
  AddRamp(40, &sampled);
  const Table table = TableOf(RunGpuMetrics(sampled.Finish(), {}), "gpu_metrics_ranges");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(TextOf(table, 0, "range"), "outer");
  EXPECT_EQ(IntOf(table, 0, "samples"), 20);
  EXPECT_DOUBLE_EQ(RealOf(table, 0, "mean"), 19.5);
  EXPECT_EQ(TextOf(table, 1, "range"), "outer/inner");
  EXPECT_DOUBLE_EQ(RealOf(table, 1, "mean"), 14.5);
}

TEST(GpuMetrics, PhasesOfStreams) {
  Sampled sampled;
  const uint32_t second = sampled.maker.AddStream(9);
  sampled.maker.AddKernel(0, 200 * kMs);
  sampled.maker.AddKernel(100 * kMs, 200 * kMs).stream = second;
  sampled.maker.AddCopy(200 * kMs, 300 * kMs, 1000, trace::CopyKind::kHostToDevice);
  AddRamp(30, &sampled);
  const Table table = TableOf(RunGpuMetrics(sampled.Finish(), {}), "gpu_metrics_streams");
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(TextOf(table, 0, "phase"), "copies only");
  EXPECT_DOUBLE_EQ(RealOf(table, 0, "mean"), 24.5);
  EXPECT_EQ(TextOf(table, 1, "phase"), "1 stream");
  EXPECT_DOUBLE_EQ(RealOf(table, 1, "mean"), 4.5);
  EXPECT_EQ(TextOf(table, 2, "phase"), "2 streams");
  EXPECT_DOUBLE_EQ(RealOf(table, 2, "mean"), 14.5);
}

TEST(GpuMetrics, OfStepsAreTheMeansOfEach) {
  Sampled sampled;
  for (int64_t i = 0; i < 5; ++i) {
    sampled.maker.AddRange(i * 100 * kMs, (i + 1) * 100 * kMs, "step");
    sampled.maker.AddKernel(i * 100 * kMs, (i + 1) * 100 * kMs);
  }
  AddRamp(50, &sampled);
  const Table table = TableOf(RunGpuMetrics(sampled.Finish(), {}), "gpu_metrics_steps");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(IntOf(table, 0, "samples"), 5);
  EXPECT_DOUBLE_EQ(RealOf(table, 0, "min"), 4.5);
  EXPECT_DOUBLE_EQ(RealOf(table, 0, "p50"), 24.5);
  EXPECT_DOUBLE_EQ(RealOf(table, 0, "max"), 44.5);
}

TEST(GrowthWithin, IsLinearBetweenSamplesAndSurvivesARestart) {
  Sampled sampled;
  sampled.Add("held down by power", "ns", "nvml", trace::MetricKind::kCounter,
              {{0, 0, 100, 0}, {10, 10, 200, 0}, {20, 20, 50, 0}});
  sampled.maker.AddKernel(0, 20);
  const Trace trace = sampled.Finish();
  EXPECT_DOUBLE_EQ(*GrowthWithin(trace, 0, {5, 10}), 50);
  EXPECT_DOUBLE_EQ(*GrowthWithin(trace, 0, {0, 20}), 150);
  EXPECT_FALSE(GrowthWithin(trace, 0, {30, 40}));
  EXPECT_FALSE(GrowthWithin(trace, kNone, {0, 20}));
}

TEST(FindSource, TheMonitorsComeBeforeOthers) {
  Sampled sampled;
  sampled.AddMeans("SMs Active", "%", 1, 1, "gpm");
  sampled.AddMeans("SMs Active", "%", 1, 2, "pm");
  sampled.maker.AddKernel(0, 10 * kMs);
  const Trace trace = sampled.Finish();
  EXPECT_EQ(FindSource(trace, 0, "SMs Active", "%"), 1u);
  EXPECT_EQ(FindSource(trace, 0, "SMs Active", "MHz"), kNone);
  EXPECT_DOUBLE_EQ(MetricOf(RunGpuMetrics(trace, {}), "gpu.sm_active_percent"), 2);
}

// ---- findings ----

AnalysisResult ResultOf(Sampled* sampled) { return RunGpuMetrics(sampled->Finish(), {}); }

TEST(GpuFindings, ClocksThatWereHeldDown) {
  Sampled sampled;
  sampled.maker.AddKernel(0, 1 * kS);
  sampled.Add("held down by power", "ns", "nvml", trace::MetricKind::kCounter, {{0, 0, 0, 0}, {kS, kS, 400 * kMs, 0}});
  sampled.Add("held down by heat", "ns", "nvml", trace::MetricKind::kCounter, {{0, 0, 0, 0}, {kS, kS, 0, 0}});
  sampled.Add("SM clock", "MHz", "nvml", trace::MetricKind::kGauge,
              {{0, 0, 2000, 0}, {100 * kMs, 100 * kMs, 1500, 0}, {200 * kMs, 200 * kMs, 1500, 0}});
  const AnalysisResult result = ResultOf(&sampled);
  EXPECT_DOUBLE_EQ(MetricOf(result, "gpu.throttled_ns"), 400e6);
  const Finding* const finding = FindingOf(result, "gpu.power_capped");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gain_ns, 100 * kMs);
  EXPECT_NE(finding->message.find("power limit 400.00 ms; SM clock median 1500 MHz, maximum 2000 MHz"),
            std::string::npos)
      << finding->message;
  EXPECT_EQ(FindingOf(result, "gpu.clocks_fell"), nullptr);
}

TEST(GpuFindings, HeatBySamplesWhereThereAreNoCounters) {
  Sampled sampled;
  sampled.maker.AddKernel(0, 1 * kS);
  std::vector<MetricSample> reasons;
  for (int64_t i = 0; i < 10; ++i) reasons.push_back({i * 100 * kMs, i * 100 * kMs, i < 5 ? 0x20 : 0x1, 0});
  sampled.Add("clock limits", "mask", "nvml", trace::MetricKind::kGauge, reasons);
  const AnalysisResult result = ResultOf(&sampled);
  EXPECT_DOUBLE_EQ(MetricOf(result, "gpu.throttled_ns"), 500e6);
  EXPECT_NE(FindingOf(result, "gpu.clocks_fell"), nullptr);
}

// Reasons and SM clock, each held for 100 ms.
void AddReasons(const std::vector<std::pair<int64_t, int64_t>>& reasons_and_mhz, Sampled* sampled) {
  std::vector<MetricSample> reasons, clocks;
  for (const auto& [reason, mhz] : reasons_and_mhz) {
    const int64_t at_ns = static_cast<int64_t>(reasons.size()) * 100 * kMs;
    reasons.push_back({at_ns, at_ns, reason, 0});
    clocks.push_back({at_ns, at_ns, mhz, 0});
  }
  sampled->Add("clock limits", "mask", "nvml", trace::MetricKind::kGauge, reasons);
  sampled->Add("SM clock", "MHz", "nvml", trace::MetricKind::kGauge, clocks);
}

TEST(ClockLimits, EachReasonHasItsTimeAndItsCost) {
  Sampled sampled;
  sampled.maker.AddKernel(0, 250 * kMs);
  sampled.maker.AddKernel(300 * kMs, 600 * kMs);
  // Power and heat at once count as heat, which is more pressing; 0x1 is that the GPU had nothing to do.
  AddReasons({{0x0, 2000}, {0x4, 1500}, {0x4, 1000}, {0x24, 500}, {0x40, 1000}, {0x1, 2000}}, &sampled);
  const AnalysisResult result = ResultOf(&sampled);
  const Table& table = TableOf(result, "gpu_clock_limits");
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(TextOf(table, 0, "reason"), "power limit");
  EXPECT_EQ(IntOf(table, 0, "time_ns"), 200 * kMs);
  EXPECT_DOUBLE_EQ(RealOf(table, 0, "clock_mhz"), 1250);
  EXPECT_EQ(IntOf(table, 0, "cost_ns"), 25 * kMs + 25 * kMs);  // the GPU was busy for 50 ms of the second sample
  EXPECT_EQ(TextOf(table, 1, "reason"), "heat (hardware)");
  EXPECT_EQ(IntOf(table, 1, "cost_ns"), 50 * kMs);
  EXPECT_EQ(TextOf(table, 2, "reason"), "heat");
  EXPECT_EQ(IntOf(table, 2, "cost_ns"), 75 * kMs);
  EXPECT_DOUBLE_EQ(MetricOf(result, "gpu.throttled_ns"), 400e6);
  ASSERT_NE(FindingOf(result, "gpu.power_capped"), nullptr);
  EXPECT_EQ(FindingOf(result, "gpu.power_capped")->gain_ns, 175 * kMs);
}

TEST(ClockLimits, WhatTheDriverCountedIsTakenBetweenSamples) {
  Sampled sampled;
  sampled.maker.AddKernel(0, 1 * kS);
  AddReasons({{0x4, 1500}, {0x0, 2000}, {0, 2000}, {0, 2000}, {0, 2000}, {0, 2000}, {0, 2000}, {0, 2000}, {0, 2000}},
             &sampled);
  sampled.Add("held down by power", "ns", "nvml", trace::MetricKind::kCounter, {{0, 0, 0, 0}, {kS, kS, 400 * kMs, 0}});
  const AnalysisResult result = ResultOf(&sampled);
  const Table& table = TableOf(result, "gpu_clock_limits");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(IntOf(table, 0, "time_ns"), 400 * kMs);
  EXPECT_EQ(IntOf(table, 0, "cost_ns"), 100 * kMs);
}

TEST(ClockLimits, ClocksThatWereSetAreNotThrottled) {
  Sampled sampled;
  sampled.maker.AddKernel(0, 300 * kMs);
  AddReasons({{0x2, 1000}, {0x2, 1000}, {0x0, 2000}}, &sampled);
  const AnalysisResult result = ResultOf(&sampled);
  EXPECT_DOUBLE_EQ(MetricOf(result, "gpu.throttled_ns"), 0);
  EXPECT_EQ(FindingOf(result, "gpu.clocks_fell"), nullptr);
  const Finding* const finding = FindingOf(result, "gpu.clocks_set");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gain_ns, 100 * kMs);
}

TEST(GpuFindings, KernelsThatLeaveSmsWithoutWork) {
  const auto find = [](int64_t percent) {
    Sampled sampled;
    sampled.maker.AddKernel(0, 100 * kMs, kNone, "narrow");
    sampled.AddMeans("SMs Active", "%", 10, percent);
    const AnalysisResult result = ResultOf(&sampled);
    const Finding* const finding = FindingOf(result, "gpu.partial_grids");
    return finding == nullptr ? "" : finding->message;
  };
  EXPECT_EQ(find(30),
            "narrow keeps 30% of the SMs active on average: the others have no block to run (100% of the GPU window)");
  EXPECT_EQ(find(60), "");
}

TEST(GpuFindings, KernelsThatWaitAndKernelsThatAreBoundByMemory) {
  Sampled sampled;
  sampled.maker.AddKernel(0, 100 * kMs, kNone, "spin");
  sampled.AddMeans("SMs Active", "%", 10, 100);
  sampled.AddMeans("SM Issue", "%", 10, 12);
  AnalysisResult result = ResultOf(&sampled);
  ASSERT_NE(FindingOf(result, "gpu.occupied_not_working"), nullptr);
  EXPECT_EQ(FindingOf(result, "gpu.occupied_not_working")->subject.kernel, "spin");
  EXPECT_EQ(FindingOf(result, "gpu.dram_bound"), nullptr);

  Sampled copy;
  copy.maker.AddKernel(0, 100 * kMs, kNone, "copy");
  copy.AddMeans("SMs Active", "%", 10, 100);
  copy.AddMeans("SM Issue", "%", 10, 12);
  copy.AddMeans("DRAM Read Bandwidth", "%", 10, 45);
  copy.AddMeans("DRAM Write Bandwidth", "%", 10, 44);
  result = ResultOf(&copy);
  EXPECT_EQ(FindingOf(result, "gpu.occupied_not_working"), nullptr);
  ASSERT_NE(FindingOf(result, "gpu.dram_bound"), nullptr);
  EXPECT_NE(FindingOf(result, "gpu.dram_bound")->message.find("89%"), std::string::npos);
}

TEST(GpuFindings, PcieThatNobodyExplains) {
  Sampled sampled;
  sampled.maker.AddKernel(0, 10 * kMs);
  sampled.maker.AddKernel(90 * kMs, 100 * kMs);
  sampled.AddMeans("PCIe RX Throughput", "bytes/s", 10, 20'000'000'000);
  EXPECT_NE(FindingOf(ResultOf(&sampled), "gpu.pcie_in_gaps"), nullptr);
}

// A sample that is mostly idle has the copies in it, too: 100 MB in 10 ms are 10 GB/s.
TEST(GpuFindings, PcieOfCopiesWithinASampleIsExplained) {
  for (const uint64_t bytes : {100 * kMegabyte, 10 * kMegabyte}) {
    Sampled sampled;
    sampled.maker.AddKernel(0, kMs);
    sampled.maker.AddCopy(51 * kMs, 51 * kMs + 500 * kUs, bytes, trace::CopyKind::kHostToDevice);
    sampled.maker.AddKernel(99 * kMs, 100 * kMs);
    sampled.Add("PCIe RX Throughput", "bytes/s", "pm", trace::MetricKind::kRate,
                {{50 * kMs, 60 * kMs, 10'500'000'000, 0}});
    EXPECT_EQ(FindingOf(ResultOf(&sampled), "gpu.pcie_in_gaps") != nullptr, bytes < 100 * kMegabyte) << bytes;
  }
}

TEST(GpuFindings, OthersAreToldOnlyWhereProcessesAreKnown) {
  const auto find = [](int64_t own, int64_t others) {
    Sampled sampled;
    sampled.maker.AddKernel(0, 100 * kMs);
    using enum trace::MetricKind;
    sampled.Add("processes of the run", "", "nvml", kGauge, {{0, 0, own, 0}});
    sampled.Add("other processes", "", "nvml", kGauge, {{0, 0, others, 0}});
    return FindingOf(ResultOf(&sampled), "gpu.other_processes") != nullptr;
  };
  EXPECT_TRUE(find(1, 1));
  EXPECT_FALSE(find(1, 0));
  EXPECT_FALSE(find(0, 2));
}

TEST(GpuFindings, SamplesThatAreMissing) {
  using enum trace::MetricLossReason;
  const auto find = [](trace::MetricLossReason reason) {
    Sampled sampled;
    sampled.maker.AddKernel(0, 100 * kMs);
    Trace trace = sampled.Finish();
    trace.metric_losses.push_back({10 * kMs, 30 * kMs, 0, kNone, reason});
    const AnalysisResult result = RunHealth(trace, {});
    const Finding* const finding = FindingOf(result, "health.metric_losses");
    return finding == nullptr ? "" : finding->message;
  };
  EXPECT_EQ(find(kOverflow), "Gaps in sampled data (buffer full): 1, up to 20.00 ms");
  // The beginning, the end and what was given up on purpose are no losses.
  EXPECT_EQ(find(kPaused), "");
  EXPECT_EQ(find(kStepDown), "");
}

TEST(GpuFindings, ABusyGpuWithLittleToDo) {
  Sampled sampled;
  sampled.maker.AddKernel(0, 100 * kMs);
  sampled.AddMeans("SMs Active", "%", 10, 12);
  sampled.Add("utilization", "%", "nvml", trace::MetricKind::kGauge, {{50 * kMs, 50 * kMs, 100, 0}});
  ASSERT_NE(FindingOf(ResultOf(&sampled), "gpu.looks_busy"), nullptr);
}

}  // namespace
}  // namespace gprof::test
