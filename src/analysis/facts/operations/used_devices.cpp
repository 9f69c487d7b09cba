#include "analysis/facts/operations/used_devices.h"

#include "analysis/result/display_names.h"

namespace gprof {

std::string NameOfUsedDevices(const Trace& trace) {
  const std::vector<uint32_t> used = UsedDevices(trace);
  if (used.empty()) return "no GPU";
  return used.size() == 1 ? DeviceScope(trace, used.front()) : std::to_string(used.size()) + " GPUs";
}

}  // namespace gprof
