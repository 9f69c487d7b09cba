// Which operator of the forward pass an operator of the backward pass belongs to, by the sequence numbers of autograd.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// A function of the backward pass, as such or run by the engine: "AddmmBackward0", "MyFunctionBackward",
// "autograd::engine::evaluate_function: AddmmBackward0".
bool IsOfBackward(std::string_view name);
// The last of these: the engine, around a function of the graph.
bool IsOfEngine(std::string_view name);

// In the names that emit_nvtx() gives ("AddmmBackward0, seq = 4"), and payloads of operators of torch.profiler and of
// --pytorch=ops.
std::optional<uint64_t> SequenceNumber(const Trace& trace, const NvtxRange& range);

// By range: the range of the forward pass whose gradient is computed in it; kNone where it is no such range, or where
// the number is not that of any range of the process that began before. Threads count on their own, those of autograd
// as well where they compute activations again (checkpointing): names tell these apart.
std::vector<uint32_t> LinkBackward(const Trace& trace);

}  // namespace gprof
