#include "analysis/findings.h"

#include <algorithm>
#include <tuple>

#include "analysis/names.h"

namespace gprof {

void RankFindings(std::vector<Finding>* findings) {
  std::stable_sort(findings->begin(), findings->end(), [](const Finding& a, const Finding& b) {
    return std::tie(b.gain_ns, b.severity, a.id, a.message) < std::tie(a.gain_ns, a.severity, b.id, b.message);
  });
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
