// Classes of lengths: below 1 us, up to 10 us, ...
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace gprof {

// Tells in which of kCount classes a length is, without a branch, as lengths are not to be foreseen. Negative ones are
// in the first.
template <size_t kCount>
class LengthClasses {
 public:
  // Each class but the last ends before a length above 1, no two of which may have as many bits.
  explicit constexpr LengthClasses(const std::array<int64_t, kCount - 1>& below_ns) {
    for (size_t bits = 1; bits < 64; ++bits) {  // 64: negative
      OfBits& of = of_bits_[bits];
      while (of.first + 1 < kCount && below_ns[of.first] <= int64_t{1} << (bits - 1)) ++of.first;
      if (of.first + 1 < kCount) of.most_ns = below_ns[of.first] - 1;
    }
  }

  size_t Of(int64_t length_ns) const {
    // 0 is as long as 1, so that processors need not be asked what the width of 0 is.
    const OfBits& of = of_bits_[static_cast<size_t>(std::bit_width(static_cast<uint64_t>(length_ns) | 1))];
    return of.first + static_cast<size_t>(length_ns > of.most_ns);
  }

 private:
  // Among lengths of as many bits: up to that one they are of the first class, from there on of the next one.
  struct OfBits {
    uint32_t first = 0;
    int64_t most_ns = INT64_MAX;
  };
  std::array<OfBits, 65> of_bits_{};
};

}  // namespace gprof
