// The calling process as chunks name their writers.
#pragma once

#include "gprof/trace/file.h"

namespace gprof {

// The host is told as the tracer tells it (src/tracer/core/process_record.cpp), so that both are on the same one.
trace::ProcessKey OwnProcessKey();

}  // namespace gprof
