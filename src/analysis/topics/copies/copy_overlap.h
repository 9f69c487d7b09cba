// Copies that could have run beside the kernels next to them.
#pragma once

#include <cstdint>

#include "analysis/facts/operations/transfers.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// A kernel that ended at most this long before a copy, or started at most this long after it, is next to it.
inline constexpr int64_t kNextToNs = 20'000;

// What counts: copies between host and device of more than 64 KiB that are not pageable, belong to no graph, and whose
// stream was not told to wait for an event just before; kernels of the same process on the same GPU, in whatever
// stream. The order of a stream is not taken for a dependency: it is what another stream would lift.
struct CopyOverlap {
  int64_t copies = 0;        // in runs next to kernels
  int64_t copy_only_ns = 0;  // of those runs, without a kernel of the process
  int64_t kernel_ns = 0;     // of the kernels next to them
  int64_t gain_ns = 0;       // each kernel hides no more than its own time, each run no more than its time alone
  void Add(const CopyOverlap& other);
};

// `transfers` are those of TransfersOf().
CopyOverlap CopyOverlapOf(const AnalysisInput& input, const PackedOps& transfers);

// copy_speed.cpp: how fast copies were against their link, and how much of their time is latency.

// Copies up to this size take as long as an empty one: the median of their times is the latency.
inline constexpr uint64_t kLatencyBytes = 4096;

// The table `bandwidth` and the metrics of it: copies between host and device by GPU, direction and memory.
void AddCopySpeed(const Trace& trace, const PackedOps& transfers, const ReachableBandwidth& reachable,
                  AnalysisResult* result);

// The table `copy_sizes`: copies by direction and size, in steps of a power of 4.
Table CopySizeTable(const PackedOps& transfers);

}  // namespace gprof
