#include "analysis/facts/host/host_facts.h"

#include <algorithm>
#include <utility>

#include "analysis/facts/calls/call_kinds.h"
#include "analysis/facts/recording/overhead_kinds.h"

namespace gprof {
namespace {

// +1 where an interruption of one of the two sorts begins, -1 where it ends.
struct Edge {
  int64_t time_ns = 0;
  int profiler = 0, load = 0;
};

std::vector<Interruption> Flatten(std::vector<Edge> edges) {
  std::ranges::sort(edges, {}, &Edge::time_ns);
  std::vector<Interruption> result;
  int profiler = 0, load = 0;
  for (size_t i = 0; i < edges.size(); ++i) {
    profiler += edges[i].profiler;
    load += edges[i].load;
    if (i + 1 == edges.size() || (profiler == 0 && load == 0)) continue;
    const Interruption piece{edges[i].time_ns, edges[i + 1].time_ns, profiler > 0 ? Cause::kProfiler : Cause::kLoad};
    if (piece.start_ns < piece.end_ns) result.push_back(piece);
  }
  return result;
}

bool IsMigration(trace::ManagedKind kind) {
  using trace::ManagedKind;
  return kind == ManagedKind::kHostToDevice || kind == ManagedKind::kDeviceToHost ||
         kind == ManagedKind::kDeviceToDevice;
}

// The host touches memory that is not there, and the driver brings it, page after page. The transfers are the smaller
// part of that: from one such fault to the next the host does little else.
constexpr int64_t kBetweenFaultsNs = 200'000;

// They come in order of their start.
void Append(const ManagedMemory& m, std::vector<Interval>* moves) {
  if (m.start_ns >= m.end_ns) return;
  const int64_t reach_ns = m.kind == trace::ManagedKind::kDeviceToHost ? kBetweenFaultsNs : 0;
  if (!moves->empty() && m.start_ns - reach_ns <= moves->back().end_ns) {
    moves->back().end_ns = std::max(moves->back().end_ns, m.end_ns);
  } else {
    moves->push_back({m.start_ns, m.end_ns});
  }
}

void AddEdges(std::vector<Edge>* edges, int64_t start_ns, int64_t end_ns, Cause cause) {
  const int profiler = cause == Cause::kProfiler, load = cause == Cause::kLoad;
  edges->push_back({start_ns, profiler, load});
  edges->push_back({end_ns, -profiler, -load});
}

std::vector<std::vector<Interruption>> InterruptionsOfThreads(const Trace& trace) {
  std::vector<std::vector<Edge>> edges(trace.threads.size());
  for (const Overhead& overhead : trace.overheads) {
    // Where the thread is not known it is CUPTI's own as a rule, which holds up nobody.
    if (overhead.thread == kNone || overhead.kind == kOverheadCommandBufferFull) continue;
    AddEdges(&edges[overhead.thread], overhead.start_ns, overhead.end_ns,
             IsLoading(overhead.kind) ? Cause::kLoad : Cause::kProfiler);
  }
  for (const Jit& jit : trace.jits) {
    if (jit.thread != kNone) AddEdges(&edges[jit.thread], jit.start_ns, jit.end_ns, Cause::kLoad);
  }
  std::vector<std::vector<Interruption>> interruptions;
  for (std::vector<Edge>& of_thread : edges) interruptions.push_back(Flatten(std::move(of_thread)));
  return interruptions;
}

std::vector<std::vector<Interval>> MigrationsOfDevices(const Trace& trace) {
  std::vector<std::vector<Interval>> migrations(trace.device_ops.size());
  for (const ManagedMemory& m : trace.managed_memory) {
    if (!IsMigration(m.kind)) continue;
    if (m.source != kNone) Append(m, &migrations[m.source]);
    if (m.destination != kNone) Append(m, &migrations[m.destination]);
  }
  return migrations;
}

}  // namespace

HostFacts::HostFacts(const Trace& trace, const OpFacts& ops, const CallFacts& calls, const StreamOps& stream_ops)
    : blocking_copies(BlockingCopies(trace, ops, calls)),
      calls_after_reset(CallsAfterReset(trace, calls)),
      event_waits(trace, ops, stream_ops),
      waits(trace),
      interruptions(InterruptionsOfThreads(trace)),
      migrations(MigrationsOfDevices(trace)) {}

}  // namespace gprof
