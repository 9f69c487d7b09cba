#include "analysis/causes/shared_causes.h"

#include <memory>

#include "analysis/facts/shared_facts.h"

namespace gprof {

AnalysisInput::AnalysisInput(const Trace& trace)
    : trace_(&trace),
      shared_(std::make_shared<SharedFacts>(trace)),
      causes_(std::make_shared<SharedCauses>(trace, *shared_)) {}

SharedCauses::SharedCauses(const Trace& trace, const SharedFacts& shared)
    : trace_(trace), shared_(shared), of_gaps_(trace.device_ops.size()) {}

const GapCauses& SharedCauses::of_gaps(uint32_t device) const {
  return of_gaps_[device].Get(trace_, shared_.host(), shared_.recorded(), shared_.ops(), shared_.gaps(device),
                              shared_.threads());
}

}  // namespace gprof
