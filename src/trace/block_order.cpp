#include "trace/block_order.h"

#include <algorithm>
#include <functional>

#include "trace/order.h"
#include "trace/saturate.h"

namespace gprof {

bool BlockOrder::Plan(const uint64_t* starts, std::size_t count) {
  constexpr uint64_t kNoIndexBits = ~uint64_t{0} >> kIndexWidth, kReach = kNoIndexBits / 2;
  // A start of 0 is no time, and not within reach of any other.
  if (starts[0] > kMaxTimeNs / 4) return false;
  const uint64_t low_ns = std::max(starts[0], kReach + 1) - kReach;
  if (numbers_ == nullptr) {
    numbers_ = std::make_unique_for_overwrite<uint64_t[]>(trace::kMaxChunkRecords);
    late_ = std::make_unique_for_overwrite<uint64_t[]>(trace::kMaxChunkRecords);
  }
  // Most are in order with those before; few come late, as those of a stream that was waited for, or many do at once.
  uint64_t *in_order = numbers_.get(), *late = late_.get();
  uint64_t all_ns = 0, before = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const uint64_t ns = starts[i] - low_ns, number = ns << kIndexWidth | i;
    all_ns |= ns;
    if (number < before) {
      *late++ = number;
    } else {
      before = *in_order++ = number;
    }
  }
  if (all_ns > kNoIndexBits) return false;
  MergeLate(static_cast<std::size_t>(in_order - numbers_.get()), static_cast<std::size_t>(late - late_.get()));
  return true;
}

void BlockOrder::MergeLate(std::size_t in_order, std::size_t late) {
  SortNearlySorted(late_.get(), late_.get() + late, std::less<>());
  uint64_t *const first = numbers_.get(), *left = first + in_order, *to = left + late;
  for (const uint64_t* right = late_.get() + late; right != late_.get();) {
    const uint64_t number = *--right;
    while (left != first && left[-1] > number) *--to = *--left;
    *--to = number;
  }
}

}  // namespace gprof
