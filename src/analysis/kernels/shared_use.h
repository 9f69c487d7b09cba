// How much of a GPU kernels leave unused that run at the same time.
#pragma once

#include <cstdint>
#include <vector>

#include "gprof/analysis.h"

namespace gprof {

// A kernel that runs beside others.
struct SharedUse {
  double share = 1;  // of the GPU, that it can use
  double small = 0;  // where all that run use less than that share of the GPU together, they are small
  double unused_ns = 0;
};

// Adds to each of `uses` its part of what the GPU's kernels leave unused while they are small: at any time those that
// run share it alike. `use_of`: for each PackedOps::Traits the index in `uses`; kNone: does not count.
void AddUnused(const Trace& trace, uint32_t device, const std::vector<uint32_t>& use_of, std::vector<SharedUse>* uses);

}  // namespace gprof
