// Which of the cost of recording shows in a run: a launch that finds its stream with work for a while may take longer
// without delaying anything, while what recording adds on the GPU then delays all that is behind it.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/facts/op_facts.h"
#include "analysis/trust/record_costs.h"
#include "gprof/trace.h"

namespace gprof {

struct HiddenCost {
  int64_t operations = 0;
  int64_t starved = 0;                   // of them, those whose stream had run out of work when their call returned
  int64_t queued = 0;                    // and those whose stream had work for long after it
  double gpu_ns = 0, queued_gpu_ns = 0;  // that recording adds on the GPU: to all, and to those queued
  double StarvedShare() const { return operations == 0 ? 1 : Share(starved); }
  double NotQueuedShare() const { return operations == 0 ? 1 : Share(operations - queued); }

 private:
  double Share(int64_t count) const { return static_cast<double>(count) / static_cast<double>(operations); }
};

// By process; empty where none was recorded on a machine that is calibrated, as nothing needs it then.
std::vector<HiddenCost> FindHiddenCost(const Trace& trace, const OpFacts& ops, const std::vector<RecordCosts>& costs);

}  // namespace gprof
