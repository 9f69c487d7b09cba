// The verdict on many ranks, as text.
#pragma once

#include <string>

#include "base/terminal.h"
#include "fleet/verdict.h"

namespace gprof::cli {

std::string RenderFleetText(const FleetVerdict& verdict, const Terminal& terminal);

}  // namespace gprof::cli
