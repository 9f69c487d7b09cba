// Which GPUs a trace has work of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// Something ran on the device.
inline bool HasGpuWork(const Trace& trace, std::size_t device) {
  return device < trace.device_ops.size() && trace.device_ops[device].first != trace.device_ops[device].last;
}
inline std::vector<uint32_t> UsedDevices(const Trace& trace) {
  std::vector<uint32_t> used;
  for (uint32_t device = 0; device < trace.devices.size(); ++device) {
    if (HasGpuWork(trace, device)) used.push_back(device);
  }
  return used;
}

// "gpu0" or "3 GPUs": those that have GPU work.
std::string NameOfUsedDevices(const Trace& trace);

}  // namespace gprof
