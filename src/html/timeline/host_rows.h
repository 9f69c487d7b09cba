// What a thread did beside its CUDA calls, as rows beneath those: calls of MPI and of the operating system, when it
// ran, and where CPU samples found it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/facts/host/thread_runs.h"
#include "gprof/analysis.h"
#include "html/timeline/timeline.h"

namespace gprof {

class HostRows {
 public:
  explicit HostRows(const AnalysisInput& input);

  // Adds the rows of a thread, and its states, to the timeline; none where nothing was recorded.
  void AddTo(uint32_t thread, int32_t parent, TimelineData* data) const;

 private:
  std::vector<ThreadState> StatesOf(uint32_t thread) const;
  void FindWhoRan(uint32_t thread, ThreadState* state) const;

  const Trace& trace_;
  ThreadRuns runs_;
  std::vector<std::vector<uint32_t>> mpi_calls_, os_calls_, switches_, samples_;  // by thread
};

// The innermost range that the thread was in, kNone for none.
uint32_t RangeAround(const Trace& trace, uint32_t thread, int64_t time_ns);

}  // namespace gprof
