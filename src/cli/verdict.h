// One look at how the GPUs spent their time.
#pragma once

#include <string>

#include "base/terminal.h"
#include "cli/report.h"

namespace gprof::cli {

// "GPU  kernels 17.1%, copies only 63.2%, idle 19.7% of 12.03 ms" and a bar of it; empty where the analysis `devices`
// did not run or there was no GPU work.
std::string RenderVerdict(const Report& report, const Terminal& terminal);

}  // namespace gprof::cli
