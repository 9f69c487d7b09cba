// Which kernel of one run is which of another: by name, then by what it looks like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/topics/breakdown/breakdown.h"

namespace gprof {

// A kernel with all its shapes, on all GPUs.
struct KernelOfRun {
  std::string name;
  std::map<std::string, int64_t> shapes;  // launches by shape
  std::string path;                       // innermost NVTX range of its first launch
  double place = 0;                       // of its first start among the kernels: 0 for the first, towards 1
  int64_t count = 0, total_ns = 0;

  std::string ShapeText() const;  // "40x1x1 of 256x1x1", "3 shapes"
};

// Sorted by name.
std::vector<KernelOfRun> KernelsOf(const Breakdown& run);

inline constexpr size_t kNoKernel = SIZE_MAX;

struct KernelPair {
  size_t base = kNoKernel, now = kNoKernel;  // indices; one of them may be kNoKernel
  std::string why;                           // of a pair with different names: what makes them look like one kernel
};

// Every kernel of both is in exactly one pair. Those with the same name are one. A kernel that is gone and one that is
// new are "renamed?" where nothing else would fit as well: the same function or template with other arguments; or the
// same shapes with the same counts, launched in the same NVTX range or at about the same place.
std::vector<KernelPair> MatchKernels(std::span<const KernelOfRun> base, std::span<const KernelOfRun> now);

}  // namespace gprof
