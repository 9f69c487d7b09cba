#include "trace/joins.h"

#include <algorithm>

#include "trace/order.h"
#include "trace/saturate.h"

namespace gprof {
namespace {

template <class T>
void SortByStart(std::vector<T>& v) {
  SortNearlySorted(v.begin(), v.end(), [](const T& a, const T& b) { return a.start_ns < b.start_ns; });
}

template <class T>
void SortByTime(std::vector<T>& v) {
  SortNearlySorted(v.begin(), v.end(), [](const T& a, const T& b) { return a.time_ns < b.time_ns; });
}

void CountProcesses(Trace& t) {
  for (const Process& p : t.processes) t.health.unfinished_processes += p.has_end ? 0 : 1;
}

}  // namespace

Trace JoinTrace(Draft draft) {
  Trace& t = draft.trace;
  ResolveLateNames(draft);
  ResolveLateShapes(draft);
  ResolveLateStreams(draft);
  NumberDevices(draft);
  FinishStreams(draft);
  NameThreads(draft);
  {
    const CorrelationIndex calls = OrderApiCalls(draft);
    OrderOps(draft);
    LinkSyncsAndMemory(draft, calls);
    CountUnmatchedLaunches(draft, LinkOps(draft, calls));
  }
  PairRanges(draft);
  LinkCallsToRanges(t);
  SortByTime(t.marks);
  SortByStart(t.syncs);
  SortByStart(t.overheads);
  SortByStart(t.jits);
  SortByTime(t.memory_events);
  CountProcesses(t);
  t.strings = draft.names.Take();
  return std::move(draft.trace);
}

}  // namespace gprof
