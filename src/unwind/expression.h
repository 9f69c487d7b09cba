// DWARF expressions as unwind tables have them: of PLT stubs, frames of signals, functions that align their stack.
#pragma once

#include <cstdint>
#include <optional>

#include "unwind/registers.h"

namespace gprof {

// None: it needs what is not known, or is one that no compiler makes. `first` is on the stack at the begin.
std::optional<uint64_t> Evaluate(Bytes expression, const Registers& registers, const StackCopy& stack,
                                 std::optional<uint64_t> first);

}  // namespace gprof
