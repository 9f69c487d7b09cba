#include "trace/join/join.h"

#include <algorithm>
#include <cstddef>

#include "base/machine/parallel.h"
#include "trace/load/order.h"
#include "trace/model/saturating_time.h"

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
  for (const Process& p : t.processes) {
    t.health.unfinished_processes += p.has_end ? 0 : 1;
    t.health.salvaged_processes += p.IsSalvaged() ? 1 : 0;
    t.health.unfinished_gpu_work += p.has_end && p.gpu_complete_until_ns != 0 ? 1 : 0;
  }
}

}  // namespace

void NumberThings(UnjoinedTrace& unjoined) {
  JoinHost(unjoined);
  JoinMetrics(unjoined);
  JoinCounters(unjoined);
  JoinWorkRates(unjoined);
  JoinCalibrations(unjoined);
  ResolveLateNames(unjoined);
  ResolveLateShapes(unjoined);
  ResolveLateStreams(unjoined);
  NumberDevices(unjoined);
  FinishStreams(unjoined);
  NameThreads(unjoined);
}

Trace JoinTrace(UnjoinedTrace unjoined) {
  Trace& t = unjoined.trace;
  PairCaptures(unjoined);
  constexpr std::size_t kWorthAThread = 100'000;  // operations, calls and NVTX events
  const bool is_large = t.ops.size() + t.api_calls.size() + unjoined.nvtx_events.size() >= kWorthAThread;
  const std::size_t cores = is_large ? UsableCores() : 1;
  // They touch nothing in common.
  ForEachSideBySide(2, cores, [&](std::size_t half) {
    if (half == 1) return PairRanges(unjoined, cores);
    OrderOps(unjoined, cores);
    OrderApiCalls(unjoined, cores);
  });
  const LinkedOps linked = [&] {
    const CorrelationIndex calls = NestApiCalls(unjoined, cores);
    LinkOthers(unjoined, calls);
    LinkedOps result = LinkOps(unjoined, calls, cores);
    LinkBodies(t, &result);
    return result;
  }();
  LinkGraphNodes(t);
  CountUnmatchedLaunches(unjoined, linked, cores);
  SortMarks(unjoined);
  DecodePayloads(unjoined);
  SortByStart(t.syncs);
  SortByStart(t.overheads);
  SortByStart(t.jits);
  SortByTime(t.memory_events);
  SortByTime(t.memory_pools);
  SortByTime(t.event_records);
  SortByStart(t.managed_memory);
  CountProcesses(t);
  t.strings = unjoined.names.Take();
  return std::move(unjoined.trace);
}

}  // namespace gprof
