#include "analysis/tracks/gpu_states.h"

#include <algorithm>

#include "analysis/facts/shared_facts.h"
#include "analysis/idle/gaps/idle_parts.h"

namespace gprof {
namespace {

constexpr uint32_t kMostKernels = 10;

// The less, the better.
int RankOf(std::string_view origin) { return origin == "nvml" ? 2 : origin == "gpm" ? 1 : 0; }

}  // namespace

std::string StateName(uint32_t state) {
  return state == kBusyState ? "busy" : "idle: " + std::string(InfoOf(static_cast<Cause>(state - 1)).name);
}

std::optional<Interval> GpuWindow(const Trace& trace, uint32_t device) {
  if (device == kNone || !HasWindow(trace, device)) return std::nullopt;
  if (!trace.device_windows.empty()) return trace.device_windows[device].time;
  const Trace::Slice ops = trace.device_ops[device];
  Interval window{trace.ops[ops.first].start_ns, INT64_MIN};
  for (uint32_t i = ops.first; i < ops.last; ++i) window.end_ns = std::max(window.end_ns, trace.ops[i].end_ns);
  return window;
}

std::vector<StateInterval> DeviceStates(const AnalysisInput& input, uint32_t device, const Interval& window) {
  std::vector<StateInterval> states;
  int64_t at_ns = window.start_ns;
  ForEachIdlePart(input, device, [&](int64_t start_ns, int64_t end_ns, const Part& part) {
    if (start_ns > at_ns) states.push_back({at_ns, start_ns, kBusyState});
    states.push_back({start_ns, end_ns, 1 + static_cast<uint32_t>(part.cause)});
    at_ns = std::max(at_ns, end_ns);
  });
  if (window.end_ns > at_ns) states.push_back({at_ns, window.end_ns, kBusyState});
  return states;
}

KernelStates StatesOfKernels(const AnalysisInput& input, uint32_t device) {
  const Trace& trace = input.trace();
  const KernelGroups& kernels = input.shared().kernels();
  const Trace::Slice ops = trace.device_ops[device];
  std::vector<int64_t> total_ns(kernels.size());
  for (uint32_t i = ops.first; i < ops.last; ++i) {
    const GpuOp op = trace.ops[i];
    if (op.kind == OpKind::kKernel) total_ns[kernels.Of(op)] += op.DurationNs();
  }
  KernelStates out;
  for (uint32_t group = 0; group < kernels.size(); ++group) {
    if (total_ns[group] > 0) out.groups.push_back(group);
  }
  std::stable_sort(out.groups.begin(), out.groups.end(),
                   [&](uint32_t a, uint32_t b) { return total_ns[a] > total_ns[b]; });
  if (out.groups.size() > kMostKernels) out.groups.resize(kMostKernels);
  std::vector<uint32_t> state_of(kernels.size(), static_cast<uint32_t>(out.groups.size()));
  for (uint32_t state = 0; state < out.groups.size(); ++state) state_of[out.groups[state]] = state;
  for (uint32_t i = ops.first; i < ops.last; ++i) {
    const GpuOp op = trace.ops[i];
    const uint32_t state =
        op.kind == OpKind::kKernel ? state_of[kernels.Of(op)] : static_cast<uint32_t>(out.groups.size());
    out.intervals.push_back({op.start_ns, op.end_ns, state});
  }
  return out;
}

uint32_t FindSource(const Trace& trace, uint32_t device, std::string_view name, std::string_view unit) {
  uint32_t found = kNone;
  ForEachSourceOf(trace, device, [&](uint32_t i) {
    const MetricSource& source = trace.metric_sources[i];
    if (trace.Text(source.name) != name || trace.Text(source.unit) != unit) return;
    const bool is_better =
        found == kNone || RankOf(trace.Text(source.origin)) < RankOf(trace.Text(trace.metric_sources[found].origin));
    if (is_better) found = i;
  });
  return found;
}

std::span<const MetricSample> SamplesWithin(std::span<const MetricSample> samples, const Interval& time) {
  const auto is_before = [](const MetricSample& sample, int64_t time_ns) { return sample.start_ns < time_ns; };
  const auto first = std::lower_bound(samples.begin(), samples.end(), time.start_ns, is_before);
  return {first, std::lower_bound(first, samples.end(), time.end_ns, is_before)};
}

std::optional<double> GrowthWithin(const Trace& trace, uint32_t source, const Interval& time) {
  if (source == kNone) return std::nullopt;
  const std::span<const MetricSample> samples = trace.SamplesOf(source);
  const bool reaches =
      samples.size() >= 2 && samples.front().start_ns < time.end_ns && samples.back().start_ns > time.start_ns;
  if (!reaches) return std::nullopt;
  double growth = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const MetricSample &before = samples[i - 1], &after = samples[i];
    const int64_t start_ns = std::max(before.start_ns, time.start_ns), end_ns = std::min(after.start_ns, time.end_ns);
    if (end_ns <= start_ns) continue;
    const int64_t grown = after.value >= before.value ? after.value - before.value : after.value;
    const double share = static_cast<double>(end_ns - start_ns) / static_cast<double>(after.start_ns - before.start_ns);
    growth += ScaledValue(trace.metric_sources[source], grown) * share;
  }
  return growth;
}

}  // namespace gprof
