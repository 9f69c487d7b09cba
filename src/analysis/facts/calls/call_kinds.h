// Facts about CUDA calls that several analyses need.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

class CallFacts;
class OpFacts;

// The innermost NVTX range that the outermost call was made in; empty for kNone and outside of ranges.
NameId PathOfCall(const Trace& trace, uint32_t call);

// For every call whether it is a copy or fill that keeps its thread until the GPU is done with it, or with the staging
// of pageable memory. Only outermost calls are marked.
std::vector<uint8_t> BlockingCopies(const Trace& trace, const OpFacts& ops, const CallFacts& calls);

// Makes or destroys contexts.
bool IsAboutContexts(std::string_view function);
// Hands code to the driver, which whoever calls it has read, made or compiled before.
bool LoadsCode(std::string_view function);
// The call after one that destroyed the contexts of its process, as cudaDeviceReset does: it makes the next one,
// whatever it is for. In order.
std::vector<uint32_t> CallsAfterReset(const Trace& trace, const CallFacts& calls);

}  // namespace gprof
