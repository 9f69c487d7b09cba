// libcublas and libcublasLt of the process: which loaded modules they are, and what they are asked.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gprof::tracer {

using CublasLtGet = int (*)(uintptr_t descriptor, int attribute, void* value, std::size_t size, std::size_t* written);

struct CublasLibrary {
  int (*get_math_mode)(uintptr_t handle, int* mode) = nullptr;
  CublasLtGet layout_attribute = nullptr, matmul_attribute = nullptr;
};
const CublasLibrary& Cublas();

// Looks for the libraries among the modules, from now on. [starting thread]
void WatchForCublas();

}  // namespace gprof::tracer
