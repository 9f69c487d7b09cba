// The sizes of tensors that the names of operators say.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/operators/operators.h"

namespace gprof {

using Shape = std::vector<int64_t>;

// Of "[[64, 32], [], [8]]".
std::vector<Shape> ReadSizes(std::string_view text);

// What the elements of the first input take; 0 where the name does not tell.
int64_t FirstInputBytes(const OperatorName& op);

}  // namespace gprof
