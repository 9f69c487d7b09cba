// The joins, each in the file of its name. NumberThings and JoinTrace call them in this order: later ones use what earlier ones made.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/draft.h"

namespace gprof {

// joins.cpp
// What the joins need before operations and calls are there: names, devices and streams have their numbers after this.
void NumberThings(Draft& draft);
Trace JoinTrace(Draft draft);

// join_names.cpp: names and shapes that were defined after their use.
void ResolveLateNames(Draft& draft);
void ResolveLateShapes(Draft& draft);

// join_devices.cpp: devices of all processes become one list; streams and threads get their names.
void NumberDevices(Draft& draft);
void ResolveLateStreams(Draft& draft);
void FinishStreams(Draft& draft);
void NameThreads(Draft& draft);

// Finds the call that a correlation id stands for: of a runtime and a driver call with the same id the runtime call.
class CorrelationIndex {
 public:
  explicit CorrelationIndex(const std::vector<CorrelationExtent>& extents);
  void Add(const PackedCalls& calls, uint32_t process, uint32_t call) {
    const uint32_t correlation = calls.Correlation(call);
    if (correlation == 0) return;
    Table& t = tables_[process];
    uint32_t& entry = t.dense.empty() ? t.sparse(0, correlation) : t.dense[correlation - t.first];
    if (entry == kNone || IsOuter(calls, call, entry)) entry = call;
  }
  uint32_t Find(uint32_t process, uint32_t correlation) const {
    const Table& t = tables_[process];
    if (correlation == 0) return kNone;
    if (t.dense.empty()) return t.sparse.Find(0, correlation);
    const uint32_t at = correlation - t.first;  // below `first` wraps around to far outside
    return at < t.dense.size() ? t.dense[at] : kNone;
  }

 private:
  struct Table {
    uint32_t first = 0;
    std::vector<uint32_t> dense;  // call by correlation - first
    FlatIndex sparse;             // where ids are too far apart for a table
  };
  static bool IsOuter(const PackedCalls& calls, uint32_t call, uint32_t other) {
    return calls.FactsAt(calls.FactsIndex(call)).domain < calls.FactsAt(calls.FactsIndex(other)).domain;
  }
  std::vector<Table> tables_;  // by process
};

// join_captures.cpp: when each process was recorded.
void PairCaptures(Draft& draft);
// The capture that holds `time_ns`, else the next one, else the last one; kNone for a process without captures.
uint32_t CaptureAt(const Trace& trace, uint32_t process, int64_t time_ns);

// Until when it was recorded what began at `time_ns`: the end of its capture, or of its process.
int64_t EndOfRecording(const Trace& trace, uint32_t process, int64_t time_ns);
// The process went on when the capture of `time_ns` had ended.
bool GoesOnAfterCapture(const Trace& trace, uint32_t process, int64_t time_ns);

// Knows an operation that was launched before the capture that it ran in: correlation ids count up, so its id is lower
// than that of any call of the capture.
class LaunchesBefore {
 public:
  explicit LaunchesBefore(const Draft& draft);
  bool Has(uint32_t process, uint32_t correlation, int64_t start_ns) const;

 private:
  const Draft& draft_;
  std::vector<uint32_t> lowest_;  // correlation of the calls of each capture
};

// join_api.cpp: calls in order, their parents, their ranges and their classes.
CorrelationIndex OrderApiCalls(Draft& draft);

// join_ops.cpp: GPU operations in order, with their calls.
void OrderOps(Draft& draft);
void LinkOps(Draft& draft, const CorrelationIndex& calls);
void LinkOthers(Draft& draft, const CorrelationIndex& calls);
// After the nodes of graphs are known: a launch that made one has no operation of its own.
void CountUnmatchedLaunches(Draft& draft);

// join_nvtx.cpp: ranges from their ends, and what payloads say.
void PairRanges(Draft& draft);
void SortMarks(Draft& draft);
void DecodePayloads(Draft& draft);

// join_graphs.cpp: the code that made the node which an operation is a replay of.
void LinkGraphNodes(Trace& trace);

}  // namespace gprof
