// One look at how the GPUs spent their time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "report/report.h"

namespace gprof {

// Kernels, copies while no kernel ran, and idle time make up the window. Graphs that were recorded as a whole count as
// kernels, and `kernels` says so.
struct TimeSplit {
  double window_ns, kernel_ns, copy_ns, idle_ns;
  std::string kernels;
};

// Nothing where the analysis `devices` did not run or there was no GPU work.
std::optional<TimeSplit> TimeSplitOf(const Report& report);

// The lines of it: the shares, a bar of at most `columns`, the time outside. Empty without a split.
std::vector<std::string> VerdictOf(const Report& report, std::size_t columns);

// "GPU  kernels 17.1%, copies only 63.2%, idle 19.7% of 12.03 ms" and what follows, as text.
std::string RenderVerdict(const Report& report, const Terminal& terminal);

// "39 of step, median 813.05 us, GPU idle 94.1% of them (most: host)"; empty without steps.
std::string StepsOf(const Report& report);

}  // namespace gprof
