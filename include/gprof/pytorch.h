// What traces have of PyTorch that is no kind of record: names that the tracer and readers give and analyses know.
#pragma once

#include <string_view>

namespace gprof {

// Traces from before `tensor_block` records have marks in this domain for blocks that PyTorch's allocators gave
// (payload: bytes) or took back (less than 0). The name of a mark is the device: "cpu", "cuda:0".
inline constexpr std::string_view kAllocatorDomain = "PyTorch memory";

}  // namespace gprof
