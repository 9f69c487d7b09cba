// From the trace of one or several ranks to their summaries.
#pragma once

#include <vector>

#include "fleet/rank/rank_summary.h"
#include "gprof/trace.h"

namespace gprof {

// A summary for each process of the trace that used GPUs or MPI; where none did, for each that has a rank, else ranges.
std::vector<RankSummary> SummarizeRanks(Trace trace);

// The same, without results: enough for a verdict, in a third of the time.
std::vector<RankSummary> SummarizeWithoutResults(Trace trace);

}  // namespace gprof
