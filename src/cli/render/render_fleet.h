// The verdict on many ranks, as text.
#pragma once

#include <string>

#include "base/terminal.h"
#include "fleet/verdict/fleet_verdict.h"

namespace gprof::cli {

// "1,023 of 1,024 on 128 hosts, 1 missing"; how good their clocks are.
std::string RanksLine(const FleetVerdict& verdict);
std::string ClocksLine(const FleetVerdict& verdict);

std::string RenderFleetText(const FleetVerdict& verdict, const Terminal& terminal);
std::string RenderFleetTables(const FleetVerdict& verdict, const Terminal& terminal);  // alone

}  // namespace gprof::cli
