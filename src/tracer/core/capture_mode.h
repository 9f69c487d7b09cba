// What is recorded and when, in words, for whoever reads the trace.
#pragma once

#include "tracer/core/config.h"
#include "gprof/trace/record.h"

namespace gprof::tracer {

trace::StringId CaptureModeText(const TracerConfig& config);

}  // namespace gprof::tracer
