// A breakdown in a baseline document.
#pragma once

#include "analysis/topics/breakdown/breakdown.h"
#include "base/json_style.h"

namespace gprof {

Json BreakdownJson(const Breakdown& breakdown);

// Throws what nlohmann::json throws where `json` is none, and Error where its parts do not sum to the whole: somebody
// has changed it by hand.
Breakdown BreakdownFrom(const Json& json);

// Whether the sums of breakdown.h hold.
bool AddsUp(const Breakdown& breakdown);

}  // namespace gprof
