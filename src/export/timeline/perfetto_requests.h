// Requests and steps of a serving engine in Perfetto's format: a row of steps below the process of the engine, and rows
// of requests, each with what it waited for and the steps that it was in. Flows lead from a request to its steps, and
// from a step to its first operation on a GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "export/events/labels.h"
#include "export/timeline/perfetto_packets.h"
#include "gprof/trace.h"

namespace gprof {

// `flow_of_op`: the flow that leads to an operation.
void WriteRequests(const Trace& trace, const std::vector<uint64_t>& process_tracks,
                   const std::function<uint64_t(uint32_t)>& flow_of_op, Labels* labels, PerfettoPackets* packets);

}  // namespace gprof
