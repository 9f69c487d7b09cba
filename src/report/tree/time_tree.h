// The time of GPUs as a tree, for the terminal.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "gprof/analysis.h"

namespace gprof {

// Time of all that is below, and how often: operations, or gaps and parts of them.
struct TimeNode {
  int64_t ns = 0, count = 0;
  std::map<std::string, TimeNode> children{};
};

struct TimeTree {
  TimeNode gpu;   // module, operator, kernel or copy; where a trace has neither modules nor operators, NVTX range
  TimeNode idle;  // cause, then the line of Python, the NVTX range or the CUDA call that it belongs to
};

// Operations that run at the same time count each for itself.
TimeTree TimeTreeOf(const AnalysisInput& input);

}  // namespace gprof
