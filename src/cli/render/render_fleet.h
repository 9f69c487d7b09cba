// The verdict on many ranks, as text.
#pragma once

#include <string>

#include "base/terminal.h"
#include "fleet/verdict/fleet_verdict.h"

namespace gprof::cli {

// "1,023 of 1,024 on 128 hosts, 1 missing"; how good their clocks are.
std::string RanksLine(const FleetVerdict& verdict);
std::string ClocksLine(const FleetVerdict& verdict);

// The verdict, what the time of all ranks went to, three findings, the slowest ranks and the groups. `input`: what the
// command line has to name for more.
std::string RenderFleetBriefly(const FleetVerdict& verdict, const std::string& input, const Terminal& terminal);
// With everything.
std::string RenderFleetText(const FleetVerdict& verdict, const Terminal& terminal);
std::string RenderFleetTables(const FleetVerdict& verdict, const Terminal& terminal);  // alone

}  // namespace gprof::cli
