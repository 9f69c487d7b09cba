// Parameters of the host part of CUPTI's profiler, beyond those of PM sampling. As in the headers of CUDA 12.8 and
// later, so that those are not needed to build; a test compares the two (tests/unit/counters/host_library_test.cpp).
#pragma once

#include <cstddef>
#include <type_traits>

#include "collect/gpu/pm_api.h"

namespace gprof::counters {

using pm::AddMetricsParams, pm::ConfigImageParams, pm::ConfigImageSizeParams, pm::Head, pm::HostDeinitializeParams,
    pm::HostInitializeParams, pm::PassesParams;

struct ChipsParams : Head {
  std::size_t count = 0;
  const char* const* names = nullptr;
};
struct BaseMetricsParams : Head {
  pm::Host* host = nullptr;
  int type = 0;
  const char** names = nullptr;
  std::size_t count = 0;
};
struct SubMetricsParams : Head {
  pm::Host* host = nullptr;
  int type = 0;
  const char* metric = nullptr;
  std::size_t count = 0;
  const char** names = nullptr;
};
struct PropertiesParams : Head {
  pm::Host* host = nullptr;
  const char* metric = nullptr;
  const char *description = nullptr, *hardware_unit = nullptr, *unit = nullptr;
  int type = 0;
};

// Up to the last field: behind that of PropertiesParams, which is an int, the compiler pads.
template <class P>
constexpr std::size_t SizeOf() {
  return sizeof(P) - (std::is_same_v<P, PropertiesParams> ? sizeof(int) : 0);
}

}  // namespace gprof::counters
