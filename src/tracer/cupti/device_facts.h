// What a device record says beyond what CUPTI knows.
#pragma once

#include "tracer/cupti/cupti_api.h"
#include "gprof/trace/record.h"

namespace gprof::tracer {

// [writer thread] `activity` may be shorter than the struct in the library's record; the rest is 0.
trace::DeviceRecord DeviceOf(const CUpti_ActivityDevice5& activity);

}  // namespace gprof::tracer
