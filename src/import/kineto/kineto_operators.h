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

// What "record_param_comms" says of a collective of torch.distributed.
struct CollectiveArgs {
  std::string_view function, datatype;  // as NCCL calls it; empty: no collective
  uint64_t communicator = 0, size_bytes = 0;
  uint32_t ranks = 0;
  int32_t rank = -1;  // within them; -1: not known
  std::optional<uint64_t> sequence;
};
CollectiveArgs ReadCollectiveArgs(const JsonPiece& args, int32_t own_rank);

// What "[memory]" says, an event for each block of PyTorch's allocators with profile_memory.
struct AllocatorArgs {
  int32_t device = -1;                                     // of CUDA; -1 for the host
  uint64_t address = 0;                                    // 0 where it does not say
  std::optional<int64_t> size_bytes;                       // negative where it was freed
  std::optional<int64_t> allocated_bytes, reserved_bytes;  // what the allocator holds then
};
AllocatorArgs ReadAllocatorArgs(const JsonPiece& args);

}  // namespace gprof
