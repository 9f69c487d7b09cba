// What streams say to the reader: asked for and not used, used and never overlapping, one only, really overlapping.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/facts/operations/stream_use.h"
#include "analysis/topics/streams/concurrency.h"
#include "analysis/topics/streams/stream_waits.h"
#include "gprof/analysis.h"

namespace gprof {

// At most one of one_used, no_overlap, one_only and overlap; what default_splits and event_waits add is named in none
// of them.
std::vector<Finding> StreamFindings(const AnalysisInput& input, const std::vector<StreamUse>& uses,
                                    const Concurrency& concurrency, const DefaultSplits& splits,
                                    const StreamWaits& waits);

// named_in_ranges.cpp: streams that a program names in its NVTX ranges ("Stream 0", "stream_3: copy in") and that are
// one and the same.

struct NamedInRanges {
  int64_t names = 0;  // of one process; fewer than 2: no program names streams that are one
  std::string first, last;
  uint32_t stream = kNone;  // in which all their work ran
  int64_t operations = 0;
};

// Of the process that names most of those whose work all ran in one stream.
NamedInRanges NamedInRangesOf(const AnalysisInput& input);

}  // namespace gprof
