// Why GPUs were idle, gap by gap: computed once for all analyses (AnalysisInput), as SharedFacts are.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/causes/gaps/gap_causes.h"
#include "analysis/causes/host_gaps.h"
#include "analysis/facts/lazy.h"
#include "gprof/analysis.h"

namespace gprof {

class SharedCauses {
 public:
  // `shared` is of that trace; both outlive this.
  SharedCauses(const Trace& trace, const SharedFacts& shared);

  // Why the device was idle in each of its gaps; ForEachExplainedGap is how to read it.
  const GapCauses& of_gaps(uint32_t device) const;
  // What the host did in them; `input` is that of this trace.
  const HostGaps& of_host(const AnalysisInput& input) const { return of_host_.Get(input); }

 private:
  const Trace& trace_;
  const SharedFacts& shared_;
  std::vector<Lazy<GapCauses>> of_gaps_;  // by device
  Lazy<HostGaps> of_host_;
};

}  // namespace gprof
