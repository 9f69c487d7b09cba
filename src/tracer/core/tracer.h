// The tracer of this process: off, recording, or over. There is one, it is never destroyed, and it starts at the first
// CUDA or NVTX call.
#pragma once

#include "tracer/core/config.h"
#include "tracer/writing/writer_thread.h"

namespace gprof::tracer {

// Whether this process is to be recorded; reads the settings, and starts nothing. [any thread]
bool IsTracerWanted();
// Starts recording if the launcher asked for it and it does not run yet. [any thread] True: it records.
bool StartTracer();
bool IsRecording();
// An armed process was asked for a recording: from here on it is one that was attached to.
void LeaveArmedState();
// A capture range is over with which the program shall end.
void RequestShutdown();

// Has everything written that there is so far. `driver_goes`: nothing asks the driver for anything after it.
void FlushNow(bool driver_goes);
// At the end of the process: writes what is there and the end record. Waits a few seconds at most.
void StopTracer();
// The end was written by the writer thread itself, or is left to the launcher.
void SetStopped();

}  // namespace gprof::tracer
