// What a device record says beyond what CUPTI knows.
#pragma once

#include "gprof/trace/record.h"
#include "tracer/cupti/library/cupti_api.h"

namespace gprof::tracer {

// [writer thread] `activity` may be shorter than the struct in the library's record; the rest is 0.
trace::DeviceRecord DeviceOf(const CUpti_ActivityDevice5& activity);

}  // namespace gprof::tracer
