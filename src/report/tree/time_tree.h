// The time of GPUs as trees, for the terminal and for flame graphs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gprof/analysis.h"

namespace gprof {

// Time of all that is below, and how often: operations, or gaps and parts of them.
struct TimeNode {
  int64_t ns = 0, count = 0;
  std::map<std::string, TimeNode> children{};

  // Counts in this node and in each on the path below it.
  void Add(const std::vector<std::string>& path, int64_t more_ns, int64_t more = 1);
};

// What comes before the kernels and the causes.
enum class TreeBy : uint8_t {
  kModule,  // PyTorch's modules and operators; where a trace has neither, the path of the NVTX range in one
  kStack,   // lines of Python, callers first
  kRange,   // NVTX ranges, the outermost first
};

struct TimeTree {
  TimeNode gpu;   // by where it was launched, then kernel or copy
  TimeNode idle;  // by where the call was made that the GPU waited for, then cause
};

// Operations that run at the same time count each for itself.
TimeTree TimeTreeOf(const AnalysisInput& input, TreeBy by = TreeBy::kModule);

// By cause, then the line of Python, the NVTX range or the CUDA call that it belongs to.
TimeNode IdleByCause(const AnalysisInput& input);

// Those that say something of the trace.
std::vector<TreeBy> KnownTrees(const AnalysisInput& input);

// Stacks with different beginnings or endings that say nothing are one: what imports a module is one name, and what
// starts one (`python -m`) is left out. Names come with the file of their function, callers first.
struct PythonFrame {
  std::string name, file;
};
std::vector<std::string> FoldedFrames(const std::vector<PythonFrame>& frames);

}  // namespace gprof
