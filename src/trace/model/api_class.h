// What a CUDA function is for, by its name.
#pragma once

#include <cstdint>
#include <string_view>

#include "gprof/trace.h"

namespace gprof {

// Takes names of the runtime and the driver, with and without version suffixes: cudaMemcpyAsync_v3020, cuMemAlloc_v2,
// cuLaunchKernel_ptsz.
ApiClass ClassifyApi(std::string_view function);

// What a call of it waits for, kUnknown where it is no function that waits. Exports of Nsight Systems up to 2024 number
// what was waited for in a way of their own, so that the function's name is what can be relied on.
trace::SyncKind SyncKindOf(std::string_view function);

// The function without its version suffixes: cuMemAlloc for cuMemAlloc_v2.
std::string_view WithoutVersion(std::string_view function);

// Whether a call of it begins or ends the capture of a stream.
enum class StreamCapture : uint8_t { kNeither, kBegin, kEnd };
StreamCapture StreamCaptureOf(std::string_view function);

}  // namespace gprof
