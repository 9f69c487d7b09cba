// What reports say of single kernels by sampled counters: tables, metrics, findings, curves.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "analysis/facts/rates/phase_curve.h"
#include "analysis/topics/analyses.h"
#include "rated_timeline.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

// A trace of kernels "k0", "k1", ... with tracks of gpu0.
class SampledTrace {
 public:
  explicit SampledTrace(const RatedTimeline& timeline) {
    for (const RatedWork& work : timeline.work)
      maker_.AddKernel(work.start_ns, work.end_ns, kNone, "k" + std::to_string(work.column));
  }
  // times: of the values of the timeline.
  void Add(const char* name, const RatedTimeline& timeline, int64_t times = 1) {
    MetricSource source;
    source.name = maker_.Name(name);
    source.unit = maker_.Name("%");
    source.origin = maker_.Name("pm");
    source.metric_kind = trace::MetricKind::kRate;
    source.scope = trace::MetricScope::kDevice;
    source.device = 0;
    source.scale = -3;
    source.period_ns = timeline.samples[0].end_ns - timeline.samples[0].start_ns;
    for (MetricSample sample : timeline.samples) {
      sample.source = static_cast<uint32_t>(sources_.size());
      sample.value *= times;
      samples_.push_back(sample);
    }
    sources_.push_back(source);
  }
  Trace Finish() {
    Trace trace = maker_.Finish();
    trace.metric_sources = sources_;
    trace.metric_samples = samples_;
    return trace;
  }

 private:
  TraceMaker maker_;
  std::vector<MetricSource> sources_;
  std::vector<MetricSample> samples_;
};

Hidden ThreeKernels() {
  Hidden hidden;
  hidden.columns = 3;
  hidden.seconds = 1;
  return hidden;
}

TEST(KernelRates, TableHasTheRatesOfKernelsThatFillNoSample) {
  Hidden hidden = ThreeKernels();
  hidden.longest_us = 40;  // samples are 100 us
  const RatedTimeline timeline(hidden, 4);
  SampledTrace sampled(timeline);
  sampled.Add("SMs Active", timeline);
  const Trace trace = sampled.Finish();
  const AnalysisResult result = RunGpuMetrics(trace, kAllRows);
  const Table& table = TableOf(result, "gpu_metrics_kernels");
  int seen = 0;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    const std::string kernel = TextOf(table, row, "kernel");
    if (kernel[0] != 'k') continue;
    const double truth = timeline.truth[static_cast<size_t>(kernel[1] - '0')];
    EXPECT_LE(RealOf(table, row, "low"), 1.01 * truth) << kernel;
    EXPECT_GE(RealOf(table, row, "high"), 0.99 * truth) << kernel;
    EXPECT_NEAR(RealOf(table, row, "mean"), truth, 0.1 * truth) << kernel;
    ++seen;
  }
  EXPECT_EQ(seen, 3);
  EXPECT_EQ(TextOf(table, table.rows.size() - 1, "kernel"), "(idle)");
}

TEST(KernelRates, KernelsHaveColumnsMetricsAndALimit) {
  const RatedTimeline timeline(ThreeKernels(), 4);
  SampledTrace sampled(timeline);
  sampled.Add("SMs Active", timeline);
  sampled.Add("SM Issue", timeline, 0);
  sampled.Add("Tensor Active", timeline, 0);
  sampled.Add("DRAM Read Bandwidth", timeline);
  sampled.Add("DRAM Write Bandwidth", timeline, 0);
  const Trace trace = sampled.Finish();
  const AnalysisResult result = RunKernels(trace, kAllRows);
  for (uint32_t i = 0; i < 3; ++i) {
    const double truth = timeline.truth[i];
    EXPECT_NEAR(MetricOf(result, "kernels.dram_percent", "kernel:k" + std::to_string(i)), truth, 0.05 * truth);
  }
  EXPECT_DOUBLE_EQ(MetricOf(result, "gpu.rated_kernel_percent"), 100);
  EXPECT_FALSE(HasMetric(result, "kernels.warps_percent", "kernel:k0"));
  const Table& table = TableOf(result, "kernels");
  for (size_t row = 0; row < table.rows.size(); ++row) {
    const double truth = timeline.truth[static_cast<size_t>(TextOf(table, row, "name")[1] - '0')];
    if (std::abs(truth - 60) < 5) continue;
    EXPECT_EQ(TextOf(table, row, "limited_by"), truth > 60 ? "memory" : "latency");
  }
}

TEST(KernelRates, NothingIsSaidWithoutSamples) {
  TraceMaker maker;
  maker.AddKernel(0, kMs);
  const Trace trace = maker.Finish();
  const AnalysisResult result = RunKernels(trace, kAllRows);
  EXPECT_FALSE(HasMetric(result, "gpu.rated_kernel_percent"));
  for (const Column& column : TableOf(result, "kernels").columns) EXPECT_NE(column.key, "dram_percent");
}

// Full for 80 % of each launch, then on a fifth of the SMs.
RatedTimeline WithTail() {
  Hidden hidden = ThreeKernels();
  hidden.seconds = 3;
  hidden.columns = 1;
  hidden.shortest_us = 120, hidden.longest_us = 120;
  hidden.spread = 0.01;
  hidden.shape = [](double phase) { return phase < 0.8 ? 1.0 : 0.2; };
  RatedTimeline timeline(hidden, 4);
  const double most = timeline.truth[0];
  for (MetricSample& sample : timeline.samples)
    sample.value = std::llround(static_cast<double>(sample.value) * 95 / most);
  return timeline;
}

TEST(KernelProfiles, CurveHasTheShapeOfTheKernel) {
  const RatedTimeline timeline = WithTail();
  const RateTrack track = timeline.track();
  const double peak = 100;
  const auto curve = PhaseCurves(timeline.time(), 0, {&track, 1}, {&peak, 1}, {})[0];
  ASSERT_TRUE(curve);
  ASSERT_EQ(curve->parts.size(), kMostParts);
  double squares = 0;
  const double full = curve->parts[8].value;
  for (uint32_t part = 0; part < kMostParts; ++part)
    squares += std::pow(curve->parts[part].value - full * (part < 16 ? 1 : 0.2), 2) / kMostParts;
  EXPECT_LE(std::sqrt(squares), 5);  // percent of the peak
  EXPECT_LE(curve->error, 5);
}

TEST(KernelProfiles, ATailIsAFinding) {
  const RatedTimeline timeline = WithTail();
  SampledTrace sampled(timeline);
  sampled.Add("SMs Active", timeline);
  const Trace trace = sampled.Finish();
  const AnalysisResult result = RunGpuMetrics(trace, kAllRows);
  const Finding* const tail = FindingOf(result, "gpu.kernel_tail");
  ASSERT_NE(tail, nullptr);
  EXPECT_NE(tail->message.find("of k0 run on"), std::string::npos) << tail->message;
  EXPECT_GT(tail->gain_ns, 0);
  EXPECT_EQ(TextOf(TableOf(result, "kernel_profiles"), 0, "kernel"), "k0");
}

}  // namespace
}  // namespace gprof::test
