// What a program did in a short time, for a screen that is shown again and again, and for counters that add it up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

struct TopGpu {
  std::string name;  // "gpu0"
  int64_t busy_ns = 0;
  std::vector<std::pair<std::string, int64_t>> idle_ns;  // by cause, the largest first
};

struct TopKernel {
  std::string name;
  int64_t total_ns = 0;  // of all GPUs together
  int64_t count = 0;
};

struct TopReading {
  int64_t time_ns = 0;  // that it is about
  std::vector<TopGpu> gpus;
  std::string step;  // the range that is one
  int64_t step_count = 0;
  std::optional<double> median_step_ns;
  std::vector<TopKernel> kernels;  // the largest first
  int64_t h2d_bytes = 0, d2h_bytes = 0;
};

// Of at most so many kernels; 0: of all.
TopReading TopOf(const Trace& trace, int64_t time_ns, uint32_t most_kernels);

// The durations of the steps of a program that ended after a point in time, by the range that is a step.
struct StepDurations {
  std::string step;
  std::vector<int64_t> durations_ns;
};
StepDurations StepsThatEndedAfter(const Trace& trace, int64_t time_ns);

}  // namespace gprof
