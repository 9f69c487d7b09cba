// Numbers as text writes them, without the rounding of floating point.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gprof {

// The number times 10^`shift`, to the nearest integer (halves away from 0): "1712195495894849.5" with shift 3 is
// 1712195495894849500. Nothing for what is no number, not finite, or too large.
std::optional<int64_t> ReadDecimal(std::string_view text, int shift = 0);

// An integer of 64 bits, with or without a sign, as its bits: identifiers use all of them.
std::optional<uint64_t> ReadBits(std::string_view text);

}  // namespace gprof
