// A list that only grows, in memory that outlives the process. One thread at a time adds to it; any thread, and
// salvage, reads what is there: an entry is seen whole or not at all.
#pragma once

#include <atomic>
#include <cstdint>

#include "tracer/store/memory/arena.h"

namespace gprof::tracer {

template <class T, Region kRegion, uint32_t kPerSegment, uint32_t kSegments>
class KeptList {
 public:
  // False: there is no room for it.
  bool Append(const T& entry) {
    const uint32_t i = count_.load(std::memory_order_relaxed);
    if (i >= kPerSegment * kSegments) return false;
    T*& segment = segments_[i / kPerSegment];
    if (segment == nullptr) segment = static_cast<T*>(KeepMemory(kPerSegment * sizeof(T), kRegion));
    if (segment == nullptr) return false;
    segment[i % kPerSegment] = entry;
    count_.store(i + 1, std::memory_order_release);
    return true;
  }

  // Null when there is none yet.
  const T* At(uint32_t i) const {
    if (i >= count_.load(std::memory_order_acquire)) return nullptr;
    const T* segment = segments_[i / kPerSegment];
    return IsKept(segment, kPerSegment * sizeof(T)) ? segment + i % kPerSegment : nullptr;
  }

  // The child of a fork keeps the names of its parent, whose copy was taken while the parent went on.
  void ResetAfterFork() {
    static_assert(kRegion == Region::kNames, "rows are the parent's to write");
    uint32_t whole = 0;
    while (whole < count_.load(std::memory_order_relaxed) && segments_[whole / kPerSegment] != nullptr) ++whole;
    if (!NamesAreWhole()) {
      whole = 0;
      for (T*& segment : segments_) segment = nullptr;
    }
    count_.store(whole, std::memory_order_relaxed);
  }

 private:
  T* segments_[kSegments] = {};
  std::atomic<uint32_t> count_{0};
};

}  // namespace gprof::tracer
