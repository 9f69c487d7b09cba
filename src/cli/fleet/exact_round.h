// A second look at the traces of a run, for exact percentiles (ranks --exact).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fleet/partial/exact_times.h"
#include "fleet/verdict/fleet_verdict.h"

namespace gprof::cli {

// Of the ranks of the verdict, whose traces must be among `paths`. Throws Error where one is not.
ExactTimes SearchExactly(const FleetVerdict& verdict, const std::vector<std::string>& paths, std::size_t workers);

}  // namespace gprof::cli
