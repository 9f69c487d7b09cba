// The report for an agent: what it has to know to choose its next step, and nothing else. docs/agents.md
#pragma once

#include <cstddef>
#include <string>

#include "report/report.h"

namespace gprof {

// Whatever the trace holds, the document is no longer than this.
inline constexpr std::size_t kMostBriefBytes = 5000;

// "schema": "gprof.brief/1".
std::string RenderBrief(const Report& report);

}  // namespace gprof
