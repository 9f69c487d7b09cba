// What is recorded and when, in words, for whoever reads the trace.
#pragma once

#include "gprof/trace/record.h"
#include "tracer/core/config.h"

namespace gprof::tracer {

trace::StringId CaptureModeText(const TracerConfig& config);

}  // namespace gprof::tracer
