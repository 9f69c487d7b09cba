#include "analysis/result/findings.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "analysis/result/display_names.h"

namespace gprof {
namespace {

// Findings that see one thing from two sides. Their gains are about the same time, or one change wins both.
struct Relation {
  std::string_view a, b;
};

constexpr Relation kRelations[] = {
    // Pinned memory makes the copies faster, and the host no longer waits in them.
    {"memcpy.pageable", "idle.copy"},
    {"memcpy.pageable", "sync.implied"},
    // Between small copies the GPU is idle for their calls and their latency.
    {"memcpy.small", "idle.queue"},
    {"memcpy.small", "idle.launch"},
    {"memcpy.small", "idle.copy"},
    // What a second stream overlaps.
    {"memcpy.overlap", "streams.one_only"},
    {"memcpy.overlap", "streams.one_used"},
    {"memcpy.overlap", "streams.no_overlap"},
    {"memcpy.overlap", "streams.default_splits"},
    // Gaps between short kernels.
    {"launch.bound", "idle.launch"},
    {"launch.bound", "idle.api"},
    {"launch.bound", "idle.host"},
    {"launch.bound", "kernels.chain"},
    {"launch.bound", "kernels.small"},
    {"kernels.chain", "idle.launch"},
    {"kernels.chain", "idle.queue"},
    {"kernels.small", "idle.launch"},
    {"kernels.small", "idle.queue"},
    // Idle time, and the calls that caused it.
    {"sync.site", "idle.sync"},
    {"sync.drains", "idle.sync"},
    {"sync.site", "sync.drains"},
    {"sync.implied", "idle.memory"},
    {"memory.churn", "idle.memory"},
    {"memory.churn", "sync.implied"},
    {"streams.event_waits", "idle.dependency"},
    // A fault moves pages.
    {"memory.page_faults", "memory.migrations"},
    {"memory.page_faults", "idle.memory"},
    {"memory.migrations", "idle.memory"},
    // Time of the same kernels.
    {"critical.kernel", "occupancy.small_grid"},
    {"critical.kernel", "occupancy.tail"},
};

// Slow steps name what they had beyond the others: "idle: host +3.00 ms".
bool IsSlowBy(const Finding& steps, const Finding& idle) {
  constexpr std::string_view kIdle = "idle.";
  return (steps.id == "steps.outliers" || steps.id == "steps.trend") && idle.id.starts_with(kIdle) &&
         steps.message.find("idle: " + idle.id.substr(kIdle.size())) != std::string::npos;
}

bool AreRelated(const Finding& first, const Finding& second) {
  const std::string_view a = first.id, b = second.id;
  if (IsSlowBy(first, second) || IsSlowBy(second, first)) return true;
  return std::any_of(std::begin(kRelations), std::end(kRelations), [&](const Relation& relation) {
    return (relation.a == a && relation.b == b) || (relation.a == b && relation.b == a);
  });
}

// What has no gain is information: it leads nothing and follows nothing.
std::vector<const Finding*> FindLeaders(const std::vector<Finding>& findings) {
  std::vector<const Finding*> leaders(findings.size(), nullptr);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    for (std::size_t above = 0; above < i && findings[i].gain_ns > 0 && leaders[i] == nullptr; ++above) {
      if (leaders[above] == nullptr && AreRelated(findings[above], findings[i])) leaders[i] = &findings[above];
    }
  }
  return leaders;
}

}  // namespace

void RankFindings(std::vector<Finding>* findings) {
  std::stable_sort(findings->begin(), findings->end(), [](const Finding& a, const Finding& b) {
    return std::tie(b.gain_ns, b.severity, a.id, a.message) < std::tie(a.gain_ns, a.severity, b.id, b.message);
  });
}

std::vector<RankedFinding> LeadersFirst(const std::vector<Finding>& findings) {
  const std::vector<const Finding*> leaders = FindLeaders(findings);
  std::vector<RankedFinding> ranked;
  for (std::size_t i = 0; i < findings.size(); ++i) ranked.push_back({&findings[i], leaders[i]});
  std::stable_partition(ranked.begin(), ranked.end(), [](const RankedFinding& r) { return r.leader == nullptr; });
  return ranked;
}

std::vector<std::string> LeadersOf(const std::vector<Finding>& findings) {
  std::vector<std::string> ids;
  for (const Finding* leader : FindLeaders(findings)) ids.push_back(leader == nullptr ? "" : leader->id);
  return ids;
}

std::string UsedDevices(const Trace& trace) {
  uint32_t used = 0, last = 0;
  for (uint32_t device = 0; device < trace.device_ops.size(); ++device) {
    if (trace.device_ops[device].first == trace.device_ops[device].last) continue;
    ++used;
    last = device;
  }
  if (used == 0) return "no GPU";
  return used == 1 ? DeviceScope(trace, last) : std::to_string(used) + " GPUs";
}

}  // namespace gprof
