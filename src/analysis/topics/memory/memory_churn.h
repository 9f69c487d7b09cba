// Memory that is freed and allocated again and again: what a program that keeps its blocks would not pay for.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/facts/steps/step_finder.h"
#include "base/saturate.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// What the calls work on decides what they cost, and what to do instead.
enum class MemoryCallKind : uint8_t { kOther, kDevice, kPool, kHost, kRegistration };

// By the name of the function: cudaMalloc, cuMemFreeAsync, cudaHostAlloc, cudaHostUnregister, …
MemoryCallKind MemoryCallKindOf(std::string_view function);
// Whether such a function allocates or registers; the others free.
bool IsAllocation(std::string_view function);

// Allocations of one size by one function in one NVTX range, each with a block of that size (of any, where sizes are
// not known) that the process had freed before and not used again: the block could have been kept.
struct ChurnSite {
  MemoryCallKind kind = MemoryCallKind::kOther;
  NameId function, free_function, path;  // the function that freed the first of those blocks
  uint32_t process = kNone;
  uint64_t size_bytes = 0;
  bool has_size = false;  // sizes come with the records of memory alone
  int64_t pairs = 0;
  SaturatingSum host_ns;  // in the allocating calls and in those that freed the blocks
  int64_t idle_ns = 0;    // GPU idle time with one of these calls as its cause
  int64_t steps = 0;      // iterations of the step with such an allocation
};

struct Churn {
  std::vector<ChurnSite> sites;                        // in order of their first pair
  std::vector<std::pair<uint32_t, int64_t>> times_ns;  // site and time of each of these allocations
  int64_t steps = 0;                                   // iterations of the step, 0 where there is none
  NameId step;
};

// `ended`: EndedBlocks(trace). Calls are looked at where the trace has no records of memory, and for registrations.
Churn ChurnOf(const AnalysisInput& input, const std::vector<uint32_t>& ended);
// Fills in `steps` of each site.
void CountSteps(const Trace& trace, const StepChoice& step, Churn* churn);

Table ChurnTable(const Trace& trace, const Churn& churn, uint32_t max_rows);
void AddChurnMetrics(const Churn& churn, AnalysisResult* result);
void AddChurnFindings(const Trace& trace, const Churn& churn, int64_t window_ns, std::vector<Finding>* findings);

}  // namespace gprof
