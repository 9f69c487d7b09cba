// Kernels measured by running the whole program once for each pass.
#pragma once

#include <string>

#include "cli/measuring/counter_run.h"
#include "launch/run/launch.h"

namespace gprof::cli {

struct ReplayedRuns {
  LaunchResult last;           // with the trace that has all of it
  uint32_t passes = 0;         // 0: no run said how many there are
  std::size_t launches = 0;    // that the first run measured
  std::size_t incomplete = 0;  // of those, that did not come in each run
  std::string incomplete_one;  // one of them: "saxpy with grid 4 x 1 x 1"
  std::string failure;         // why there are no values: a run ended otherwise than the first one
};

// `options` as for one run. The program's output is shown in the first run, and hidden in the others.
ReplayedRuns RunOncePerPass(const CounterWishes& wishes, const LaunchOptions& options);

}  // namespace gprof::cli
