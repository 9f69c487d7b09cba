// What torch.profiler says of an operator beside its name, in the words of emit_nvtx().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "import/shared/json_scanner.h"

namespace gprof {

struct OperatorArgs {
  // ", sizes = [[64, 32], [32, 8]], types = [float, float]"; empty without record_shapes. Convolutions have ", inputs =
  // [, , , [2, 2], …]" as well, because their sizes do not tell what they do.
  std::string text;
  // Of autograd: the operator of the backward pass has that of its operator of the forward pass.
  std::optional<uint64_t> sequence;
};
OperatorArgs ReadOperatorArgs(std::string_view name, const JsonPiece& args);

// What "[memory]" says, an event for each block of PyTorch's allocators with profile_memory.
struct AllocatorArgs {
  int32_t device = -1;                                     // of CUDA; -1 for the host
  uint64_t address = 0;                                    // 0 where it does not say
  std::optional<int64_t> size_bytes;                       // negative where it was freed
  std::optional<int64_t> allocated_bytes, reserved_bytes;  // what the allocator holds then
};
AllocatorArgs ReadAllocatorArgs(const JsonPiece& args);

}  // namespace gprof
