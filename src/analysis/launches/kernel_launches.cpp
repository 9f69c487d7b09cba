#include "analysis/launches/kernel_launches.h"

#include <limits>
#include <utility>

namespace gprof {
namespace {

struct First {
  int64_t start_ns = std::numeric_limits<int64_t>::max();
  uint32_t call = kNone;
  void See(int64_t call_start_ns, uint32_t index) {
    if (call_start_ns < start_ns) start_ns = call_start_ns, call = index;
  }
};

class Collector {
 public:
  KernelSamples calls, queued, times;
  std::vector<First> firsts;  // by process and group, the last one is of no process

  Collector(const Trace& trace, const OpFacts& ops, const KernelGroups& kernels)
      : calls(kernels),
        queued(kernels),
        times(kernels),
        firsts(trace.processes.size() * kernels.size() + 1),
        trace_(trace),
        ops_(ops),
        groups_(kernels.of_facts().data()) {
    for (uint32_t i = 0; i < trace.ops.FactsCount(); ++i) {
      const uint32_t process = trace.ops.FactsAt(i).process, group = groups_[i];
      const bool has_place = process != kNone && group != kNone;
      first_of_facts_.push_back(has_place ? &firsts[process * kernels.size() + group] : &firsts.back());
    }
  }

  void Run() {
    const PackedOps::Item* const items = trace_.ops.items().data();
    for (const PackedOps::Item *op = items, *end = items + trace_.ops.size(); op != end; ++op) {
      op = AddPlain(op, end);
      if (op == end) break;
      AddAny(static_cast<uint32_t>(op - items), *op);
    }
  }

 private:
  // What operations in a row that share their facts add to; it stays out of memory.
  struct Sink {
    uint32_t *calls, *queued, *times;
    First first;
  };

  // Nearly all of them: they and the call were short, and it launched nothing else. Returns the first for which that is
  // not so.
  const PackedOps::Item* AddPlain(const PackedOps::Item* op, const PackedOps::Item* end) {
    const KernelSamples::Ends to_calls = calls.ends(), to_queued = queued.ends(), to_times = times.ends();
    const bool are_short = to_calls.samples != nullptr && to_queued.samples != nullptr && to_times.samples != nullptr;
    if (!are_short || ops_.HasInnerCalls()) return op;
    while (op != end) {
      const uint32_t group = groups_[op->facts];
      if (group == kNone) {
        ++op;
        continue;
      }
      Sink sink{to_calls.At(group), to_queued.At(group), to_times.At(group), *first_of_facts_[op->facts]};
      const PackedOps::Item* const after = AddRun(op, end, &sink);
      to_calls.SetEnd(group, sink.calls);
      to_queued.SetEnd(group, sink.queued);
      to_times.SetEnd(group, sink.times);
      *first_of_facts_[op->facts] = sink.first;
      if (after != end && after->facts == op->facts) return after;
      op = after;
    }
    return op;
  }

  // Those from the first one on that are plain. Returns the one after them.
  const PackedOps::Item* AddRun(const PackedOps::Item* op, const PackedOps::Item* end, Sink* to) const {
    const PackedCalls::Item* const api_calls = trace_.api_calls.items().data();
    Sink sink = *to;
    for (const uint32_t facts = op->facts; op != end && op->facts == facts; ++op) {
      PrefetchForReading(op);
      if (op->duration_high != 0) break;
      *sink.times = op->duration;  // is there once the end goes past it
      if (!op->HasCall()) {
        ++sink.times;
        continue;
      }
      const PackedCalls::Item& call = api_calls[op->Call()];
      PrefetchForReading(&call);
      if (call.parent != 0 || call.duration_high != 0) break;  // one comparison
      if (call.op_count != 1) break;
      const int64_t call_start_ns = call.start_ns(), queue_ns = op->start_ns() - call_start_ns - call.duration;
      if (static_cast<uint64_t>(queue_ns) - 1 < UINT32_MAX) {  // more than 0
        *sink.queued++ = static_cast<uint32_t>(queue_ns);
      } else if (queue_ns > 0) {
        break;
      }
      *sink.calls++ = call.duration;
      ++sink.times;
      sink.first.See(call_start_ns, op->Call());
    }
    *to = sink;
    return op;
  }

  void AddAny(uint32_t index, const PackedOps::Item& op) {
    const uint32_t call = ops_.CallOf(index, op), group = groups_[op.facts];
    if (group == kNone) return;
    const int64_t start_ns = op.start_ns();
    times.Add(group, trace_.ops.EndNs(op) - start_ns);
    if (call == kNone) return;
    const PackedCalls::Item& item = trace_.api_calls.items()[call];
    const int64_t call_start_ns = item.start_ns(), call_end_ns = trace_.api_calls.EndNs(item);
    if (start_ns > call_end_ns) queued.Add(group, start_ns - call_end_ns);
    if (counted_.empty()) counted_.resize(trace_.api_calls.size(), false);
    if (counted_[call]) return;
    counted_[call] = true;
    if (call_end_ns >= call_start_ns) calls.Add(group, call_end_ns - call_start_ns);
    first_of_facts_[op.facts]->See(call_start_ns, call);
  }

  const Trace& trace_;
  const OpFacts& ops_;
  const uint32_t* groups_;
  std::vector<First*> first_of_facts_;
  std::vector<bool> counted_;  // calls, but for those that launched one operation
};

}  // namespace

KernelLaunches::KernelLaunches(const Trace& trace, const OpFacts& ops, const KernelGroups& kernels)
    : groups_(kernels.size()) {
  Collector collector(trace, ops, kernels);
  collector.Run();
  for (size_t i = 0; i + 1 < collector.firsts.size(); ++i) first_calls_.push_back(collector.firsts[i].call);
  for (uint32_t group = 0; group < kernels.size(); ++group) {
    calls_.push_back(collector.calls.Of(group).Summary(Spread::kNotAsked));
    queued_.push_back(collector.queued.Of(group).Summary(Spread::kNotAsked));
    times_.push_back(collector.times.Of(group).Summary());
  }
}

}  // namespace gprof
