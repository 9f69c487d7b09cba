// The unit of a metric, from what libcupti says of its base metric and from what follows its name, as Nsight Compute
// writes it.
#pragma once

#include "gprof/trace/record.h"

namespace gprof::tracer {

// `base_unit` may be null or what libcupti says: "nanosecond", "byte", "gpc_cycle".
trace::StringId UnitOf(const char* metric, const char* base_unit);

}  // namespace gprof::tracer
