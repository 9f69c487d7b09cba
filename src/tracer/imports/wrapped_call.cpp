#include "tracer/imports/wrapped_call.h"

namespace gprof::tracer {

constinit thread_local uintptr_t outer_frame = 0;

}  // namespace gprof::tracer
