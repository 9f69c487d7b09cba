// A kernel that does nothing for a while, in the stream of another one, which then begins later.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace gprof::tracer {

// False: not there, as the stream is being captured, or the driver cannot compile or launch it (which is said once).
// `context` is current. What it calls of the driver must not be taken for the program's own calls.
bool LaunchSpinKernel(CUcontext context, CUstream stream, uint64_t delay_ns);
void ForgetSpinKernelsAfterFork();

}  // namespace gprof::tracer
