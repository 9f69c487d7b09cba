// The breakdown of a run by name, over all GPUs: what a comparison looks up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "gate/breakdown/match_kernels.h"
#include "gate/runs/measurement.h"

namespace gprof {

// Parts of the recorded time of a GPU. What lies outside of its window comes first.
inline constexpr size_t kPartBefore = 0, kPartAfter = 1, kPartUnrecorded = 2, kPartKernels = 3, kPartGraphs = 4,
                        kPartCopies = 5, kPartFills = 6, kPartOverlap = 7, kPartIdle = 8,
                        kPartCount = kPartIdle + kCauseCount;
using TimeParts = std::array<int64_t, kPartCount>;  // sum to the recorded time: overlap is below 0

std::string PartKey(size_t part);    // "before", "idle.host"
std::string PartLabel(size_t part);  // "kernels", "idle: host"
inline bool IsInWindow(size_t part) { return part >= kPartKernels; }

struct DeviceSums {
  int64_t wall_ns = 0, window_ns = 0;
  TimeParts parts{};
};

struct PathSums {
  int64_t busy_ns = 0, idle_ns = 0;  // of the GPUs, children not included
  int64_t count = 0, host_ns = 0;    // of its ranges
  int64_t WindowNs() const { return busy_ns + idle_ns; }
};

struct RunSums {
  explicit RunSums(const Measurement& run);

  const Measurement* run;
  DeviceSums all;  // of all GPUs
  std::map<std::string, DeviceSums> devices;
  std::vector<KernelOfRun> kernels;                                       // sorted by name
  std::map<std::pair<std::string, std::string>, TransferTime> transfers;  // by direction and memory
  std::map<std::string, PathSums> paths;
};

}  // namespace gprof
