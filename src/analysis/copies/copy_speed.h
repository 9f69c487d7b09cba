// How fast copies were against their link, and how much of their time is latency.
#pragma once

#include "analysis/copies/transfers.h"
#include "gprof/analysis.h"

namespace gprof {

// Copies up to this size take as long as an empty one: the median of their times is the latency.
inline constexpr uint64_t kLatencyBytes = 4096;

// The table `bandwidth` and the metrics of it: copies between host and device by GPU, direction and memory.
void AddCopySpeed(const Trace& trace, const PackedOps& transfers, const ReachableBandwidth& reachable,
                  AnalysisResult* result);

// The table `copy_sizes`: copies by direction and size, in steps of a power of 4.
Table CopySizeTable(const PackedOps& transfers);

}  // namespace gprof
