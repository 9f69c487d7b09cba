#include "fleet/summarize/rank_parts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/facts/memory/memory_use.h"
#include "analysis/facts/operations/used_devices.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/topics/ranges/range_projection.h"
#include "analysis/topics/tracks/metric_samples.h"
#include "base/saturate.h"

namespace gprof {
namespace {

int64_t CoveredBy(IntervalSet::Cursor& set, const Iteration& step) { return set.Covered(step.start_ns, step.EndNs()); }

// `steps` has its path.
void Fill(const std::vector<Iteration>& iterations, uint32_t device, const CollectiveTimes& times, StepColumns* steps) {
  static const IntervalSet kNothing;
  const auto of_device = [device](const std::map<uint32_t, IntervalSet>& sets) -> const IntervalSet& {
    const auto at = sets.find(device);
    return at == sets.end() ? kNothing : at->second;
  };
  IntervalSet::Cursor kernels(of_device(times.kernels)), others(of_device(times.others));
  steps->count = static_cast<int64_t>(iterations.size());
  while (steps->count > steps->steps_in_one * static_cast<int64_t>(kKeptSteps)) steps->steps_in_one *= 2;
  const auto entries = static_cast<size_t>((steps->count + steps->steps_in_one - 1) / steps->steps_in_one);
  for (auto* column : {&steps->wall_ns, &steps->kernel_ns, &steps->copy_ns, &steps->exposed_ns})
    column->resize(entries);
  for (auto& column : steps->idle_ns) column.resize(entries);
  for (size_t i = 0; i < iterations.size(); ++i) {
    const Iteration& step = iterations[i];
    const size_t at = i / static_cast<size_t>(steps->steps_in_one);
    steps->wall_ns[at] += step.duration_ns;
    steps->kernel_ns[at] += step.parts_ns[kStepKernels];
    steps->copy_ns[at] += step.parts_ns[kStepCopies];
    steps->exposed_ns[at] += CoveredBy(kernels, step) - CoveredBy(others, step);
    for (size_t cause = 0; cause < kCauseCount; ++cause) {
      steps->idle_ns[cause][at] += step.parts_ns[kStepIdle + cause];
    }
  }
}

std::vector<int64_t> TimesByTraits(const Trace& trace) {
  std::vector<int64_t> times_ns(trace.ranges.TraitsCount());
  for (const PackedRanges::Item& range : trace.ranges.items()) {
    AddWrapping(&times_ns[range.traits], trace.ranges.DurationNs(range));
  }
  return times_ns;
}

int64_t Bounded(uint64_t bytes) { return static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX)); }

// -1 where nothing of that name was sampled.
int64_t MostSampled(const Trace& trace, std::string_view name) {
  int64_t most = -1;
  for (uint32_t i = 0; i < trace.metric_sources.size(); ++i) {
    const MetricSource& source = trace.metric_sources[i];
    const bool is_of_it = trace.Text(source.name) == name && trace.Text(source.unit) == "bytes";
    if (!is_of_it || source.device == kNone || !HasGpuWork(trace, source.device)) continue;
    for (const MetricSample& sample : trace.SamplesOf(i)) most = std::max<int64_t>(most, sample.value);
  }
  return most;
}

}  // namespace

RankSteps StepsOf(const AnalysisInput& input, const CollectiveTimes& times, const HostTime* host) {
  RankSteps steps;
  if (const std::optional<StepChoice>& choice = input.shared().step()) {
    StepTimes of_steps = TimeSteps(input, *choice);
    const bool is_of_host = host != nullptr && host->is_known() && host->thread() == choice->thread;
    if (is_of_host) host->AddTo(&of_steps.iterations);
    if (is_of_host || of_steps.device != kNone) {
      steps.columns.path = KeptName(input.trace().Text(choice->path));
      Fill(of_steps.iterations, of_steps.device, times, &steps.columns);
      steps.times = std::move(of_steps);
      return steps;
    }
  }
  if (host != nullptr && host->is_known()) {
    steps.columns.path = kTimeSlicesPath;
    Fill(host->Slices(kTimeSlices), kNone, times, &steps.columns);
    return steps;
  }
  for (uint32_t device = 0; device < input.trace().devices.size() && steps.columns.path.empty(); ++device) {
    const std::vector<Iteration> slices = TimeSlices(input, device, kTimeSlices);
    if (slices.empty()) continue;
    steps.columns.path = kTimeSlicesPath;
    Fill(slices, device, times, &steps.columns);
  }
  return steps;
}

std::vector<RankRange> RangesOf(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  if (trace.ranges.size() == 0) return {};
  std::map<NameId, RankRange> by_path;
  const std::vector<int64_t> times_ns = TimesByTraits(trace);
  const std::vector<RangeFacts::Sum>& sums = input.shared().ranges().sums();
  for (uint32_t traits = 0; traits < sums.size(); ++traits) {
    if (sums[traits].count == 0) continue;
    RankRange& range = by_path[trace.ranges.TraitsAt(traits).path];
    range.count += sums[traits].count;
    AddWrapping(&range.total_ns, times_ns[traits]);
  }
  const RangeProjection projection(input);
  std::vector<RankRange> ranges;
  for (auto& [path, range] : by_path) {
    const RangeProjection::OfPath projected = projection.Of(path);
    range.path = KeptName(trace.Text(path));
    range.gpu_busy_ns = projected.busy.busy_ns();
    range.kernels = projected.kernels;
    ranges.push_back(std::move(range));
  }
  std::ranges::sort(ranges, [](const RankRange& a, const RankRange& b) {
    return std::tie(b.gpu_busy_ns, b.total_ns, a.path) < std::tie(a.gpu_busy_ns, a.total_ns, b.path);
  });
  if (ranges.size() > kKeptRanges) ranges.resize(kKeptRanges);
  return ranges;
}

RankMemory MemoryOf(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  RankMemory memory;
  for (const uint32_t device : UsedDevices(trace)) {
    memory.gpu_bytes = std::max(memory.gpu_bytes, Bounded(trace.devices[device].properties.memory_bytes));
  }
  if (!trace.memory_events.empty()) {
    for (const auto& [device, level] : MemoryUse(trace, EndedBlocks(trace)).devices) {
      if (device != kNone) memory.allocated_bytes = std::max(memory.allocated_bytes, Bounded(level.peak_bytes));
    }
  }
  memory.used_bytes = MostSampled(trace, "memory used");
  memory.tensor_bytes = MostSampled(trace, "PyTorch memory allocated");
  memory.reserved_bytes = MostSampled(trace, "PyTorch memory reserved");
  return memory;
}

}  // namespace gprof
