// What a CUDA function is for, by its name.
#pragma once

#include <cstdint>
#include <string_view>

#include "gprof/trace.h"

namespace gprof {

// Takes names of the runtime and the driver, with and without version suffixes: cudaMemcpyAsync_v3020, cuMemAlloc_v2,
// cuLaunchKernel_ptsz.
ApiClass ClassifyApi(std::string_view function);

// The function without its version suffixes: cuMemAlloc for cuMemAlloc_v2.
std::string_view WithoutVersion(std::string_view function);

// Whether a call of it begins or ends the capture of a stream.
enum class StreamCapture : uint8_t { kNeither, kBegin, kEnd };
StreamCapture StreamCaptureOf(std::string_view function);

}  // namespace gprof
