// Kernels whose first launch waits for pages of managed memory, where migrations were not recorded.
#pragma once

#include <cstdint>
#include <vector>

#include "gprof/analysis.h"

namespace gprof {

class AnalysisInput;

// Launches that took less together may have done nothing but wait for their first pages.
inline constexpr int64_t kFirstTouchNs = 5'000'000;

// Whether a program did: the first launch of a kernel may be waiting for most of its time then.
bool AllocatesManagedMemory(const AnalysisInput& input);

void AddFirstTouchFinding(const AnalysisInput& input, std::vector<Finding>* findings);

}  // namespace gprof
