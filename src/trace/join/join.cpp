#include "trace/join/join.h"

#include <algorithm>
#include <cstddef>

#include "base/machine/parallel.h"
#include "trace/load/order.h"
#include "trace/model/saturating_time.h"

namespace gprof {
namespace {

// A capture that ended in order is whole, whatever becomes of its program: unless another one began after it.
void SettleEnd(const UnjoinedTrace& unjoined, std::size_t process, Process* p) {
  const Trace::Slice captures = unjoined.trace.process_captures[process];
  const int64_t stop_ns = unjoined.stop_times_ns[process];
  if (captures.first == captures.last || stop_ns == 0) return;
  const Capture& last = unjoined.trace.captures[captures.last - 1];
  if (last.is_open || last.end_ns > stop_ns) {
    p->has_end = p->has_end && p->end_reason != trace::EndReason::kStopped;
    return;
  }
  if (!p->has_end || p->IsSalvaged()) p->end_reason = trace::EndReason::kStopped;
  p->has_end = true;
  p->gpu_complete_until_ns = 0;
}

void CountProcesses(UnjoinedTrace& unjoined) {
  Trace& t = unjoined.trace;
  t.health.gpu_pauses = t.gpu_pauses.size();
  for (std::size_t i = 0; i < t.processes.size(); ++i) {
    Process& p = t.processes[i];
    SettleEnd(unjoined, i, &p);
    t.health.unfinished_processes += p.has_end ? 0 : 1;
    t.health.salvaged_processes += p.IsSalvaged() ? 1 : 0;
    t.health.unfinished_gpu_work += p.has_end && p.gpu_complete_until_ns != 0 ? 1 : 0;
  }
}

}  // namespace

void NumberThings(UnjoinedTrace& unjoined) {
  JoinKept(unjoined);
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
  ReadServingPayloads(unjoined);
  SortListsByTime(t);
  CountProcesses(unjoined);
  t.strings = unjoined.names.Take();
  return std::move(unjoined.trace);
}

}  // namespace gprof
