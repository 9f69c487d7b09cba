#include "analysis/topics/memory/tensors/tensor_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/memory/memory_use.h"

namespace gprof {
namespace {

constexpr std::string_view kAllocated = "PyTorch memory allocated", kReserved = "PyTorch memory reserved";
constexpr std::size_t kFewestSteps = 3;

using TrackSamples = std::span<const MetricSample>;

// What held at that time; nothing before the first sample.
std::optional<int64_t> ValueAt(TrackSamples samples, int64_t time_ns) {
  const auto after = std::upper_bound(samples.begin(), samples.end(), time_ns,
                                      [](int64_t time, const MetricSample& s) { return time < s.start_ns; });
  return after == samples.begin() ? std::nullopt : std::optional(std::prev(after)->value);
}

TrackSamples TrackOf(const Trace& trace, std::string_view name, uint32_t process, uint32_t device) {
  for (std::size_t i = 0; i < trace.metric_sources.size(); ++i) {
    const MetricSource& source = trace.metric_sources[i];
    if (source.process != process || source.device != device) continue;
    if (trace.Text(source.name) == name) return trace.SamplesOf(static_cast<uint32_t>(i));
  }
  return {};
}

bool HoldsLess(const MetricSample& a, const MetricSample& b) { return a.value < b.value; }

// Bytes per step by which what is left at the ends of steps grew: nothing where it did not grow from each to the next
// of the second half.
Cell GrowthOf(const Trace& trace, TrackSamples samples, const StepChoice* step) {
  if (step == nullptr || step->ranges.size() < kFewestSteps) return {};
  std::vector<int64_t> left;
  for (const uint32_t range : step->ranges) {
    if (const auto value = ValueAt(samples, trace.ranges[range].end_ns)) left.push_back(*value);
  }
  if (left.size() < kFewestSteps) return {};
  const auto middle = left.begin() + static_cast<std::ptrdiff_t>(left.size() / 2);
  const bool grows = std::is_sorted(middle, left.end(), [](int64_t a, int64_t b) { return a <= b; });
  const auto steps = left.end() - middle - 1;
  return grows && steps > 0 ? Cell((left.back() - *middle) / steps) : Cell(int64_t{0});
}

std::vector<Cell> RowOf(const Trace& trace, std::size_t source, const StepChoice* step) {
  const MetricSource& s = trace.metric_sources[source];
  const TrackSamples samples = trace.SamplesOf(static_cast<uint32_t>(source));
  const MetricSample& peak = *std::ranges::max_element(samples, HoldsLess);
  const TrackSamples reserved = TrackOf(trace, kReserved, s.process, s.device);
  const int64_t reserved_then = ValueAt(reserved, peak.start_ns).value_or(peak.value);
  const bool is_known = s.process != kNone;
  const int64_t begin_ns = is_known ? trace.processes[s.process].start_ns : 0;
  return {MemoryDeviceName(trace, s.device),
          MemoryProcessName(trace, s.process),
          peak.value,
          reserved_then,
          reserved_then - peak.value,
          reserved.empty() ? peak.value : std::ranges::max_element(reserved, HoldsLess)->value,
          samples.back().value,
          GrowthOf(trace, samples, step),
          peak.start_ns - begin_ns};
}

}  // namespace

bool HasTensorMemory(const Trace& trace) {
  return std::ranges::any_of(trace.metric_sources,
                             [&](const MetricSource& source) { return trace.Text(source.name) == kAllocated; });
}

std::optional<MetricSample> AllocatedPeak(const Trace& trace, uint32_t process, uint32_t device) {
  const TrackSamples samples = TrackOf(trace, kAllocated, process, device);
  if (samples.empty()) return std::nullopt;
  return *std::ranges::max_element(samples, HoldsLess);
}

int64_t ReservedAtEnd(const Trace& trace, uint32_t process, uint32_t device) {
  const TrackSamples samples = TrackOf(trace, kReserved, process, device);
  return samples.empty() ? 0 : samples.back().value;
}

std::string MemoryProcessName(const Trace& trace, uint32_t process) {
  if (process == kNone) return {};
  return fmt::format("{} ({})", trace.Text(trace.processes[process].name), trace.processes[process].pid);
}

Table TensorMemoryTable(const Trace& trace, const StepChoice* step) {
  Table table{
      "tensor_memory",
      "PyTorch memory",
      {{"device", "Device", Unit::kText, false, ColumnRole::kOwn},
       {"process", "Process", Unit::kText, true},
       {"peak_bytes", "Peak allocated", Unit::kBytes, false},
       {"reserved_bytes", "Reserved then", Unit::kBytes, false},
       {"unused_bytes", "Not in use at peak", Unit::kBytes, false},
       {"peak_reserved_bytes", "Peak reserved", Unit::kBytes, false},
       {"left_bytes", "At the end", Unit::kBytes, false},
       {"growth_bytes", "Growth per step", Unit::kBytes, true},
       {"peak_ns", "Peak after", Unit::kNs, false, ColumnRole::kOwn}},
      {},
      "Allocated: held by tensors. Reserved: held by PyTorch's allocator. Not in use: reserved but in no tensor, "
      "cached or fragmented. Growth: of the memory left at the ends of steps, over the second half of the steps."};
  for (std::size_t i = 0; i < trace.metric_sources.size(); ++i) {
    const bool is_allocated = trace.Text(trace.metric_sources[i].name) == kAllocated;
    if (is_allocated && !trace.SamplesOf(static_cast<uint32_t>(i)).empty()) table.rows.push_back(RowOf(trace, i, step));
  }
  return table;
}

}  // namespace gprof
