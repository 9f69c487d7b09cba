#include "fleet/verdict/path_parts.h"

#include <algorithm>
#include <numeric>

#include "analysis/causes/step_times.h"

namespace gprof {

static_assert(kStepOutside - kStepIdle == kPathOutside - kPathIdle, "PathPartName counts on it");

std::string PathPartName(size_t part, bool has_gpu_work) {
  if (!has_gpu_work && part == kPathOutside) return "not recorded";
  if (!has_gpu_work && part >= kPathIdle) return std::string(InfoOf(static_cast<Cause>(part - kPathIdle)).name);
  if (part == kPathKernels) return StepPartName(kStepKernels);
  if (part == kPathCopies) return StepPartName(kStepCopies);
  if (part == kPathExposed) return "exposed NCCL";
  return StepPartName(kStepIdle + part - kPathIdle);
}

PathParts PartsOf(const StepColumns& steps, size_t entry) {
  PathParts parts{};
  parts[kPathExposed] = std::min(steps.exposed_ns[entry], steps.kernel_ns[entry]);
  parts[kPathKernels] = steps.kernel_ns[entry] - parts[kPathExposed];
  parts[kPathCopies] = steps.copy_ns[entry];
  for (size_t cause = 0; cause < kCauseCount; ++cause) parts[kPathIdle + cause] = steps.idle_ns[cause][entry];
  const int64_t known_ns = std::accumulate(parts.begin(), parts.end(), int64_t{0});
  parts[kPathOutside] = std::max<int64_t>(steps.wall_ns[entry] - known_ns, 0);
  return parts;
}

}  // namespace gprof
