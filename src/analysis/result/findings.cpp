#include "analysis/result/findings.h"

#include <algorithm>
#include <tuple>

#include "analysis/facts/statistics.h"
#include "analysis/result/display_names.h"
#include "analysis/result/finding_catalogue.h"

namespace gprof {
namespace {

// What has no gain is information: it leads nothing and follows nothing.
std::vector<const Finding*> FindLeaders(const std::vector<Finding>& findings) {
  std::vector<const Finding*> leaders(findings.size(), nullptr);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    for (std::size_t above = 0; above < i && findings[i].gain_ns > 0 && leaders[i] == nullptr; ++above) {
      if (leaders[above] == nullptr && AreAboutTheSame(findings[above], findings[i])) leaders[i] = &findings[above];
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

bool IsMinor(const Finding& finding, int64_t window_ns) {
  if (finding.severity == Severity::kWarning) return false;
  if (finding.gain_ns == 0) return finding.severity == Severity::kInfo;
  constexpr double kMinorPercent = 1;
  return PercentOf(finding.gain_ns, window_ns) < kMinorPercent;
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
