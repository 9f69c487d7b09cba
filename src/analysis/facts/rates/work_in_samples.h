// What ran while each sample was taken, and for how much of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/facts/rates/normal_equations.h"
#include "gprof/trace.h"

namespace gprof {

// Something that ran, and the column that it counts for. Of one device, by start; they may overlap.
struct RatedWork {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t column = 0;
};

// The counters of a GPU see a kernel begin and end a little before or after its record does: this much later.
struct EdgeShift {
  int64_t start_ns = 0, end_ns = 0;
};

enum class Together : uint8_t {
  kAddUp,  // each of those that run at a time does its own: bytes, instructions
  kShare,  // they have one value in common, which counts for the first of them: clocks
};

// Goes over samples, which come by start and do not overlap.
class WorkInSamples {
 public:
  // `idle`: the column, behind all others, of no work at all.
  WorkInSamples(std::span<const RatedWork> work, const EdgeShift& shift, Together together, uint32_t idle)
      : work_(work), shift_(shift), together_(together), idle_(idle), ns_(idle + 1) {}

  // Shares of the columns in it, good until the next one is asked for.
  std::span<const ColumnShare> In(const Interval& sample);
  // Columns of work that began or ended in it, once for each time.
  std::span<const uint32_t> edges() const { return edges_; }

 private:
  void Add(uint32_t column, int64_t ns);

  std::span<const RatedWork> work_;
  EdgeShift shift_;
  Together together_;
  uint32_t idle_;
  std::size_t next_ = 0;
  std::vector<RatedWork> running_;  // begun and not over, by start
  std::vector<int64_t> ns_;         // of each column, all 0 between samples
  std::vector<uint32_t> met_, edges_;
  std::vector<ColumnShare> row_;
};

}  // namespace gprof
