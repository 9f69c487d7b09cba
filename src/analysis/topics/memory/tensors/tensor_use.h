// What PyTorch's allocator handed out, by the counter tracks of `profile --pytorch-memory`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/facts/steps/step_finder.h"
#include "gprof/analysis.h"

namespace gprof {

bool HasTensorMemory(const Trace& trace);
// The highest sample of what the allocator of a process says it has given of a GPU.
std::optional<MetricSample> AllocatedPeak(const Trace& trace, uint32_t process, uint32_t device);
// What the allocator had reserved at the end, 0 where it does not say.
int64_t ReservedAtEnd(const Trace& trace, uint32_t process, uint32_t device);
std::string MemoryProcessName(const Trace& trace, uint32_t process);  // "python3 (7)"

// The peak of each GPU and process, what was reserved then, and what is left of step after step. `step` is null where
// there is none.
Table TensorMemoryTable(const Trace& trace, const StepChoice* step);

}  // namespace gprof
