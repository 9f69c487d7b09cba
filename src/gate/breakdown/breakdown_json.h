// A breakdown in a baseline document.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/breakdown/breakdown.h"

namespace gprof {

nlohmann::ordered_json BreakdownJson(const Breakdown& breakdown);

// Throws what nlohmann::json throws where `json` is none, and Error where its parts do not sum to the whole: somebody
// has changed it by hand.
Breakdown BreakdownFrom(const nlohmann::ordered_json& json);

// Whether the sums of breakdown.h hold.
bool AddsUp(const Breakdown& breakdown);

}  // namespace gprof
