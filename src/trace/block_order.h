// In which order the records of a block begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "gprof/trace/file.h"

namespace gprof {

// What is moved to put records in order is one number for each: its start, and in the lowest bits its place in the block.
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

}  // namespace gprof
