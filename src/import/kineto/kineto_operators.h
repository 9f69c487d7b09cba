// What torch.profiler says of an operator beside its name, in the words of emit_nvtx().
#pragma once

#include <string>
#include <string_view>

#include "import/shared/json_scanner.h"

namespace gprof {

// ", sizes = [[64, 32], [32, 8]], types = [float, float]" from the arguments of an operator; empty without
// record_shapes. Convolutions have ", inputs = [, , , [2, 2], …]" as well, because their sizes do not tell what they
// do.
std::string OperatorFacts(std::string_view name, const JsonPiece& args);

}  // namespace gprof
