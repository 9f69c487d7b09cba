// `--cuda-graph-trace auto`: graphs are recorded as a whole until it is known how many nodes they run in a second;
// where recording each node is affordable, each is from then on. The other way round libcupti cannot go. Where a
// program uses several GPUs, nodes are recorded at once: of graphs that run on two of them CUPTI times half as a whole.
// Where it makes conditional nodes, graphs stay a whole: of what runs in their bodies CUPTI tells neither how much that
// is nor which launch it is of.
#pragma once

#include <cstdint>

namespace gprof::tracer {

// A node was made by instantiating the graph of that id. [any thread]
void CountGraphNode(uint32_t graph);
// A graph ran as a whole. [writer thread]
void CountGraphLaunch(uint32_t graph, uint64_t start_ns, uint64_t end_ns);

// A context was made on that device. [within CUPTI's callback]
void NoteDevice(uint32_t device);

// The program is about to make a conditional node. [within CUPTI's callback]
void NoteConditionalNode();

// Decides as soon as enough is known, once. [the thread that flushes CUPTI]
void DecideGraphLevel();

}  // namespace gprof::tracer
