#include "analysis/idle/interruptions.h"

#include <algorithm>
#include <utility>

#include "analysis/trust/overhead_kinds.h"

namespace gprof {
namespace {

// +1 where an interruption of one of the two sorts begins, -1 where it ends.
struct Edge {
  int64_t time_ns = 0;
  int profiler = 0, load = 0;
};

std::vector<Interruption> Flatten(std::vector<Edge> edges) {
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.time_ns < b.time_ns; });
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

// They come in order of their start.
void Append(const ManagedMemory& m, std::vector<Interval>* moves) {
  if (!moves->empty() && m.start_ns <= moves->back().end_ns) {
    moves->back().end_ns = std::max(moves->back().end_ns, m.end_ns);
  } else if (m.start_ns < m.end_ns) {
    moves->push_back({m.start_ns, m.end_ns});
  }
}

void AddEdges(std::vector<Edge>* edges, int64_t start_ns, int64_t end_ns, Cause cause) {
  const int profiler = cause == Cause::kProfiler, load = cause == Cause::kLoad;
  edges->push_back({start_ns, profiler, load});
  edges->push_back({end_ns, -profiler, -load});
}

}  // namespace

Holdups::Holdups(const Trace& trace) : interruptions(trace.threads.size()), migrations(trace.device_ops.size()) {
  FindInterruptions(trace);
  for (const ManagedMemory& m : trace.managed_memory) {
    if (!IsMigration(m.kind)) continue;
    if (m.source != kNone) Append(m, &migrations[m.source]);
    if (m.destination != kNone) Append(m, &migrations[m.destination]);
  }
  AddFacts(trace);
}

void Holdups::FindInterruptions(const Trace& trace) {
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
  for (size_t i = 0; i < edges.size(); ++i) interruptions[i] = Flatten(std::move(edges[i]));
}

void Holdups::AddFacts(const Trace& trace) {
  std::vector<uint8_t> waits(trace.streams.size(), 0);
  for (const Sync& sync : trace.syncs) {
    if (sync.kind != trace::SyncKind::kStreamWaitEvent || sync.stream == kNone) continue;
    waits[sync.stream] = 1;
    has_waits = true;
  }
  for (uint32_t i = 0; i < trace.ops.FactsCount(); ++i) {
    const PackedOps::Facts& facts = trace.ops.FactsAt(i);
    GpuOp op;
    op.kind = facts.kind;
    op.source_memory = facts.source_memory, op.destination_memory = facts.destination_memory;
    const bool may_wait = facts.stream != kNone && waits[facts.stream] != 0;
    const bool may_move = facts.device < migrations.size() && !migrations[facts.device].empty();
    of_ops.push_back({op.IsPageable(), may_wait, !may_wait && !may_move});
  }
  for (uint32_t i = 0; i < trace.api_calls.FactsCount(); ++i) {
    const PackedCalls::Facts& facts = trace.api_calls.FactsAt(i);
    of_calls.push_back({facts.thread, facts.process == kNone ? INT64_MIN : trace.processes[facts.process].start_ns});
  }
}

bool PlainGaps::IsInterrupted(uint32_t thread, int64_t from_ns, int64_t to_ns) {
  const std::vector<Interruption>& list = holdups_.interruptions[thread];
  Quiet& quiet = quiet_[thread];
  while (quiet.interruption < list.size() && list[quiet.interruption].end_ns <= from_ns) ++quiet.interruption;
  quiet.until_ns = quiet.interruption < list.size() ? list[quiet.interruption].start_ns : INT64_MAX;
  return to_ns > quiet.until_ns;
}

}  // namespace gprof
