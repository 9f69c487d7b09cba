// What waits in the operating system say to the reader: which thread waited for what while the GPU was idle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/facts/places/call_places.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

class AnalysisInput;

std::vector<Finding> OsFindings(const AnalysisInput& input, CallPlaces* places);

// worker_activity.cpp: what the processes that a process has started did while it waited: the workers of a data loader,
// for example. Which of them it waited for is not recorded, whatever it waits for goes through: a pipe, a socket, a
// semaphore.

// "python (4713) and 3 more processes that it started spent 93 % of their samples in data.py:12 (decode)". Empty where
// there are none, or too few samples of them in those times, which are in order.
std::string WorkerActivity(const Trace& trace, uint32_t process, const std::vector<Interval>& times,
                           CallPlaces* places);

}  // namespace gprof
