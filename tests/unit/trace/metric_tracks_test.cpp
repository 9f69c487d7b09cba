// Counter tracks: what samples are of, in which order they come, and what is known of those that are missing.
#include "gprof/metric_tracks.h"

#include <gtest/gtest.h>

#include <string>

#include "trace_text.h"

namespace gprof {
namespace {

constexpr char kSources[] =
    "chunk pid=7 host=5\n"
    "process start_ns=100 pid=7 name=\"app\"\n"
    "device device=0 name=\"A\" uuid=\"GPU-a\"\ndevice device=1 name=\"B\" uuid=\"GPU-b\"\n"
    "chunk pid=99 host=5 collector=1\n"
    "metric_source time_ns=200 id=1 name=\"cpu\" unit=\"%\" origin=\"proc\" metric_kind=3 scope=2 scale=-2 "
    "period_ns=100 pid=7\n"
    "metric_source time_ns=200 id=2 name=\"power\" unit=\"W\" origin=\"nvml\" metric_kind=1 scope=4 scale=-3 "
    "device=5 device_uuid=\"GPU-b\"\n"
    "metric_source time_ns=200 id=3 name=\"run queue\" unit=\"ns\" metric_kind=2 scope=3 pid=7 tid=70\n"
    "metric_source time_ns=200 id=4 name=\"load\" scope=1 scale=3\n"
    "metric_source time_ns=200 id=5 name=\"power\" scope=4 device_uuid=\"GPU-far\"\n"
    "metric_source time_ns=200 id=6 name=\"rss\" scope=2 pid=12345\n";

Trace Load(const std::string& records) { return LoadText(kSources + records); }

TEST(MetricSources, KnowWhatTheyAreOf) {
  const Trace t = Load("");
  ASSERT_EQ(t.metric_sources.size(), 6u);
  const MetricSource &cpu = t.metric_sources[0], &power = t.metric_sources[1], &queue = t.metric_sources[2];
  EXPECT_EQ(t.Text(cpu.name), "cpu");
  EXPECT_EQ(t.Text(cpu.unit), "%");
  EXPECT_EQ(t.Text(cpu.origin), "proc");
  EXPECT_EQ(cpu.metric_kind, trace::MetricKind::kRate);
  EXPECT_EQ(cpu.process, 0u);
  EXPECT_EQ(cpu.pid, 7u);
  EXPECT_EQ(cpu.thread, kNone);
  EXPECT_EQ(cpu.device, kNone);
  EXPECT_EQ(cpu.period_ns, 100);
  EXPECT_EQ(t.Text(t.devices[power.device].uuid), "GPU-b");  // the collector's own number says nothing
  EXPECT_EQ(t.threads[queue.thread].tid, 70u);
  EXPECT_EQ(t.metric_sources[3].process, kNone);
  EXPECT_EQ(t.metric_sources[4].device, kNone);
  EXPECT_EQ(t.Text(t.metric_sources[4].device_uuid), "GPU-far");
  EXPECT_EQ(t.metric_sources[5].process, kNone);
  EXPECT_EQ(t.metric_sources[5].pid, 12345u);
}

TEST(MetricSources, OfAProcessItselfUseItsOwnDevicesAndPid) {
  const Trace t = LoadText(
      "chunk pid=7\ndevice device=3 name=\"A\"\n"
      "metric_source id=1 name=\"memory\" scope=4 device=3\nmetric_source id=2 name=\"rss\" scope=2\n");
  EXPECT_EQ(t.metric_sources.at(0).device, 0u);
  EXPECT_EQ(t.metric_sources.at(1).process, 0u);
  EXPECT_EQ(t.metric_sources.at(1).pid, 7u);
}

TEST(MetricSamples, AreInTheOrderOfTheirSourcesAndTimes) {
  const Trace t = Load(
      "metric_block start_ns=300 duration_ns=100 source=2 value=250123\n"
      "metric_block start_ns=300 duration_ns=100 source=1 value=9950\n"
      "metric_block start_ns=400 duration_ns=100 source=2 value=251000\n"
      "metric_block start_ns=400 duration_ns=100 source=1 value=-5\n"
      "metric_block start_ns=250 source=1 value=1\n"
      "metric_block start_ns=300 source=77 value=1\n");
  ASSERT_EQ(t.metric_samples.size(), 5u);
  ASSERT_EQ(t.SamplesOf(0).size(), 3u);
  EXPECT_EQ(t.SamplesOf(0)[0].start_ns, 250);
  EXPECT_EQ(t.SamplesOf(0)[0].end_ns, 250);
  EXPECT_EQ(t.SamplesOf(0)[2].end_ns, 500);
  EXPECT_DOUBLE_EQ(ScaledValue(t.metric_sources[0], t.SamplesOf(0)[1].value), 99.5);
  EXPECT_DOUBLE_EQ(ScaledValue(t.metric_sources[0], t.SamplesOf(0)[2].value), -0.05);
  EXPECT_DOUBLE_EQ(ScaledValue(t.metric_sources[1], t.SamplesOf(1)[0].value), 250.123);
  EXPECT_DOUBLE_EQ(ScaledValue(t.metric_sources[3], 4), 4000);
  EXPECT_TRUE(t.SamplesOf(2).empty());
  EXPECT_EQ(t.health.missing_strings, 1u);  // source 77
}

TEST(MetricLosses, SayWhenAndWhy) {
  const Trace t = Load(
      "metric_loss start_ns=900 duration_ns=50 source=2 reason=1 count=5\n"
      "metric_loss start_ns=700 duration_ns=10 reason=3\nmetric_loss start_ns=950 source=1 reason=200\n");
  ASSERT_EQ(t.metric_losses.size(), 3u);
  EXPECT_EQ(t.metric_losses[0].source, kNone);
  EXPECT_EQ(t.metric_losses[0].reason, trace::MetricLossReason::kTaken);
  EXPECT_EQ(t.metric_losses[1].source, 1u);
  EXPECT_EQ(t.metric_losses[1].end_ns, 950);
  EXPECT_EQ(t.metric_losses[1].count, 5u);
  EXPECT_EQ(t.metric_losses[2].reason, trace::MetricLossReason::kUnknown);
  EXPECT_EQ(t.health.lost_records, 0u);
}

}  // namespace
}  // namespace gprof
