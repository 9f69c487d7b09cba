// What the details page of ncu calls its metrics.
#pragma once

#include <string_view>

namespace gprof {

// Empty for a label that none of our sections has a metric for.
std::string_view MetricOfLabel(std::string_view section, std::string_view label);

}  // namespace gprof
