// A figure as people read it, by its unit.
#pragma once

#include <string>

#include "gprof/analysis.h"

namespace gprof {

// "33.42 ms", "1.07 GB", "97.3%"; what has no unit of its own as a number, "1,234.5".
std::string FormatFigure(double value, Unit unit);

}  // namespace gprof
