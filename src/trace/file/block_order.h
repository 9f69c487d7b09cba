// In which order the records of a block begin.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "gprof/trace/file.h"

namespace gprof {

// What is moved to put records in order is one number for each: its start, and in the lowest bits its place in the
// block.
class BlockOrder {
 public:
  static constexpr unsigned kIndexWidth = 14;
  static constexpr uint64_t kIndexBits = (uint64_t{1} << kIndexWidth) - 1;
  static_assert(trace::kMaxChunkRecords <= kIndexBits + 1);

  // False: their starts are too far apart, or too large, for such numbers.
  bool Plan(const uint64_t* starts, std::size_t count);

  // After that: as many numbers as there are records.
  const uint64_t* numbers() const { return numbers_.get(); }

 private:
  void MergeLate(std::size_t in_order, std::size_t late);

  std::unique_ptr<uint64_t[]> numbers_, late_;
};

// A block of a few runs that are in order each, as where some streams had many operations at a time.
class BlockRuns {
 public:
  // False: there are more than a few.
  bool Find(const uint64_t* starts, std::size_t count);

  // After that, once: put(first, last) for neighbours of a run, which one behind the other make an order. False, maybe
  // after some: two begin at the same time, or too few are neighbours.
  template <class Put>
  bool ForEachSection(Put&& put) {
    constexpr std::size_t kFew = 16, kSome = 16;
    for (std::size_t sections = 0, done = 0; runs_left_ != 0;) {
      const Section section = NextSection();
      if (section.first == section.last) return false;
      put(section.first, section.last);
      done += section.last - section.first;
      if (++sections > kSome && done < sections * kFew) return false;
    }
    return true;
  }

 private:
  // Places in the block; of a run, those that are left of it.
  struct Section {
    std::size_t first = 0, last = 0;
  };
  Section NextSection();

  static constexpr std::size_t kMostRuns = 8;
  const uint64_t* starts_ = nullptr;
  std::array<Section, kMostRuns> runs_;
  std::size_t runs_left_ = 0;
};

}  // namespace gprof
