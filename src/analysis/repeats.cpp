#include "analysis/repeats.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

namespace gprof {
namespace {

constexpr uint32_t kNowhere = 0xFFFFFFFFu;
constexpr uint32_t kWorthAJump = 128;  // a jump takes the symbols of all groups anew
constexpr uint64_t kBase = 0x9E3779B97F4A7C15u;  // odd, so that no symbol is lost in the rolling hash

// Where a group of `length` symbols was seen last. Entries are overwritten where two groups fall on one: what it
// answers is a guess, which the caller checks.
class LastSeen {
 public:
  explicit LastSeen(uint32_t length) : length_(length), places_(size_t{1} << kBits, kNowhere) {
    for (uint32_t i = 0; i < length; ++i) drop_ *= kBase;
  }

  // Takes the symbol at `at`, and says where the group that it ends was seen before.
  uint32_t Next(std::span<const uint64_t> symbols, uint32_t at) {
    hash_ = hash_ * kBase + symbols[at];
    if (at >= length_) hash_ -= symbols[at - length_] * drop_;
    if (at + 1 < length_) return kNowhere;
    return std::exchange(places_[(hash_ * kBase) >> (64 - kBits)], at);
  }

  // As if every symbol before `at` had been taken, but for the places.
  void JumpTo(std::span<const uint64_t> symbols, uint32_t at) {
    hash_ = 0;
    for (uint32_t i = at - std::min(at, length_); i < at; ++i) hash_ = hash_ * kBase + symbols[i];
  }

 private:
  static constexpr unsigned kBits = 14;
  uint32_t length_;
  uint64_t hash_ = 0, drop_ = 1;
  std::vector<uint32_t> places_;
};

class Finder {
 public:
  Finder(std::span<const uint64_t> symbols, uint32_t min_repetitions, uint32_t min_symbols)
      : symbols_(symbols), min_repetitions_(min_repetitions), min_symbols_(min_symbols) {}

  std::vector<Repeat> Run() {
    for (uint32_t at = 0; at < symbols_.size(); ++at) {
      for (LastSeen& group : groups_) {
        const uint32_t before = group.Next(symbols_, at);
        if (before != kNowhere && at - before <= kLongestPeriod) Follow(at, at - before);
      }
      at = SkipFound(at);
    }
    return Choose();
  }

 private:
  bool IsLong(const Repeat& r) const {
    return r.first < r.last && r.Repetitions() >= min_repetitions_ && r.last - r.first >= min_symbols_;
  }

  // Within a run there is nothing to be seen but that run; a longer one around it shows at its end.
  uint32_t SkipFound(uint32_t at) {
    if (found_until_ <= at + kWorthAJump) return at;
    for (LastSeen& group : groups_) group.JumpTo(symbols_, found_until_);
    return found_until_ - 1;
  }

  void Follow(uint32_t at, uint32_t period) {
    if (at < checked_[period] || symbols_[at] != symbols_[at - period]) return;
    uint32_t first = at, last = at + 1;
    while (first > period && symbols_[first - 1] == symbols_[first - 1 - period]) --first;
    while (last < symbols_.size() && symbols_[last] == symbols_[last - period]) ++last;
    checked_[period] = last;
    const Repeat repeat{first - period, last, period};
    if (!IsLong(repeat)) return;
    found_.push_back(repeat);
    found_until_ = std::max(found_until_, last);
  }

  // Symbols that are repetitions of earlier ones.
  static uint64_t Worth(const Repeat& r) { return r.last - r.first - r.period; }

  std::vector<Repeat> Choose() {
    std::sort(found_.begin(), found_.end(), [](const Repeat& a, const Repeat& b) {
      if (Worth(a) != Worth(b)) return Worth(a) > Worth(b);
      return a.first != b.first ? a.first < b.first : a.period < b.period;
    });
    std::map<uint32_t, Repeat> chosen;  // by first
    for (Repeat r : found_) {
      // Neighbours share a few symbols where one chain goes over into the next.
      const auto after = chosen.upper_bound(r.first);
      if (after != chosen.begin()) r.first = std::max(r.first, std::prev(after)->second.last);
      if (after != chosen.end()) r.last = std::min(r.last, after->second.first);
      if (r.first < r.last && IsLong(r)) chosen.emplace(r.first, r);
    }
    std::vector<Repeat> result;
    for (const auto& entry : chosen) result.push_back(entry.second);
    return result;
  }

  std::span<const uint64_t> symbols_;
  uint32_t min_repetitions_, min_symbols_;
  std::array<LastSeen, 4> groups_{LastSeen(1), LastSeen(4), LastSeen(16), LastSeen(64)};
  std::vector<uint32_t> checked_ = std::vector<uint32_t>(kLongestPeriod + 1, 0);  // by period: followed until here
  std::vector<Repeat> found_;
  uint32_t found_until_ = 0;  // end of the last of them
};

}  // namespace

uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

std::vector<Repeat> FindRepeats(std::span<const uint64_t> symbols, uint32_t min_repetitions, uint32_t min_symbols) {
  return Finder(symbols, min_repetitions, min_symbols).Run();
}

}  // namespace gprof
