// Where a sequence repeats itself: "abcabcabc" has a run of period 3.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gprof {

// [first, last) of the sequence, in which every symbol equals the one `period` places before it, from the first
// repetition on.
struct Repeat {
  uint32_t first = 0, last = 0, period = 0;
  uint32_t Repetitions() const { return (last - first) / period; }
};

inline constexpr uint32_t kLongestPeriod = 4096;  // longer ones are phases of a program rather than chains of kernels

// Spreads the bits of a number, so that it may be used as a symbol.
uint64_t Mix(uint64_t value);

namespace repeats_detail {

inline constexpr uint32_t kNowhere = 0xFFFFFFFFu;
inline constexpr uint32_t kWorthAJump = 128;            // a jump takes the symbols of all groups anew
inline constexpr uint64_t kBase = 0x9E3779B97F4A7C15u;  // odd, so that no symbol is lost in the rolling hash

// What is long enough.
struct Least {
  uint32_t repetitions, symbols;
  bool Has(const Repeat& r) const {
    return r.first < r.last && r.Repetitions() >= repetitions && r.last - r.first >= symbols;
  }
};

// Of those that overlap the ones that repeat most, in order.
std::vector<Repeat> Choose(std::vector<Repeat> found, const Least& least);

// Where a group of `length` symbols was seen last. Entries are overwritten where two groups fall on one: what it
// answers is a guess, which the caller checks.
class LastSeen {
 public:
  explicit LastSeen(uint32_t length) : length_(length), places_(size_t{1} << kBits, kNowhere) {
    for (uint32_t i = 0; i < length; ++i) drop_ *= kBase;
  }

  // Takes the symbol at `at`, and says where the group that it ends was seen before.
  template <class Symbols>
  uint32_t Next(const Symbols& symbols, uint32_t at) {
    hash_ = hash_ * kBase + symbols[at];
    if (at >= length_) hash_ -= symbols[at - length_] * drop_;
    if (at + 1 < length_) return kNowhere;
    return std::exchange(places_[(hash_ * kBase) >> (64 - kBits)], at);
  }

  // As if every symbol before `at` had been taken, but for the places.
  template <class Symbols>
  void JumpTo(const Symbols& symbols, uint32_t at) {
    hash_ = 0;
    for (uint32_t i = at - std::min(at, length_); i < at; ++i) hash_ = hash_ * kBase + symbols[i];
  }

 private:
  static constexpr unsigned kBits = 14;
  uint32_t length_;
  uint64_t hash_ = 0, drop_ = 1;
  std::vector<uint32_t> places_;
};

template <class Symbols>
class Finder {
 public:
  Finder(const Symbols& symbols, const Least& least)
      : symbols_(symbols), size_(static_cast<uint32_t>(symbols.size())), least_(least) {}

  std::vector<Repeat> Run() {
    for (uint32_t at = 0; at < size_; ++at) {
      for (LastSeen& group : groups_) {
        const uint32_t before = group.Next(symbols_, at);
        if (before != kNowhere && at - before <= kLongestPeriod) Follow(at, at - before);
      }
      at = SkipFound(at);
    }
    return Choose(std::move(found_), least_);
  }

 private:
  // Within a run there is nothing to be seen but that run; a longer one around it shows at its end.
  uint32_t SkipFound(uint32_t at) {
    if (found_until_ <= at + kWorthAJump) return at;
    for (LastSeen& group : groups_) group.JumpTo(symbols_, found_until_);
    return found_until_ - 1;
  }

  void Follow(uint32_t at, uint32_t period) {
    if (at < checked_[period] || !IsRepeated(at, period)) return;
    uint32_t first = at, last = at + 1;
    while (first > period && IsRepeated(first - 1, period)) --first;
    last = EndOfRepeated(last, period);
    checked_[period] = last;
    const Repeat repeat{first - period, last, period};
    if (!least_.Has(repeat)) return;
    found_.push_back(repeat);
    found_until_ = std::max(found_until_, last);
  }

  bool IsRepeated(uint32_t at, uint32_t period) const {
    if constexpr (requires { symbols_.AreSame(at, at - period); }) {
      return symbols_.AreSame(at, at - period);
    } else {
      return symbols_[at] == symbols_[at - period];
    }
  }

  uint32_t EndOfRepeated(uint32_t at, uint32_t period) const {
    if constexpr (requires { symbols_.EndOfSame(at, period); }) {
      return symbols_.EndOfSame(at, period);
    } else {
      while (at < size_ && IsRepeated(at, period)) ++at;
      return at;
    }
  }

  const Symbols& symbols_;
  uint32_t size_;
  Least least_;
  std::array<LastSeen, 4> groups_{LastSeen(1), LastSeen(4), LastSeen(16), LastSeen(64)};
  std::vector<uint32_t> checked_ = std::vector<uint32_t>(kLongestPeriod + 1, 0);  // by period: followed until here
  std::vector<Repeat> found_;
  uint32_t found_until_ = 0;  // end of the last of them
};

}  // namespace repeats_detail

// Runs that do not overlap, in order, each with at least `min_repetitions` and `min_symbols`; where several fit, the
// one that repeats most. Memory besides the runs does not grow with the sequence. `symbols` has a size() and an
// operator[], which is asked for some of them several times; they must be 64 bits that are well mixed (hashes). If it
// has AreSame(a, b), that says whether two of them are equal, for less than it takes to make both. If it has
// EndOfSame(at, period), that says how far they are the same as the one `period` places before, for less than asking
// for each.
//
// For every place it asks where the last 1, 4, 16 and 64 symbols were seen before, and follows the period that this
// suggests as far as it goes, once for each run; so the time grows with the lengths of all runs, n log n at most. A
// repetition in which each of those groups comes more than once may be missed.
template <class Symbols>
std::vector<Repeat> FindRepeats(const Symbols& symbols, uint32_t min_repetitions, uint32_t min_symbols) {
  return repeats_detail::Finder<Symbols>(symbols, {min_repetitions, min_symbols}).Run();
}

}  // namespace gprof
