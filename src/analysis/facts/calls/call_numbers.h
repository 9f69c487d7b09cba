// A number for some of the calls: much less room than one for each call, where they are few.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/facts/time/search_near.h"
#include "gprof/trace.h"

namespace gprof {

class CallNumbers {
 public:
  // Of calls in any order; of a call that comes again, the last number counts.
  explicit CallNumbers(std::vector<std::pair<uint32_t, uint32_t>> numbers) : numbers_(std::move(numbers)) {
    const auto by_call = [](const auto& a, const auto& b) { return a.first < b.first; };
    if (!std::ranges::is_sorted(numbers_, by_call)) {
      std::ranges::stable_sort(numbers_, by_call);
    }
  }

  // kNone for a call without one, and for kNone. Fast where calls come about in order.
  uint32_t Of(uint32_t call) {
    if (call == kNone) return kNone;
    at_ = PartitionPointNear(numbers_.size(), at_, [&](size_t i) { return numbers_[i].first <= call; });
    return at_ > 0 && numbers_[at_ - 1].first == call ? numbers_[at_ - 1].second : kNone;
  }

 private:
  std::vector<std::pair<uint32_t, uint32_t>> numbers_;
  size_t at_ = 0;  // behind the last one that was asked for
};

}  // namespace gprof
