#include "trace/file/block_order.h"

#include <algorithm>
#include <functional>

#include "trace/file/column_scan.h"
#include "trace/load/order.h"
#include "trace/model/saturating_time.h"

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

bool BlockRuns::Find(const uint64_t* starts, std::size_t count) {
  starts_ = starts;
  runs_left_ = 0;
  for (std::size_t first = 0, last = 0; first < count; first = last) {
    last = first + CountAscending(starts + first, count - first);
    if (first == last || runs_left_ == kMostRuns) return false;
    runs_[runs_left_++] = {first, last};
  }
  return true;
}

// Of the run that begins first, all before the next one begins: none where they begin at the same time.
BlockRuns::Section BlockRuns::NextSection() {
  const auto begins_before = [&](const Section& a, const Section& b) { return starts_[a.first] < starts_[b.first]; };
  const auto last_run = runs_.begin() + static_cast<std::ptrdiff_t>(runs_left_);
  std::iter_swap(std::min_element(runs_.begin(), last_run, begins_before), last_run - 1);
  Section& run = *(last_run - 1);
  Section section = run;
  if (runs_left_ != 1) {
    const Section& next = *std::min_element(runs_.begin(), last_run - 1, begins_before);
    const uint64_t* const end = std::lower_bound(starts_ + run.first, starts_ + run.last, starts_[next.first]);
    section.last = static_cast<std::size_t>(end - starts_);
  }
  run.first = section.last;
  runs_left_ -= run.first == run.last ? 1 : 0;
  return section;
}

}  // namespace gprof
