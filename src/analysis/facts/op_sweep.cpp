#include "analysis/facts/op_sweep.h"

#include <algorithm>
#include <atomic>

#include "analysis/calls/call_kinds.h"
#include "analysis/copies/copies_alone.h"
#include "analysis/trust/recorded_time.h"
#include "base/parallel.h"
#include "base/saturate.h"

namespace gprof {
namespace {

constexpr uint32_t kWord = 64;
constexpr size_t kMostPieces = 16;  // and those that more devices make

bool IsTransfer(OpKind kind) { return kind == OpKind::kMemcpy || kind == OpKind::kPeerCopy || kind == OpKind::kMemset; }

bool IsOfGraph(const PackedOps::Facts& facts) {
  return facts.kind == OpKind::kGraph || facts.graph != 0 || facts.graph_node != 0 || facts.node != kNone;
}

int64_t WindowStart(const Trace& trace, uint32_t device) {
  if (!trace.device_windows.empty()) return trace.device_windows[device].time.start_ns;
  const Trace::Slice ops = trace.device_ops[device];
  return ops.first != ops.last ? trace.ops[ops.first].start_ns : 0;
}

DeviceSweep Prepare(Trace::Slice ops, int64_t start_ns, bool has_waits) {
  const size_t words = (ops.last - ops.first + kWord - 1) / kWord;
  DeviceSweep device{ops, start_ns, {}, {}, std::vector<uint64_t>(words), std::vector<uint64_t>(words), {}};
  device.end.ended_ns = start_ns;
  if (has_waits) device.waits.resize(words);
  return device;
}

}  // namespace

OpSweep::Sums::Sums(const Trace& trace, const Holdups& holdups) : alike(trace.ops.FactsCount()) {
  for (uint32_t i = 0; i < alike.size(); ++i) {
    const PackedOps::Facts& facts = trace.ops.FactsAt(i);
    alike[i].is_kernel = IsKernelLike(facts.kind);
    alike[i].is_transfer = IsTransfer(facts.kind);
    alike[i].is_of_graph = IsOfGraph(facts);
    alike[i].may = holdups.of_ops[i];
    alike[i].is_listed = alike[i].is_transfer || alike[i].is_of_graph || alike[i].may.may_wait;
  }
}

OpSweep::OpSweep(const Trace& trace, const Holdups& holdups, size_t threads)
    : launched_before_ns(trace.ops.size()),
      idle_ns(trace.ops.size()),
      has_op(trace.api_calls.size(), 0),
      trace_(trace),
      holdups_(holdups) {
  for (uint32_t i = 0; i < trace.device_ops.size(); ++i) {
    devices.push_back(Prepare(trace.device_ops[i], WindowStart(trace, i), holdups.has_waits));
  }
  // Where nearly every operation has facts of its own, or devices are many, sums of each piece would take more room
  // than they save time.
  constexpr size_t kOpsToSums = 4;
  const size_t most_sums = (kMostPieces - 1 + devices.size()) * trace.ops.FactsCount();
  const bool is_parallel = threads > 1 && trace.ops.size() / kOpsToSums >= most_sums;
  std::vector<Piece> pieces = Pieces(is_parallel);
  sums.resize(is_parallel ? pieces.size() : 1, Sums(trace, holdups));
  ForEachSideBySide(pieces.size(), is_parallel ? threads : 1,
                    [&](size_t i) { GoOver(&pieces[i], &sums[is_parallel ? i : 0]); });
  for (auto first = pieces.begin(); first != pieces.end();) {
    const auto last =
        std::find_if(first, pieces.end(), [&](const Piece& piece) { return piece.device != first->device; });
    if (first->device != nullptr) Mend({first, last}, first->device);
    first = last;
  }
  const bool is_whole = IsRecordedWhole(trace);
  for (uint32_t i = 0; i < devices.size(); ++i) {
    AddBusyBeforeWindow(&devices[i]);
    if (!is_whole || !HasWindow(trace, i)) MarkAll(&devices[i]);
  }
}

std::vector<OpSweep::Piece> OpSweep::Pieces(bool is_parallel) {
  constexpr size_t kOpsOfAPiece = 16'384;
  const size_t count = trace_.ops.size();
  const size_t most_ops = is_parallel ? std::max(kOpsOfAPiece, count / kMostPieces) : std::max<size_t>(count, 1);
  std::vector<Piece> pieces;
  uint32_t first = 0;
  for (DeviceSweep& device : devices) {
    AddPieces(nullptr, {first, device.ops.first}, most_ops, &pieces);
    AddPieces(&device, device.ops, most_ops, &pieces);
    first = std::max(first, device.ops.last);
  }
  AddPieces(nullptr, {first, static_cast<uint32_t>(count)}, most_ops, &pieces);
  return pieces;
}

void OpSweep::AddPieces(DeviceSweep* device, Trace::Slice ops, size_t most_ops, std::vector<Piece>* pieces) const {
  if (ops.first >= ops.last) return;
  const uint64_t length = ops.last - ops.first, count = std::max<uint64_t>(length / most_ops, 1);
  for (uint64_t i = 0; i < count; ++i) {
    const auto begin = [&](uint64_t piece) {  // no two pieces write to the same word
      return piece == count ? ops.last : ops.first + static_cast<uint32_t>(length * piece / count / kWord * kWord);
    };
    Piece piece{device, {begin(i), begin(i + 1)}, {}, {}, {}};
    const bool is_at_start = i == 0 && device != nullptr;
    piece.begin.ended_ns = is_at_start ? device->start_ns : trace_.ops[piece.ops.first].start_ns;
    piece.begin.kernels = BusyTime(0, piece.begin.ended_ns);
    pieces->push_back(piece);
  }
}

OpSweep::Call OpSweep::OutermostOf(uint32_t api) const {
  const uint32_t outermost = OutermostCall(trace_, api);
  const PackedCalls::Item& call = trace_.api_calls.items()[outermost];
  return {call.start_ns(), trace_.api_calls.EndNs(call), outermost, call.facts};
}

// What is known stays out of memory in the loop as far as there are registers for it. About whose end is the next to be
// largest nothing can be foreseen, so that it has no branches but for what is rare, and for whether there is a gap.
void OpSweep::GoOver(Piece* piece, Sums* of_piece) {
  const PackedOps& ops = trace_.ops;
  const PackedOps::Item* const items = ops.items().data();
  const PackedCalls::Item* const calls = trace_.api_calls.items().data();
  DeviceSweep unused;
  if (piece->device == nullptr) unused = Prepare(piece->ops, 0, holdups_.has_waits);
  DeviceSweep& device = piece->device == nullptr ? unused : *piece->device;
  size_t word = (piece->ops.first - device.ops.first) / kWord;
  uint32_t *before_of = launched_before_ns.data() + piece->ops.first, *idle_of = idle_ns.data() + piece->ops.first;
  uint8_t* const has_op_of = has_op.data();
  Alike* const alike_of = of_piece->alike.data();
  struct OfCall {
    int64_t launched_ns;
    Holdups::OfCall may;
  };
  std::vector<OfCall> of_calls;  // by the facts of calls
  for (const Holdups::OfCall& may : holdups_.of_calls) of_calls.push_back({0, may});
  OfCall* const of_call = of_calls.data();
  PlainGaps plain(trace_, holdups_);
  CopiesAlone copies;
  int64_t ended_ns = piece->begin.ended_ns, idle_sum_ns = 0;
  bool has_negative = false, was_launch = false;
  const PackedOps::Item *item = items + piece->ops.first, *const end = items + piece->ops.last;
  for (; item != end; ++word) {
    uint64_t others = 0, waits = 0, launches = was_launch ? ~uint64_t{0} : 0;
    const PackedOps::Item *const word_begin = item, *const word_end = item + std::min<ptrdiff_t>(kWord, end - item);
    const auto bit = [&] { return uint64_t{1} << (item - word_begin); };
    for (; item != word_end; ++item, ++before_of, ++idle_of) {
      PrefetchForReading(item);
      const int64_t start_ns = item->start_ns();
      int64_t time_ns = item->duration;
      if (item->duration_high != 0) [[unlikely]] {
        time_ns = ops.EndNs(*item) - start_ns;
        has_negative |= time_ns < 0;
      }
      const int64_t end_ns = start_ns + time_ns;
      Alike& alike = alike_of[item->facts];
      ++alike.count;
      AddWrapping(&alike.time_ns, time_ns);
      if (start_ns < alike.start_ns) [[unlikely]] {
        alike.start_ns = start_ns, alike.first = static_cast<uint32_t>(item - items);
      }
      if (end_ns > alike.end_ns) alike.end_ns = end_ns;
      int64_t share_ns = time_ns;
      if (time_ns < 1) [[unlikely]]
        share_ns = 1, alike.without_time += 1 - time_ns;
      Call call{0, 0, kNone, 0};
      if (!item->HasCall()) [[unlikely]] {
        *before_of = 0;
      } else {
        const PackedCalls::Item& inner = calls[item->Call()];
        PrefetchForReading(&inner);
        call = {inner.start_ns(), inner.start_ns() + inner.duration, item->Call(), inner.facts};
        if (inner.parent != 0 || inner.duration_high != 0) [[unlikely]] {
          call = OutermostOf(item->Call());
          of_piece->has_inner_calls |= call.index != item->Call();
        }
        // That of a graph has operations in many pieces.
        std::atomic_ref(has_op_of[call.index]).store(1, std::memory_order_relaxed);
        const uint64_t before_ns = static_cast<uint64_t>(start_ns - call.start_ns);
        *before_of = static_cast<uint32_t>(before_ns);
        if (before_ns >= kFar) [[unlikely]]
          *before_of = kFar;
        AddWrapping(&of_call[call.facts].launched_ns, share_ns);
      }
      if (!alike.is_kernel) [[unlikely]] {
        copies.AddCopy(start_ns, end_ns, ended_ns);
      } else if (copies.IsBeforeEnd(start_ns)) [[unlikely]] {
        copies.AddKernel(start_ns, end_ns, ended_ns);
      }
      if (start_ns > ended_ns) {
        const int64_t gap_ns = start_ns - ended_ns;
        idle_sum_ns += gap_ns;
        *idle_of = static_cast<uint32_t>(gap_ns);
        auto shape = PlainGaps::Shape::kOther;
        if (gap_ns >= kLong) [[unlikely]] {
          *idle_of = kLong;
          piece->long_idle_ns.emplace_back(static_cast<uint32_t>(item - items), gap_ns);
        } else if (call.index != kNone) [[likely]] {
          shape = plain.ShapeOf(ended_ns, start_ns, call.start_ns, call.end_ns, of_call[call.facts].may, alike.may);
        }
        if (shape == PlainGaps::Shape::kOther) [[unlikely]] {
          others |= bit();
        } else if ((shape == PlainGaps::Shape::kLaunch) != was_launch) [[unlikely]] {
          launches ^= ~(bit() - 1);  // from here on
          was_launch = !was_launch;
        }
      } else {
        *idle_of = 0;
      }
      ended_ns = end_ns > ended_ns ? end_ns : ended_ns;
      if (!alike.is_listed) continue;
      if (alike.is_transfer) of_piece->transfers.push_back(static_cast<uint32_t>(item - items));
      if (alike.is_of_graph) of_piece->graph_ops.push_back(static_cast<uint32_t>(item - items));
      waits |= alike.may.may_wait ? bit() : 0;
    }
    device.launches[word] = launches;
    device.others[word] = others;
    if (!device.waits.empty()) device.waits[word] = waits;
  }
  const int64_t busy_ns = ended_ns - piece->begin.ended_ns - idle_sum_ns;
  piece->end = {ended_ns, FirstToEnd(*piece, ended_ns), busy_ns,
                BusyTime(busy_ns - copies.time_ns(), copies.KernelsEnded(ended_ns))};
  if (has_negative) CountBusy(piece);
  const uint32_t on = piece->device == nullptr ? kNone : static_cast<uint32_t>(piece->device - devices.data());
  for (uint32_t i = 0; i < of_calls.size(); ++i) {
    if (of_calls[i].launched_ns != 0) of_piece->launched.push_back({i, on, of_calls[i].launched_ns});
  }
}

// The first of the operations of a piece that ended at that time, when all had. The first of all where that was over
// before any of them ended.
uint32_t OpSweep::FirstToEnd(const Piece& piece, int64_t ended_ns) const {
  uint32_t first = piece.ops.first;
  if (ended_ns == piece.begin.ended_ns) return first;
  for (uint32_t op = piece.ops.last; op > piece.ops.first;) {
    --op;
    if (trace_.ops.EndNs(trace_.ops.items()[op]) == ended_ns) first = op;
    if (idle_ns[op] != 0) break;  // what ran before it had ended
  }
  return first;
}

// What a damaged trace says ended before it started is idle and not busy.
void OpSweep::CountBusy(Piece* piece) const {
  DeviceSweep::State state = piece->begin;
  int64_t gap_ns = 0;
  for (uint32_t op = piece->ops.first; op < piece->ops.last; ++op) Step(op, &state, &gap_ns);
  piece->end = state;
}

// What GoOver() does to the state.
void OpSweep::Step(uint32_t op, DeviceSweep::State* state, int64_t* gap_ns) const {
  const PackedOps::Item& item = trace_.ops.items()[op];
  const int64_t start_ns = item.start_ns(), end_ns = trace_.ops.EndNs(item);
  *gap_ns = std::max<int64_t>(start_ns - state->ended_ns, 0);
  state->busy_ns += std::max<int64_t>(end_ns - std::max(start_ns, state->ended_ns), 0);
  if (state->last_ended == kNone || end_ns > state->ended_ns) state->last_ended = op;
  state->ended_ns = std::max(state->ended_ns, end_ns);
  if (IsKernelLike(trace_.ops.FactsOf(item).kind)) state->kernels.Add(start_ns, end_ns);
}

// Writes anew what GoOver() has written of the gap before the operation.
void OpSweep::SetGap(uint32_t op, int64_t gap_ns, PlainGaps* plain, DeviceSweep* device) {
  const PackedOps::Item& item = trace_.ops.items()[op];
  const size_t word = (op - device->ops.first) / kWord;
  const uint64_t bit = uint64_t{1} << (op - device->ops.first) % kWord;
  device->others[word] &= ~bit;
  idle_ns[op] = static_cast<uint32_t>(std::min<int64_t>(gap_ns, kLong));
  if (gap_ns >= kLong) device->long_idle_ns.emplace_back(op, gap_ns);
  if (gap_ns == 0) return;
  PlainGaps::Shape shape = PlainGaps::Shape::kOther;
  if (item.HasCall() && gap_ns < kLong) {
    const Call call = OutermostOf(item.Call());
    const int64_t end_ns = item.start_ns();
    shape = plain->ShapeOf(end_ns - gap_ns, end_ns, call.start_ns, call.end_ns, holdups_.of_calls[call.facts],
                           holdups_.of_ops[item.facts]);
  }
  if (shape == PlainGaps::Shape::kOther) device->others[word] |= bit;
  device->launches[word] =
      shape == PlainGaps::Shape::kLaunch ? device->launches[word] | bit : device->launches[word] & ~bit;
}

// Pieces are gone over side by side as if nothing had run before them. What did changes the first operations of a
// piece, until one of them ends after all that; those are looked at again.
void OpSweep::Mend(std::span<const Piece> pieces, DeviceSweep* device) {
  DeviceSweep::State& state = device->end;
  state = pieces.front().end;
  device->long_idle_ns = pieces.front().long_idle_ns;
  PlainGaps plain(trace_, holdups_);
  for (const Piece& piece : pieces.subspan(1)) {
    DeviceSweep::State alone = piece.begin;
    uint32_t op = piece.ops.first;
    for (; op < piece.ops.last && (op == piece.ops.first || !state.IsAt(alone)); ++op) {
      int64_t gap_ns = 0;
      Step(op, &alone, &gap_ns);
      Step(op, &state, &gap_ns);
      SetGap(op, gap_ns, &plain, device);
    }
    for (const auto& entry : piece.long_idle_ns) {
      if (entry.first >= op) device->long_idle_ns.push_back(entry);
    }
    if (op == piece.ops.last) continue;
    // Both are at the same time now: what the rest of the piece brought is the same.
    state.busy_ns += piece.end.busy_ns - alone.busy_ns;
    state.kernels = BusyTime(state.kernels.busy_ns() + piece.end.kernels.busy_ns() - alone.kernels.busy_ns(),
                             piece.end.kernels.end_ns());
    if (piece.end.last_ended != alone.last_ended) state.last_ended = piece.end.last_ended;
    state.ended_ns = piece.end.ended_ns;
  }
}

// Operations that began before the selected time are busy from their start on, although nothing was idle before it.
void OpSweep::AddBusyBeforeWindow(DeviceSweep* device) const {
  struct Both {
    BusyTime any, kernels;
  };
  Both from_start, from_window{BusyTime(0, device->start_ns), BusyTime(0, device->start_ns)};
  for (uint32_t i = device->ops.first; i < device->ops.last && trace_.ops[i].start_ns < device->start_ns; ++i) {
    const GpuOp op = trace_.ops[i];
    for (Both* both : {&from_start, &from_window}) {
      both->any.Add(op.start_ns, op.end_ns);
      if (IsKernelLike(op.kind)) both->kernels.Add(op.start_ns, op.end_ns);
    }
  }
  DeviceSweep::State& end = device->end;
  end.busy_ns += from_start.any.busy_ns() - from_window.any.busy_ns();
  end.kernels = BusyTime(end.kernels.busy_ns() + from_start.kernels.busy_ns() - from_window.kernels.busy_ns(),
                         end.kernels.end_ns());
}

// No gap is told by bits.
void OpSweep::MarkAll(DeviceSweep* device) const {
  std::fill(device->others.begin(), device->others.end(), 0);
  for (uint32_t i = 0; i < device->ops.last - device->ops.first; ++i) {
    device->others[i / kWord] |= uint64_t{idle_ns[device->ops.first + i] != 0} << i % kWord;
  }
}

}  // namespace gprof
