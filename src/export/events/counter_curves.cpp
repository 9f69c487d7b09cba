#include "export/events/counter_curves.h"

#include <algorithm>

#include "analysis/facts/memory/memory_use.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/topics/tracks/metric_samples.h"
#include "base/text.h"

namespace gprof {
namespace {

// Changes wrap around, as sizes out of a trace may be anything.
struct Step {
  int64_t time_ns = 0;
  uint64_t change = 0;
};
constexpr uint64_t kUp = 1, kDown = ~uint64_t{0};

std::vector<CounterPoint> LevelsOf(std::vector<Step> steps) {
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.time_ns < b.time_ns; });
  std::vector<CounterPoint> points;
  uint64_t level = 0;
  for (std::size_t i = 0; i < steps.size();) {
    const int64_t time_ns = steps[i].time_ns;
    const uint64_t before = level;
    for (; i < steps.size() && steps[i].time_ns == time_ns; ++i) level += steps[i].change;
    if (level != before) points.push_back({time_ns, static_cast<int64_t>(level)});
  }
  return points;
}

}  // namespace

Counter RunningOps(const Trace& trace, uint32_t device) {
  std::vector<Step> steps;
  for (uint32_t i = trace.device_ops[device].first; i < trace.device_ops[device].last; ++i) {
    steps.push_back({trace.ops[i].start_ns, kUp});
    steps.push_back({trace.ops[i].end_ns, kDown});
  }
  return {.device = device, .name = "operations running", .unit = "operations", .points = LevelsOf(std::move(steps))};
}

Counter QueuedOps(const Trace& trace, uint32_t device) {
  std::vector<Step> steps;
  for (uint32_t i = trace.device_ops[device].first; i < trace.device_ops[device].last; ++i) {
    const GpuOp& op = trace.ops[i];
    const uint32_t call = OutermostCall(trace, op.api);
    steps.push_back({call == kNone ? op.start_ns : std::min(op.start_ns, trace.api_calls[call].start_ns), kUp});
    steps.push_back({op.end_ns, kDown});
  }
  return {.device = device, .name = "queue depth", .unit = "operations", .points = LevelsOf(std::move(steps))};
}

Counter MemoryInUse(const Trace& trace, uint32_t device) {
  std::vector<Step> steps;
  if (!trace.memory_events.empty()) {
    const std::vector<uint32_t> ended = EndedBlocks(trace);
    for (std::size_t i = 0; i < trace.memory_events.size(); ++i) {
      const MemoryEvent& event = trace.memory_events[i];
      const auto add = [&](const MemoryEvent& block, uint64_t sign) {
        if (block.device == device && IsOnDevice(block.memory))
          steps.push_back({event.time_ns, sign * block.size_bytes});
      };
      if (ended[i] != kNone) add(trace.memory_events[ended[i]], kDown);
      if (event.operation == trace::MemoryOp::kAllocate) add(event, kUp);
    }
  }
  return {.device = device, .name = "memory in use", .unit = "bytes", .points = LevelsOf(std::move(steps))};
}

Counter SampledCounter(const Trace& trace, uint32_t metric_source) {
  const MetricSource& source = trace.metric_sources[metric_source];
  Counter counter{.device = source.device,
                  .name = trace.Text(source.name),
                  .unit = trace.Text(source.unit),
                  .scale = source.scale,
                  .metric_source = metric_source};
  const auto add = [&points = counter.points](int64_t time_ns, int64_t value) {
    if (!points.empty() && points.back().time_ns >= time_ns) {
      points.back().value = value;
    } else if (points.empty() || points.back().value != value) {
      points.push_back({time_ns, value});
    }
  };
  int64_t until_ns = INT64_MAX;
  for (const MetricSample& sample : trace.SamplesOf(metric_source)) {
    if (until_ns < sample.start_ns) add(until_ns, kNotMeasured);
    add(sample.start_ns, sample.value);
    until_ns = EndOfSample(source, sample);
  }
  if (until_ns != INT64_MAX) add(until_ns, kNotMeasured);
  return counter;
}

std::string NameWithUnit(const Trace& trace, const MetricSource& source) {
  const std::string name = Utf8(trace.Text(source.name)), unit = Utf8(trace.Text(source.unit));
  return unit.empty() ? name : name + " (" + unit + ")";
}

}  // namespace gprof
