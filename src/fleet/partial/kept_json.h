// What a partial keeps of a trace (keep_results.h) as text.
#pragma once

#include <string>
#include <string_view>

#include "gprof/trace.h"

namespace gprof {

// `trace` has Trace::kept.
std::string KeptText(const Trace& trace);

// Throws Error in the name of `file` for what is none.
Trace ParseKept(std::string_view text, const std::string& file);

}  // namespace gprof
