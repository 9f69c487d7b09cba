// The loop of the third version: the work of chunk i goes to streams[i].
#pragma once

#include <span>

#include "normalise/normalise.h"

namespace gprof::examples {

// Gives streams[i] the NVTX name "chunk i", then runs all rounds. Returns the exit code of the program.
int NormaliseInStreams(const NormaliseOptions& options, std::span<const cudaStream_t> streams);

}  // namespace gprof::examples
