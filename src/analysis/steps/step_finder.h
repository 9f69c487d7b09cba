// The range of a program that stands for one step of its work: what `steps` compares with each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/facts/op_facts.h"
#include "analysis/facts/range_facts.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

struct StepChoice {
  uint32_t thread = kNone;
  NameId path;
  std::vector<uint32_t> ranges;  // in order of time, none overlap; those that were cut or never ended are left out
  int64_t covered_ns = 0;        // of the GPU window
  int64_t window_ns = 0;         // from the first to the last operation of any GPU; of the trace where there is none
  int64_t work_ns = 0;           // kernel time that its process launched within the range; 0 where the window decided
  int64_t all_work_ns = 0;       // kernel time of that process
};

// `wanted` is the path or the name of a push/pop range, and empty to look for one: the outermost that a thread repeats
// at least 5 times at the same depth and that covers at least half of the GPU window; of several, the one that covers
// most. Where none covers as much, as start-up took longer: in which at least half of the kernel time of its process
// was launched. Nothing where no range is like that.
std::optional<StepChoice> FindStep(const AnalysisInput& input, const std::string& wanted);

// The same without a name, for SharedFacts, which keeps it.
std::optional<StepChoice> FindStepUnnamed(const Trace& trace, const OpFacts& ops, const RangeFacts& ranges);

}  // namespace gprof
