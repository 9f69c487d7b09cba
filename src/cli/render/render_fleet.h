// The verdict on many ranks, as text and JSON.
#pragma once

#include <string>

#include "base/terminal.h"
#include "fleet/verdict.h"

namespace gprof::cli {

std::string RenderFleetText(const FleetVerdict& verdict, const Terminal& terminal);
// "schema": "gprof.analyze/1", described in docs/commands/analyze.md.
std::string RenderFleetJson(const FleetVerdict& verdict);

}  // namespace gprof::cli
