// The joins, each in the file of its name. NumberThings and JoinTrace call them in this order: later ones use what
// earlier ones made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "trace/builder/unjoined.h"
#include "trace/join/correlation_index.h"

namespace gprof {

// join.cpp: numbers names, devices and streams, which the joins need before operations and calls are there.
void NumberThings(UnjoinedTrace& unjoined);
Trace JoinTrace(UnjoinedTrace unjoined);

// join_kept.cpp: stacks, what threads did between calls, counter tracks, kernel counters.
void JoinKept(UnjoinedTrace& unjoined);

// join_names.cpp: names and shapes that were defined after their use.
void ResolveLateNames(UnjoinedTrace& unjoined);
void ResolveLateShapes(UnjoinedTrace& unjoined);

// join_devices.cpp: devices of all processes become one list; streams and threads get their names.
void NumberDevices(UnjoinedTrace& unjoined);
void ResolveLateStreams(UnjoinedTrace& unjoined);
void FinishStreams(UnjoinedTrace& unjoined);
void NameThreads(UnjoinedTrace& unjoined);

// join_captures.cpp: when each process was recorded.
void PairCaptures(UnjoinedTrace& unjoined);
// The capture that holds `time_ns`, else the next one, else the last one; kNone for a process without captures.
uint32_t CaptureAt(const Trace& trace, uint32_t process, int64_t time_ns);

// Until when it was recorded what began at `time_ns`: the end of its capture, or of its process.
int64_t EndOfRecording(const Trace& trace, uint32_t process, int64_t time_ns);
// The process went on when the capture of `time_ns` had ended.
bool GoesOnAfterCapture(const Trace& trace, uint32_t process, int64_t time_ns);
// When ranges were recorded.
void FindRangeCaptures(UnjoinedTrace& unjoined);
// Until when they were, if the process went on after that; else nothing. One that began at `time_ns` ends
// there at the latest, as far as is known.
std::optional<int64_t> EndOfRanges(const UnjoinedTrace& unjoined, uint32_t process, int64_t time_ns);

// Knows an operation that was launched before the capture that it ran in: correlation ids count up, so its id is lower
// than that of any call of the capture.
class LaunchesBefore {
 public:
  explicit LaunchesBefore(const UnjoinedTrace& unjoined);
  bool Has(uint32_t process, uint32_t correlation, int64_t start_ns) const;

 private:
  const UnjoinedTrace& unjoined_;
  std::vector<uint32_t> lowest_;  // correlation of the calls of each capture
};

// join_api.cpp: calls in order; then their parents, their ranges and their classes.
void OrderApiCalls(UnjoinedTrace& unjoined, std::size_t cores);
CorrelationIndex NestApiCalls(UnjoinedTrace& unjoined, std::size_t cores);

// join_ops.cpp: GPU operations in order, with their calls.
void OrderOps(UnjoinedTrace& unjoined, std::size_t cores);
struct LinkedOps {
  uint64_t with_call = 0;
  // Calls that launch something and have an operation, on one core. Some may be missing, none is there that is not one.
  uint64_t launches = 0;
  // By process, empty for none: what ran in bodies of conditional nodes has no call, and calls that launched a graph
  // may have no operation therefore.
  std::vector<uint8_t> has_loose_bodies;
};
LinkedOps LinkOps(UnjoinedTrace& unjoined, const CorrelationIndex& calls, std::size_t cores);
// join_bodies.cpp: operations in the bodies of conditional nodes.
void LinkBodies(Trace& trace, LinkedOps* linked);
void LinkOthers(UnjoinedTrace& unjoined, const CorrelationIndex& calls);

// join_launches.cpp. After the nodes of graphs are known: a launch that made one has no operation of its own.
void CountUnmatchedLaunches(UnjoinedTrace& unjoined, const LinkedOps& linked, std::size_t cores);
// By traits of calls: whether such a call launches something that should run.
std::vector<uint8_t> AreLaunches(const UnjoinedTrace& unjoined);

// join_nvtx.cpp: ranges from their ends, and what payloads say.
void PairRanges(UnjoinedTrace& unjoined, std::size_t cores);
void SortMarks(UnjoinedTrace& unjoined);
void DecodePayloads(UnjoinedTrace& unjoined);

// join_serving.cpp: what payloads say of the requests of a serving engine.
void ReadServingPayloads(UnjoinedTrace& unjoined);

// join_graphs.cpp: the code that made the node which an operation is a replay of.
void LinkGraphNodes(Trace& trace);

}  // namespace gprof
