// What a thread was doing while another one waited for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/places/call_places.h"
#include "gprof/trace.h"

namespace gprof {

class AnalysisInput;

// The call, or the function that it ran, that took most of those times, which are in order: "in usleep, called from
// prefetch", "in cudaMemcpy", "running decode". Empty where less than half of them is explained.
std::string MainActivity(const AnalysisInput& input, uint32_t thread, const std::vector<Interval>& times,
                         CallPlaces* places);

}  // namespace gprof
