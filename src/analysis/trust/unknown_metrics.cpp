#include "analysis/trust/unknown_metrics.h"

#include <algorithm>
#include <utility>

namespace gprof {
namespace {

struct FactFacts {
  Fact fact;
  std::string_view name;                      // "did not record …"
  std::span<const std::string_view> metrics;  // prefixes of those that rest on it
};

// Whatever idle time is explained by, and whatever is counted by the calls that made it.
// clang-format off
constexpr std::string_view kOfCalls[] = {
    "api.",    "idle.",     "launches.count", "launches.call_ns", "launches.per_second", "launches.interval_median_ns",
    "launches.queue", "launches.late_", "launches.depth", "launches.max_depth", "sync.", "startup.",
    "graphs.instantiat", "critical.", "memcpy.pageable_blocked_ns", "memcpy.overlappable_ns", "streams.event_",
    "nvtx.gpu_", "nvtx.kernels", "chains.", "memory.churn_"};
// clang-format on
constexpr std::string_view kOfMemoryKinds[] = {"memcpy.pageable_", "memcpy.overlappable_ns", "sync.copy_"};
constexpr std::string_view kOfSyncs[] = {"streams.event_", "sync.implied_"};
constexpr std::string_view kOfEvents[] = {"streams.event_", "idle.dependency_ns"};
constexpr std::string_view kOfStreamsMade[] = {"streams.created", "streams.unused", "streams.named", "streams.renamed",
                                               "streams.default_split"};
constexpr std::string_view kOfMemory[] = {"memory.peak_bytes", "memory.allocations", "memory.frees",
                                          "memory.leaked_bytes", "memory.growth_bytes"};
constexpr std::string_view kOfNvtx[] = {"nvtx.", "step."};
constexpr std::string_view kOfShapes[] = {"occupancy."};
constexpr std::string_view kOfGraphNodes[] = {"graphs.nodes"};
constexpr std::string_view kOfDevices[] = {"occupancy.", "memcpy.link_bytes_per_second"};
constexpr std::string_view kOfProcessTimes[] = {"run.wall_ns", "gpu.startup_ns", "gpu.teardown_ns",
                                                "startup.longest_ns", "startup.own_ns"};

constexpr FactFacts kFacts[] = {
    {Fact::kApiCalls, "CUDA calls", kOfCalls},
    {Fact::kMemoryKinds, "which memory is pageable", kOfMemoryKinds},
    {Fact::kSyncs, "what calls waited for", kOfSyncs},
    {Fact::kEvents, "CUDA events", kOfEvents},
    {Fact::kStreamsMade, "which streams the program created", kOfStreamsMade},
    {Fact::kMemory, "allocations", kOfMemory},
    {Fact::kNvtx, "NVTX", kOfNvtx},
    {Fact::kShapes, "launch configurations", kOfShapes},
    {Fact::kGraphNodes, "the operations within CUDA graphs", kOfGraphNodes},
    {Fact::kDevices, "what the GPUs are", kOfDevices},
    {Fact::kProcessTimes, "when processes began and ended", kOfProcessTimes},
};

}  // namespace

std::vector<UnknownMetrics> UnknownMetricsOf(const Trace& trace) {
  std::vector<UnknownMetrics> unknown;
  for (const FactFacts& facts : kFacts) {
    if (!trace.Lacks(facts.fact)) continue;
    for (const std::string_view prefix : facts.metrics) {
      unknown.push_back({prefix, trace.recorder + " did not record " + std::string(facts.name)});
    }
  }
  return unknown;
}

std::string WhyUnknown(const Trace& trace, std::string_view metric_id) {
  if (trace.lacks == 0) return {};
  for (UnknownMetrics& unknown : UnknownMetricsOf(trace)) {
    if (metric_id.starts_with(unknown.prefix)) return std::move(unknown.why);
  }
  return {};
}

void DropUnknownMetrics(const Trace& trace, std::span<AnalysisResult> results) {
  if (trace.lacks == 0) return;
  const std::vector<UnknownMetrics> unknown = UnknownMetricsOf(trace);
  for (AnalysisResult& result : results) {
    std::erase_if(result.metrics, [&](const Metric& metric) {
      return std::any_of(unknown.begin(), unknown.end(),
                         [&](const UnknownMetrics& u) { return metric.id.starts_with(u.prefix); });
    });
  }
}

std::vector<std::string_view> LackingFacts(const Trace& trace) {
  std::vector<std::string_view> names;
  for (const FactFacts& facts : kFacts) {
    if (trace.Lacks(facts.fact)) names.push_back(facts.name);
  }
  return names;
}

}  // namespace gprof
