// The end of the CUDA driver, which comes before that of the process.
#pragma once

namespace gprof::tracer {

// Within CUDA's start-up: has everything flushed when the process exits, before the driver tears itself down.
void FlushBeforeDriverGoes();

}  // namespace gprof::tracer
