// Where a sequence repeats itself: "abcabcabc" has a run of period 3.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gprof {

// [first, last) of the sequence, in which every symbol equals the one `period` places before it, from the first
// repetition on.
struct Repeat {
  uint32_t first = 0, last = 0, period = 0;
  uint32_t Repetitions() const { return (last - first) / period; }
};

inline constexpr uint32_t kLongestPeriod = 4096;  // longer ones are phases of a program rather than chains of kernels

// Runs that do not overlap, in order, each with at least `min_repetitions` and `min_symbols`; where several fit, the one
// that repeats most. Memory besides the runs does not grow with the sequence. The symbols must be well mixed (hashes).
//
// For every place it asks where the last 1, 4, 16 and 64 symbols were seen before, and follows the period that this
// suggests as far as it goes, once for each run; so the time grows with the lengths of all runs, n log n at most. A
// repetition in which each of those groups comes more than once may be missed.
std::vector<Repeat> FindRepeats(std::span<const uint64_t> symbols, uint32_t min_repetitions, uint32_t min_symbols);

// Spreads the bits of a number, so that it may be used as a symbol.
uint64_t Mix(uint64_t value);

}  // namespace gprof
