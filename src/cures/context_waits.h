// What stream-waits and prefetch-managed see of the calls of others.
#pragma once

#include <cstdint>

namespace gprof::cures {

// Work was given to a stream.
void NoteStreamUse(uint64_t stream);
// The host waited for the GPU, and may look at its results now.
void NoteWait();
// Kernels are about to run in the stream.
void BeforeKernels(uint64_t stream);

}  // namespace gprof::cures
