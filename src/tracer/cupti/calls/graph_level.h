// `--cuda-graph-trace auto`: graphs are recorded as a whole until it is known how many nodes they run in a second;
// where recording each node is affordable, each is from then on. The other way round libcupti cannot go.
#pragma once

#include <cstdint>

namespace gprof::tracer {

// A node was made by instantiating the graph of that id. [any thread]
void CountGraphNode(uint32_t graph);
// A graph ran as a whole. [writer thread]
void CountGraphLaunch(uint32_t graph, uint64_t start_ns, uint64_t end_ns);

// Decides as soon as enough is known, once. [the thread that flushes CUPTI]
void DecideGraphLevel();

}  // namespace gprof::tracer
