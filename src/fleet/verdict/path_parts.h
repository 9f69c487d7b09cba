// What a step of a rank consists of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "analysis/result/idle_causes.h"
#include "fleet/rank/rank_summary.h"

namespace gprof {

// Parts of a step: kernels but exposed collectives, copies without kernels, exposed collectives, idle time by cause,
// and what lies before the first GPU operation or after the last. They sum to its wall time.
inline constexpr size_t kPathKernels = 0, kPathCopies = 1, kPathExposed = 2, kPathIdle = 3;
inline constexpr size_t kPathOutside = kPathIdle + kCauseCount, kPathPartCount = kPathOutside + 1;
using PathParts = std::array<int64_t, kPathPartCount>;

std::string PathPartName(size_t part, bool has_gpu_work);  // "kernels", "idle: os"; without GPU work "os"
PathParts PartsOf(const StepColumns& steps, size_t entry);

}  // namespace gprof
