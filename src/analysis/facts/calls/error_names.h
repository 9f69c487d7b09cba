// Names of what CUDA calls return.
#pragma once

#include <cstdint>
#include <string>

#include "gprof/trace.h"

namespace gprof {

// "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE", "error 12345".
std::string ErrorName(int32_t code, trace::ApiDomain domain);

// After these the context is lost: every later call fails too.
bool LosesContext(int32_t code);

}  // namespace gprof
