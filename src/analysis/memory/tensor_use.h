// What PyTorch's allocator handed out, by the counter tracks of `profile --pytorch-memory`.
#pragma once

#include "analysis/steps/step_finder.h"
#include "gprof/analysis.h"

namespace gprof {

bool HasTensorMemory(const Trace& trace);

// The peak of each GPU and process, what was reserved then, and what is left of step after step. `step` is null where
// there is none.
Table TensorMemoryTable(const Trace& trace, const StepChoice* step);

}  // namespace gprof
