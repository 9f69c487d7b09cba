// Sums that cannot overflow: a damaged or hostile trace may hold any number.
#pragma once

#include <cstdint>
#include <limits>

namespace gprof {

// What times or sizes add up to: a number that stays at the largest one (the smallest, of negative numbers) where it
// would get beyond it.
class SaturatingSum {
 public:
  constexpr SaturatingSum(int64_t value = 0) : value_(value) {}  // implicit, as back: it is a number to all others
  constexpr operator int64_t() const { return value_; }

  constexpr SaturatingSum& operator+=(int64_t more) {
    if (__builtin_add_overflow(value_, more, &value_)) {
      value_ = more < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
    }
    return *this;
  }

 private:
  int64_t value_;
};

constexpr uint64_t AddSaturating(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max() : a + b;
}

// For loops over all operations, which have no time to look: sums that wrap. Differences of such sums are right again
// where they fit.
constexpr void AddWrapping(int64_t* sum, int64_t more) {
  *sum = static_cast<int64_t>(static_cast<uint64_t>(*sum) + static_cast<uint64_t>(more));
}
constexpr int64_t SubtractWrapping(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

constexpr int64_t MultiplySaturating(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

// whole * part / parts, where the product of the first two may be too large but the result is not.
constexpr int64_t ShareOf(int64_t whole, int64_t part, int64_t parts) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(whole, part, &product)) return product / parts;
  return static_cast<int64_t>(static_cast<__int128>(whole) * part / parts);
}

}  // namespace gprof
