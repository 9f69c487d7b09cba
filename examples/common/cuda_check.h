// Ends an example program on a CUDA error, with the place where it happened.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace gprof::examples {

inline void Check(cudaError_t error, std::source_location where = std::source_location::current()) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s:%u: %s: %s\n", where.file_name(), static_cast<unsigned>(where.line()),
               cudaGetErrorName(error), cudaGetErrorString(error));
  std::exit(1);
}

}  // namespace gprof::examples
