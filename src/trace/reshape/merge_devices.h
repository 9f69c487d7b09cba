// The devices of several traces as one list.
#pragma once

#include <cstdint>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

struct MergedDevices {
  struct Source {
    uint32_t trace = 0, device = 0;  // whose description is the one to keep
    uint32_t ordinal = 0;            // its new one
  };
  std::vector<Source> devices;               // by ordinal
  std::vector<std::vector<uint32_t>> index;  // by trace and device: where it is in `devices`
};

MergedDevices MergeDevices(const std::vector<Trace>& traces);

}  // namespace gprof
