// Columns of varints as numbers, many at once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gprof {

enum class Numbers : uint8_t {
  kThemselves,
  kDifferences,  // zigzag, of each number to the one before, the first to 0
};

// Fills out[0 .. count) from the bytes [data, end). False: they end before the numbers do, or a number does not end.
// What may_use_vectors forbids is what not every processor has; the results are the same.
bool DecodeVarints(const unsigned char* data, const unsigned char* end, Numbers numbers, uint64_t* out,
                   std::size_t count, bool may_use_vectors);

}  // namespace gprof
