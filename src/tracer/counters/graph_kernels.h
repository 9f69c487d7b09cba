// The kernels of a graph that can be launched, in the order in which they run: the profiler gives a range for each and
// no name.
#pragma once

#include <cuda.h>

#include "tracer/counters/launch_filter.h"

namespace gprof::tracer {

struct GraphKernel {
  Launch launch;
  CUfunction function = nullptr;
  bool is_wanted = false;  // in the launch of the graph that is under way
};
struct GraphKernels {
  CUgraphExec graph = nullptr;
  GraphKernel* kernels = nullptr;
  uint32_t count = 0;
};

// `graph` was made from `source`, whose nodes are asked for now: nothing has them later. [with the lock of the caller]
void NoteGraph(CUgraphExec graph, CUgraph source);
// Null: it is not known.
const GraphKernels* KernelsOf(CUgraphExec graph);
void ForgetGraphsAfterFork();

}  // namespace gprof::tracer
