// Memory that is allocated in step after step and kept, and what was not freed when the program ended.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/facts/memory/memory_use.h"
#include "analysis/facts/steps/step_finder.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// Blocks that one function allocated in one NVTX range after the first iteration and that were there at the end of the
// last.
struct GrowthSite {
  NameId function, path;
  trace::MemoryKind memory = trace::MemoryKind::kUnknown;
  uint32_t process = kNone, device = kNone;
  int64_t blocks = 0;
  uint64_t bytes = 0;
  int64_t iterations = 0;  // with such an allocation
};

struct Growth {
  std::vector<GrowthSite> sites;  // those that grow: most bytes first
  int64_t iterations = 0;         // looked at: all but the first
  NameId step;                    // empty: equal parts of the time from the first to the last operation of a GPU
};

// Without a step the iterations are ten equal parts of the GPU window.
Growth GrowthOf(const Trace& trace, const std::vector<uint32_t>& ended, const StepChoice* step);

void AddGrowthMetrics(const Growth& growth, AnalysisResult* result);
void AddGrowthFindings(const Trace& trace, const Growth& growth, std::vector<Finding>* findings);
// Only where all of it was recorded to the clean end of the process.
void AddLeakFinding(const Trace& trace, const MemoryUse& use, std::vector<Finding>* findings);

// memory_at_peak.cpp: what stood in the memory of each GPU when most of it was in use.

// `ended`: of EndedBlocks(). By the line of Python that allocated it, else by function and NVTX range, and by size.
Table AtPeakTable(const AnalysisInput& input, const std::vector<uint32_t>& ended, uint32_t max_rows);

}  // namespace gprof
