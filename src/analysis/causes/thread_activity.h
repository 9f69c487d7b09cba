// What a thread was doing while another one waited for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/facts/places/call_places.h"
#include "gprof/trace.h"

namespace gprof {

class AnalysisInput;

// The call, or the function that it ran, that took most of those times, which are in order: "mostly in usleep, called
// from prefetch", "mostly running decode". Where nothing took half of them, the function that it ran for the largest
// part, if that is worth a word: "31.0% of the time running decode". Else empty.
std::string MainActivity(const AnalysisInput& input, uint32_t thread, const std::vector<Interval>& times,
                         CallPlaces* places);

}  // namespace gprof
