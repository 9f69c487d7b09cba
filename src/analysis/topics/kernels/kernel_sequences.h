// Kernels that follow each other in a stream and could be one.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/facts/operations/kernel_groups.h"
#include "analysis/topics/kernels/library_names.h"
#include "gprof/trace.h"

namespace gprof {

struct SequenceSum {
  int64_t ns = 0;        // of all kernels of such sequences
  int64_t saved_ns = 0;  // if each sequence took as long as the longest kernel of it
  int64_t kernels = 0, sequences = 0;
  uint32_t longest = kNone;  // the group of kernels that took most of `ns`
};

// Softmax that a product of matrices comes shortly before, and another one shortly after, with all that is between the
// two: attention in pieces.
SequenceSum SoftmaxBetweenProducts(const Trace& trace, const KernelGroups& kernels,
                                   const std::vector<KernelKind>& kinds);

// Two or more kernels that each do one thing to all elements (IsSingleElementwise), and nothing else between them; of a
// longer sequence, as many as one kernel may do.
SequenceSum ElementwiseInARow(const Trace& trace, const KernelGroups& kernels);

}  // namespace gprof
