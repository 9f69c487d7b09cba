#include "analysis/topics/tracks/gpu_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <queue>
#include <utility>

#include "analysis/causes/idle_parts.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"

namespace gprof {
namespace {

constexpr uint32_t kMostKernels = 10, kMostPaths = 10;

// What runs on a device at a time that only goes forward.
class RunningNow {
 public:
  explicit RunningNow(std::size_t streams) : kernels_(streams + 1) {}

  void Begin(const Operation& op) { Count(op, 1); }
  void End(const Operation& op) { Count(op, -1); }
  bool IsIdle() const { return kernel_streams_ == 0 && copies_ == 0; }
  uint32_t Phase() const {
    return 2 * std::min(static_cast<uint32_t>(kernel_streams_), kMostKernelStreams) + (copies_ > 0 ? 1 : 0);
  }

 private:
  void Count(const Operation& op, int by) {
    if (!op.is_kernel()) {
      copies_ += by;
      return;
    }
    int& of_stream = kernels_[std::min<std::size_t>(op.stream(), kernels_.size() - 1)];
    const bool was_running = of_stream > 0;
    of_stream += by;
    kernel_streams_ += static_cast<int>(of_stream > 0) - static_cast<int>(was_running);
  }

  std::vector<int> kernels_;  // by stream; those of no stream at last
  int kernel_streams_ = 0, copies_ = 0;
};

// By NVTX range, the time of what was launched in it or in ranges within it; INT64_MAX as start: nothing was.
std::vector<Interval> TimesOnGpu(const AnalysisInput& input, uint32_t device) {
  const Trace& trace = input.trace();
  std::vector<Interval> times(trace.ranges.size(), {INT64_MAX, INT64_MIN});
  const auto add = [&times](uint32_t range, int64_t start_ns, int64_t end_ns) {
    times[range].start_ns = std::min(times[range].start_ns, start_ns);
    times[range].end_ns = std::max(times[range].end_ns, end_ns);
  };
  for (const Operation op : OperationsOf(trace, trace.device_ops[device])) {
    const uint32_t call = input.shared().ops().CallOf(op);
    const uint32_t range = call == kNone ? kNone : Call(trace.api_calls, call).range();
    if (range != kNone) add(range, op.start_ns(), op.end_ns());
  }
  // Parents come before what is within them.
  for (std::size_t range = times.size(); range-- > 0;) {
    const uint32_t parent = trace.ranges.items()[range].parent;
    if (parent < range && times[range].start_ns != INT64_MAX) add(parent, times[range].start_ns, times[range].end_ns);
  }
  return times;
}

}  // namespace

std::string StateName(uint32_t state) {
  return state == kBusyState ? "busy" : "idle: " + std::string(InfoOf(static_cast<Cause>(state - 1)).name);
}

std::optional<Interval> GpuWindow(const AnalysisInput& input, uint32_t device) {
  if (device == kNone || !HasWindow(input.trace(), device)) return std::nullopt;
  return input.shared().gaps(device).window();
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

std::vector<LongKernel> LongestKernels(const AnalysisInput& input, uint32_t device) {
  const Trace& trace = input.trace();
  const KernelGroups& kernels = input.shared().kernels();
  const Trace::Slice ops = trace.device_ops[device];
  std::vector<LongKernel> times(kernels.size());
  for (uint32_t group = 0; group < kernels.size(); ++group) times[group].group = group;
  for (uint32_t i = ops.first; i < ops.last; ++i) {
    const GpuOp op = trace.ops[i];
    if (op.kind == OpKind::kKernel) times[kernels.Of(op)].time_ns += op.DurationNs();
  }
  std::erase_if(times, [](const LongKernel& kernel) { return kernel.time_ns <= 0; });
  std::ranges::stable_sort(times, std::greater(), &LongKernel::time_ns);
  return times;
}

KernelStates StatesOfKernels(const AnalysisInput& input, uint32_t device) {
  const Trace& trace = input.trace();
  const KernelGroups& kernels = input.shared().kernels();
  const Trace::Slice ops = trace.device_ops[device];
  KernelStates out;
  for (const LongKernel& kernel : LongestKernels(input, device)) {
    if (out.groups.size() < kMostKernels) out.groups.push_back(kernel.group);
  }
  std::vector<uint32_t> state_of(kernels.size(), static_cast<uint32_t>(out.groups.size()));
  for (uint32_t state = 0; state < out.groups.size(); ++state) state_of[out.groups[state]] = state;
  out.intervals.reserve(ops.last - ops.first);
  for (uint32_t i = ops.first; i < ops.last; ++i) {
    const GpuOp op = trace.ops[i];
    const uint32_t state =
        op.kind == OpKind::kKernel ? state_of[kernels.Of(op)] : static_cast<uint32_t>(out.groups.size());
    out.intervals.push_back({op.start_ns, op.end_ns, state});
  }
  return out;
}

std::string StreamPhaseName(uint32_t phase) {
  const uint32_t streams = phase / 2;
  if (streams == 0) return "copies only";
  return fmt::format("{}{} {}{}", streams, streams == kMostKernelStreams ? "+" : "",
                     streams == 1 ? "stream" : "streams", phase % 2 == 1 ? " + copies" : "");
}

std::vector<StateInterval> StreamPhases(const AnalysisInput& input, uint32_t device) {
  const Trace& trace = input.trace();
  std::vector<StateInterval> phases;
  RunningNow running(trace.streams.size());
  std::priority_queue<std::pair<int64_t, uint32_t>, std::vector<std::pair<int64_t, uint32_t>>, std::greater<>> ends;
  int64_t now_ns = INT64_MIN;
  const auto go_to = [&](int64_t time_ns) {
    if (time_ns <= now_ns) return;
    if (!running.IsIdle()) phases.push_back({now_ns, time_ns, running.Phase()});
    now_ns = time_ns;
  };
  const auto end_until = [&](int64_t time_ns) {
    for (; !ends.empty() && ends.top().first <= time_ns; ends.pop()) {
      go_to(ends.top().first);
      running.End(Operation(trace.ops, ends.top().second));
    }
  };
  for (const Operation op : OperationsOf(trace, trace.device_ops[device])) {
    end_until(op.start_ns());
    go_to(op.start_ns());
    running.Begin(op);
    ends.emplace(op.end_ns(), op.index());
  }
  end_until(INT64_MAX);
  return phases;
}

std::vector<RangeOnGpu> RangesOnGpu(const AnalysisInput& input, uint32_t device) {
  const Trace& trace = input.trace();
  const std::vector<Interval> times = TimesOnGpu(input, device);
  std::map<NameId, std::pair<int64_t, std::vector<StateInterval>>> of_paths;
  for (uint32_t range = 0; range < times.size(); ++range) {
    if (times[range].start_ns >= times[range].end_ns) continue;
    auto& [total_ns, intervals] = of_paths[trace.ranges[range].path];
    total_ns += times[range].DurationNs();
    intervals.push_back({times[range].start_ns, times[range].end_ns, 0});
  }
  std::vector<std::pair<int64_t, RangeOnGpu>> sorted;
  for (auto& [path, of_path] : of_paths) sorted.push_back({of_path.first, {path, std::move(of_path.second)}});
  std::ranges::stable_sort(sorted, std::greater(), [](const auto& x) { return x.first; });
  if (sorted.size() > kMostPaths) sorted.resize(kMostPaths);
  std::vector<RangeOnGpu> out;
  for (auto& [total_ns, range] : sorted) {
    std::ranges::sort(range.intervals, {}, &StateInterval::start_ns);
    out.push_back(std::move(range));
  }
  return out;
}

std::size_t PlaceOfCounter(std::string_view name) {
  constexpr std::string_view kOrder[] = {"SMs Active",
                                         "SM Issue",
                                         "Tensor Active",
                                         "DRAM Read Bandwidth",
                                         "DRAM Write Bandwidth",
                                         "DRAM Bandwidth",
                                         "power",
                                         "PCIe RX Throughput",
                                         "PCIe TX Throughput",
                                         "NVLink RX Throughput",
                                         "NVLink TX Throughput",
                                         "GPC Clock Frequency",
                                         "SM clock"};
  return static_cast<std::size_t>(std::ranges::find(kOrder, name) - std::begin(kOrder));
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
