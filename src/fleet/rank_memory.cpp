#include "fleet/rank_memory.h"

#include <algorithm>
#include <string_view>

#include "analysis/facts/shared_facts.h"
#include "analysis/memory/memory_use.h"
#include "analysis/result/kept_results.h"
#include "analysis/tracks/metric_samples.h"

namespace gprof {
namespace {

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
