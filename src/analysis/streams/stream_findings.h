// What streams say to the reader: asked for and not used, used and never overlapping, one only, really overlapping.
#pragma once

#include <vector>

#include "analysis/streams/concurrency.h"
#include "analysis/streams/stream_use.h"
#include "analysis/waits/stream_waits.h"
#include "gprof/analysis.h"

namespace gprof {

// At most one of one_used, no_overlap, one_only and overlap; what default_splits and event_waits add is named in none
// of them.
std::vector<Finding> StreamFindings(const AnalysisInput& input, const std::vector<StreamUse>& uses,
                                    const Concurrency& concurrency, const DefaultSplits& splits,
                                    const StreamWaits& waits);

}  // namespace gprof
