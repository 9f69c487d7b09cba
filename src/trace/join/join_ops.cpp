#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>
#include <vector>

#include "gprof/prefetch.h"
#include "trace/join/join.h"
#include "trace/load/list_slices.h"
#include "trace/load/order.h"

namespace gprof {
namespace {

// What linking a piece of the operations found.
struct LinkedPiece {
  uint64_t with_call = 0, without_call = 0, from_before = 0, early = 0, launches = 0;
  int64_t worst_early_ns = 0;
  std::vector<std::pair<uint32_t, uint32_t>>
      counts;  // calls, and operations that they have to be counted one at a time
};

// Links operations, and counts them at their calls, while others do so with other pieces.
class OpLinker {
 public:
  // are_launches: see AreLaunches.
  OpLinker(UnjoinedTrace& unjoined, const CorrelationIndex& index, const LaunchesBefore& before,
           const std::vector<uint8_t>& are_launches)
      : ops_(unjoined.trace.ops),
        calls_(unjoined.trace.api_calls),
        index_(index),
        before_(before),
        are_launches_(are_launches.data()),
        is_one_process_(unjoined.trace.processes.size() == 1) {}

  LinkedPiece Run(Trace::Slice slice) {
    const PackedOps::Items& ops = ops_.items();
    for (uint32_t first = slice.first; first < slice.last;) {
      const uint32_t process = ops_.TraitsOf(ops[first]).process;
      uint32_t last = is_one_process_ ? slice.last : first + 1;
      while (last < slice.last && ops_.TraitsOf(ops[last]).process == process) ++last;
      RunOfProcess(process, {first, last});
      first = last;
    }
    piece_.with_call = slice.last - slice.first - piece_.from_before - piece_.without_call;
    return std::move(piece_);
  }

 private:
  // What is asked of every operation stays in registers, as far as there are some: what few need is looked up by them.
  [[gnu::noinline]] void RunOfProcess(uint32_t process, Trace::Slice slice) {
    const CorrelationIndex::Dense dense = index_.DenseOf(process);
    const uint32_t *const dense_calls = dense.calls.data(), first_id = dense.first;
    const std::size_t ids = dense.calls.size();
    PackedCalls::Item* const calls = calls_.items().data();
    const uint8_t* const are_launches = are_launches_;
    uint64_t launches = 0;
    PackedOps::Item *op = ops_.items().data() + slice.first, *const last = op + (slice.last - slice.first);
    for (; op != last; ++op) {
      PrefetchForWriting(op);
      const uint32_t at = op->Correlation() - first_id;
      const uint32_t index = at < ids ? dense_calls[at] : FindRare(*op);
      if (index == kNone) [[unlikely]] {
        NoteWithoutCall(*op);
        continue;
      }
      op->SetCall(index);
      PackedCalls::Item& call = calls[index];
      if (!HasCounted(call, are_launches, &launches)) [[unlikely]]
        CountLater(index);
      if (call.start_ns() > op->start_ns()) [[unlikely]]
        NoteEarly(call.start_ns() - op->start_ns());
    }
    piece_.launches += launches;
  }

  [[gnu::noinline]] uint32_t FindRare(const PackedOps::Item& op) const {
    return index_.Find(ops_.TraitsOf(op).process, op.Correlation());
  }
  [[gnu::noinline]] void NoteWithoutCall(PackedOps::Item& op) {
    op.is_from_before = before_.Has(ops_.TraitsOf(op).process, op.Correlation(), op.start_ns()) ? 1 : 0;
    ++(op.is_from_before != 0 ? piece_.from_before : piece_.without_call);
  }

  // A load and a store as any other, as in CorrelationIndex. Operations of one call that are in two pieces may be
  // counted at the same time, and one of them is not counted then; CountUnmatchedLaunches finds out.
  static bool HasCounted(PackedCalls::Item& call, const uint8_t* are_launches, uint64_t* launches) {
    const std::atomic_ref<uint8_t> op_count(call.op_count);
    const uint8_t count = op_count.load(std::memory_order_relaxed);
    if (call.duration_high == packed_detail::kLong || count == std::numeric_limits<uint8_t>::max()) return false;
    if (count == 0) *launches += are_launches[call.traits];
    op_count.store(static_cast<uint8_t>(count + 1), std::memory_order_relaxed);
    return true;
  }
  [[gnu::noinline]] void CountLater(uint32_t index) {
    if (piece_.counts.empty() || piece_.counts.back().first != index) piece_.counts.emplace_back(index, 0);
    ++piece_.counts.back().second;
  }

  [[gnu::noinline]] void NoteEarly(int64_t early_ns) {
    ++piece_.early;
    piece_.worst_early_ns = std::max(piece_.worst_early_ns, early_ns);
  }

  PackedOps& ops_;
  PackedCalls& calls_;
  const CorrelationIndex& index_;
  const LaunchesBefore& before_;
  const uint8_t* const are_launches_;
  const bool is_one_process_;  // saves a look at traits that are spread over the cache
  LinkedPiece piece_;
};

}  // namespace

void OrderOps(UnjoinedTrace& unjoined, std::size_t cores) {
  SortOps(unjoined.trace.ops, unjoined.trace.device_ops, unjoined.op_runs, cores);
}

LinkedOps LinkOps(UnjoinedTrace& unjoined, const CorrelationIndex& calls, std::size_t cores) {
  Trace& t = unjoined.trace;
  const std::vector<uint8_t> are_launches = AreLaunches(unjoined);
  const LaunchesBefore before(unjoined);
  std::vector<LinkedPiece> pieces(PieceCount(t.ops.size()));
  ForEachPiece(t.ops.size(), cores, [&](Trace::Slice slice) {
    pieces[slice.first / kPieceItems] = OpLinker(unjoined, calls, before, are_launches).Run(slice);
  });
  LinkedOps linked;
  for (const LinkedPiece& piece : pieces) {
    linked.with_call += piece.with_call;
    linked.launches += cores == 1 ? piece.launches : 0;
    t.health.unmatched_ops += piece.without_call;
    t.health.ops_from_before += piece.from_before;
    t.health.early_ops += piece.early;
    t.health.worst_early_ns = std::max(t.health.worst_early_ns, piece.worst_early_ns);
    for (auto [call, count] : piece.counts) {
      for (; count > 0; --count) t.api_calls.CountOp(call);
    }
  }
  t.health.unmatched_ops -= unjoined.launched_by_device;  // those have no call, and are among the unmatched
  return linked;
}

void LinkOthers(UnjoinedTrace& unjoined, const CorrelationIndex& calls) {
  const auto link = [&](auto& records) {
    for (auto& r : records) r.api = r.process == kNone ? kNone : calls.Find(r.process, r.api);
  };
  link(unjoined.trace.syncs);
  link(unjoined.trace.memory_events);
  link(unjoined.trace.memory_pools);
  link(unjoined.trace.event_records);
  link(unjoined.trace.in_progress);
}

}  // namespace gprof
