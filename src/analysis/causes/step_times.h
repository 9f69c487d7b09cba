// The iterations of a step, and what the time of each was spent on.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/steps/step_finder.h"
#include "analysis/result/idle_causes.h"
#include "gprof/analysis.h"

namespace gprof {

// What a GPU did, on the clock: a kernel ran, a copy or fill ran and no kernel, it was idle (one part for each cause),
// or it lies before the first or after the last operation, or was not recorded.
inline constexpr size_t kStepKernels = 0, kStepCopies = 1, kStepIdle = 2, kStepOutside = kStepIdle + kCauseCount;
inline constexpr size_t kStepPartCount = kStepOutside + 1;
std::string StepPartName(size_t part);  // "kernels", "idle: host"
std::string StepPartKey(size_t part);   // "kernel_ns", "idle_host_ns"

struct Iteration {
  int64_t start_ns = 0, duration_ns = 0;
  std::array<int64_t, kStepPartCount> parts_ns{};  // sum to the duration
  bool is_warmup = false;                          // slow, and before the first that is not
  bool is_outlier = false;                         // slow, and after it
  bool is_known = true;  // false: it was not in a window all the time, so nobody knows what the GPU did
  int64_t EndNs() const { return start_ns + duration_ns; }
};

struct StepTimes {
  std::vector<Iteration> iterations;
  uint32_t device = kNone;  // the GPU that the parts are of
  int64_t warmups = 0, outliers = 0;
  double median_ns = 0;     // of all iterations
  double slow_from_ns = 0;  // iterations longer than this are slow: median + 5 MAD
  // Of those without the warm-up:
  int64_t count = 0, total_ns = 0, p95_ns = 0, p99_ns = 0, max_ns = 0, min_ns = 0;
  double mean_ns = 0, steady_median_ns = 0;
  double slope_ns = 0;     // by which each is longer than the one before, robust against outliers
  bool has_trend = false;  // the slope is more than what the iterations differ by anyway
  // Of these, those of which it is known what the GPU did; the parts are theirs.
  int64_t known_count = 0, known_ns = 0;
  std::array<double, kStepPartCount> median_parts_ns{};
  std::array<int64_t, kStepPartCount> total_parts_ns{};
  // Idle time while the host ran its own code in slow iterations, by range.
  std::map<uint32_t, int64_t> slow_host_ns;
};

StepTimes TimeSteps(const AnalysisInput& input, const StepChoice& choice);

// The time from the first to the last operation of a GPU cut into slices of one length, the last one of what is left,
// and what the GPU did in each. Empty for a GPU without operations.
std::vector<Iteration> TimeSlices(const AnalysisInput& input, uint32_t device, int64_t count);

}  // namespace gprof
