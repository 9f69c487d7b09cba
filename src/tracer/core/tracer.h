// The tracer of this process: off, recording, or over. There is one, it is never destroyed, and it starts at the first
// CUDA or NVTX call.
#pragma once

#include <cstdint>

#include "tracer/core/config.h"

namespace gprof::tracer {

const TracerConfig& Config();

// Starts recording if the launcher asked for it and it does not run yet. [any thread] True: it records.
bool StartTracer();
bool IsRecording();

// Whether the calling thread is the tracer's own, which has no descriptors of the target's.
bool IsWriterThread();
// A capture range is over with which the program shall end.
void RequestShutdown();

// [any thread] Something waits that should not wait until the next flush.
void WakeWriter();

// Within CUDA's start-up: has everything flushed when the process exits, before the driver tears itself down.
void FlushBeforeDriverGoes();

// At the end of the process: writes what is there and the end record. Waits a few seconds at most.
void StopTracer();
// The same when static destructors are under way.
void StopAtUnload();

}  // namespace gprof::tracer
