#include "analysis/op_facts.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "analysis/calls.h"
#include "base/parallel.h"

namespace gprof {
namespace {

Interval Nothing() { return {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}; }

void Widen(Interval* interval, const Interval& by) {
  interval->start_ns = std::min(interval->start_ns, by.start_ns);
  interval->end_ns = std::max(interval->end_ns, by.end_ns);
}

bool IsTransfer(OpKind kind) {
  return kind == OpKind::kMemcpy || kind == OpKind::kPeerCopy || kind == OpKind::kMemset;
}

bool IsOfGraph(const PackedOps::Facts& facts) {
  return facts.kind == OpKind::kGraph || facts.graph != 0 || facts.graph_node != 0 || facts.node != kNone;
}

}  // namespace

// GPU time by owner and device, in one array, as owners and devices are few. What has no owner or no device is kept as well,
// so that nobody has to ask.
class OpFacts::Shares {
 public:
  Shares(size_t owners, size_t devices) : owners_(owners), devices_(devices), shares_ns_((owners + 1) * (devices + 1)) {}

  // The place of both is the sum of these.
  size_t RowOf(uint32_t owner) const { return std::min<size_t>(owner, owners_) * (devices_ + 1); }
  size_t ColumnOf(uint32_t device) const { return std::min<size_t>(device, devices_); }
  int64_t& operator[](size_t place) { return shares_ns_[place]; }

  void Add(const Shares& other) {
    for (size_t i = 0; i < shares_ns_.size(); ++i) shares_ns_[i] += other.shares_ns_[i];
  }

  uint32_t LargestOf(uint32_t owner) const {
    const auto begin = shares_ns_.begin() + static_cast<std::ptrdiff_t>(RowOf(owner));
    const auto at = std::max_element(begin, begin + static_cast<std::ptrdiff_t>(devices_));
    return devices_ == 0 || *at == 0 ? kNone : static_cast<uint32_t>(at - begin);
  }

 private:
  size_t owners_, devices_;
  std::vector<int64_t> shares_ns_;
};

// What some operations in a row add up to.
struct OpFacts::Piece {
  // Of the operations with the same facts, and what these facts say.
  struct Alike {
    int64_t time_ns = 0, share_ns = 0;
    int64_t start_ns = Nothing().start_ns, end_ns = Nothing().end_ns;
    uint32_t count = 0, first = kNone;
    uint32_t column = 0;  // of the shares
    bool is_transfer = false, is_of_graph = false, is_listed = false;  // one of both
  };

  explicit Piece(const Trace& trace)
      : alike(trace.ops.FactsCount()), of_threads(trace.threads.size(), trace.device_ops.size()) {
    for (uint32_t i = 0; i < alike.size(); ++i) {
      const PackedOps::Facts& facts = trace.ops.FactsAt(i);
      alike[i].column = static_cast<uint32_t>(of_threads.ColumnOf(facts.device));
      alike[i].is_transfer = IsTransfer(facts.kind);
      alike[i].is_of_graph = IsOfGraph(facts);
      alike[i].is_listed = alike[i].is_transfer || alike[i].is_of_graph;
    }
  }

  std::vector<Alike> alike;
  Shares of_threads;
  std::vector<uint32_t> transfers, graph_ops;
  bool has_inner_calls = false;
};

OpFacts::OpFacts(const Trace& trace, size_t threads)
    : trace_(trace),
      launched_before_ns_(trace.ops.size()),
      has_op_(trace.api_calls.size(), 0),
      sums_(trace.ops.FactsCount(), {0, 0, 0, Nothing(), kNone}),
      kernels_of_name_(trace.strings.size(), 0),
      counts_of_streams_(trace.streams.size(), 0),
      of_process_(trace.processes.size() + 1, {Nothing(), kNone}),
      window_(Nothing()),
      devices_of_threads_(trace.threads.size(), kNone) {
  const size_t devices = trace.device_ops.size(), count = trace.ops.size();
  Shares of_threads(trace.threads.size(), devices), of_processes(trace.processes.size(), devices);
  // Where nearly every operation has facts of its own, sums of each piece would take more room than they save time.
  constexpr size_t kOpsOfAPiece = 65'536, kMostPieces = 16, kOpsToFacts = 64;
  const bool is_worth = threads > 1 && count / kOpsToFacts >= sums_.size();
  std::vector<Piece> pieces(is_worth ? std::clamp<size_t>(count / kOpsOfAPiece, 1, kMostPieces) : 1, Piece(trace));
  ForEachSideBySide(pieces.size(), threads, [&](size_t i) {
    const auto begin = [&](size_t piece) { return static_cast<uint32_t>(count * piece / pieces.size()); };
    ReadOps(begin(i), begin(i + 1), &pieces[i]);
  });
  bool has_inner_calls = false;
  for (Piece& piece : pieces) Take(&piece, &of_threads), has_inner_calls |= piece.has_inner_calls;
  if (has_inner_calls) FindOutermostCalls();
  AddUp(&of_processes);
  ChooseDevices(of_threads, of_processes);
}

// Returns how long before its start the operation was launched, or kFar.
inline uint32_t OpFacts::FindLaunch(int64_t start_ns, uint32_t api, const PackedCalls::Item& call,
                                    bool* has_inner_calls) {
  int64_t launch_ns = call.start_ns();
  uint32_t outermost = api;
  if (call.MayHaveParent()) {
    outermost = OutermostCall(trace_, api);
    launch_ns = trace_.api_calls[outermost].start_ns;
    *has_inner_calls |= outermost != api;
  }
  std::atomic_ref(has_op_[outermost]).store(1, std::memory_order_relaxed);  // that of a graph has operations in many pieces
  return static_cast<uint32_t>(std::min<uint64_t>(static_cast<uint64_t>(start_ns - launch_ns), kFar));
}

void OpFacts::ReadOps(uint32_t first, uint32_t last, Piece* piece) {
  const PackedOps& ops = trace_.ops;
  const PackedOps::Item* const items = ops.items().data();
  const PackedCalls::Item* const calls = trace_.api_calls.items().data();
  Piece::Alike* const alike_of = piece->alike.data();
  std::vector<uint32_t> rows;  // of the shares, by the facts of calls
  for (uint32_t i = 0; i < trace_.api_calls.FactsCount(); ++i) {
    rows.push_back(static_cast<uint32_t>(piece->of_threads.RowOf(trace_.api_calls.FactsAt(i).thread)));
  }
  uint32_t* launched_before_ns = launched_before_ns_.data() + first;
  for (const PackedOps::Item *item = items + first, *end = items + last; item != end; ++item) {
    PrefetchForReading(item);
    const int64_t start_ns = item->start_ns(), end_ns = ops.EndNs(*item), time_ns = end_ns - start_ns;
    const int64_t share_ns = std::max<int64_t>(time_ns, 1);
    Piece::Alike& alike = alike_of[item->facts];
    if (alike.count++ == 0 || start_ns < alike.start_ns) {
      alike.start_ns = start_ns, alike.first = static_cast<uint32_t>(item - items);
    }
    alike.time_ns += time_ns;
    alike.share_ns += share_ns;
    alike.end_ns = std::max(alike.end_ns, end_ns);
    uint32_t before_ns = 0;
    if (const uint32_t api = item->api; api != kNone) {
      const PackedCalls::Item& call = calls[api];
      PrefetchForReading(&call);
      before_ns = FindLaunch(start_ns, api, call, &piece->has_inner_calls);
      piece->of_threads[rows[call.facts] + alike.column] += share_ns;
    }
    *launched_before_ns++ = before_ns;
    if (!alike.is_listed) continue;
    if (alike.is_transfer) piece->transfers.push_back(static_cast<uint32_t>(item - items));
    if (alike.is_of_graph) piece->graph_ops.push_back(static_cast<uint32_t>(item - items));
  }
}

void OpFacts::Take(Piece* piece, Shares* of_threads) {
  for (size_t i = 0; i < sums_.size(); ++i) {
    Sum& sum = sums_[i];
    const Piece::Alike& more = piece->alike[i];
    if (more.count == 0) continue;
    if (sum.count == 0 || more.start_ns < sum.window.start_ns) sum.first = more.first;
    sum.count += more.count;
    sum.time_ns += more.time_ns;
    sum.share_ns += more.share_ns;
    Widen(&sum.window, {more.start_ns, more.end_ns});
  }
  of_threads->Add(piece->of_threads);
  transfers_.insert(transfers_.end(), piece->transfers.begin(), piece->transfers.end());
  graph_ops_.insert(graph_ops_.end(), piece->graph_ops.begin(), piece->graph_ops.end());
  piece->transfers = {}, piece->graph_ops = {};
}

void OpFacts::FindOutermostCalls() {
  calls_.resize(trace_.ops.size());
  for (uint32_t i = 0; i < trace_.ops.size(); ++i) calls_[i] = OutermostCall(trace_, trace_.ops[i].api);
}

void OpFacts::AddUp(Shares* of_processes) {
  for (uint32_t i = 0; i < sums_.size(); ++i) {
    const Sum& sum = sums_[i];
    if (sum.count == 0) continue;
    const PackedOps::Facts& facts = trace_.ops.FactsAt(i);
    counts_[static_cast<size_t>(facts.kind)] += sum.count;
    if (facts.kind == OpKind::kKernel) kernels_of_name_[facts.name.value] += sum.count;
    if (facts.stream != kNone) counts_of_streams_[facts.stream] += static_cast<uint32_t>(sum.count);
    (*of_processes)[of_processes->RowOf(facts.process) + of_processes->ColumnOf(facts.device)] += sum.share_ns;
    Widen(&window_, sum.window);
    OfProcess& of_process = of_process_[Slot(facts.process)];
    const auto is_first = [&] {
      if (of_process.first == kNone || sum.window.start_ns != of_process.window.start_ns) {
        return of_process.first == kNone || sum.window.start_ns < of_process.window.start_ns;
      }
      return sum.first < of_process.first;
    };
    if (is_first()) of_process.first = sum.first;
    Widen(&of_process.window, sum.window);
  }
}

void OpFacts::ChooseDevices(const Shares& of_threads, const Shares& of_processes) {
  for (uint32_t thread = 0; thread < devices_of_threads_.size(); ++thread) {
    uint32_t& device = devices_of_threads_[thread];
    device = of_threads.LargestOf(thread);
    const uint32_t process = trace_.threads[thread].process;
    if (device == kNone && process != kNone) device = of_processes.LargestOf(process);
  }
}

}  // namespace gprof
