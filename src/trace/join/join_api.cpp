#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "gprof/prefetch.h"
#include "trace/join/join.h"
#include "trace/load/list_slices.h"
#include "trace/load/order.h"
#include "trace/load/range_cursor.h"
#include "trace/model/api_class.h"

namespace gprof {
namespace {

// A call that may have made others.
struct OpenCall {
  uint32_t index;
  int64_t start_ns, end_ns;
  trace::ApiDomain domain;

  // It does not come after `inner`.
  bool Encloses(const OpenCall& inner) const {
    if (end_ns < inner.end_ns) return false;
    // Calls that only touch are neighbours, unless both took no time at all and are a driver call in a runtime call.
    return inner.start_ns < end_ns || (inner.start_ns == start_ns && domain < inner.domain);
  }
};

// Who asks for the outermost call of each operation goes from parent to parent. Programs nest calls a few deep; where a
// damaged trace does it without end, the parent of a call is the innermost of so many.
constexpr std::size_t kMostAround = 256;

// The calls around the one that is looked at, the innermost at the end.
class OpenCalls {
 public:
  // Leaves those that do not hold `call`.
  void Leave(const OpenCall& call) {
    while (!calls_.empty() && !calls_.back().Encloses(call)) calls_.pop_back();
  }
  void Enter(const OpenCall& call) { calls_.push_back(call); }
  void Enter(const OpenCalls& inner) { calls_.insert(calls_.end(), inner.calls_.begin(), inner.calls_.end()); }
  void Clear() { calls_.clear(); }
  bool empty() const { return calls_.empty(); }
  uint32_t parent() const { return calls_[std::min(calls_.size(), kMostAround) - 1].index; }

 private:
  std::vector<OpenCall> calls_;
};

// What is known of a name, worked out once.
struct KnownFunction {
  bool is_free = false, is_allocation = false, is_capture = false;
  ApiClass api_class = ApiClass::kOther;
  trace::ApiDomain domain{};

  // Most calls are none of these.
  bool IsNoted() const { return is_free || is_allocation || is_capture; }
};

KnownFunction KnownOf(std::string_view function) {
  KnownFunction known;
  const std::string_view name = WithoutVersion(function);
  known.api_class = ClassifyApi(name);
  known.is_free = name == "cudaFree";
  known.is_capture = StreamCaptureOf(name) != StreamCapture::kNeither;
  known.is_allocation = known.api_class == ApiClass::kMemory && name.find("lloc") != std::string_view::npos;
  return known;
}

std::vector<KnownFunction> Classify(UnjoinedTrace& unjoined) {
  std::vector<KnownFunction> functions;
  unjoined.trace.api_calls.ChangeTraits([&](PackedCalls::Traits& f) {
    functions.push_back(KnownOf(unjoined.names.Text(f.function)));
    functions.back().domain = f.domain;
    f.api_class = functions.back().api_class;
  });
  return functions;
}

// Calls of a thread that are neighbours, and what a pass over them found.
struct CallPiece {
  uint32_t thread = 0;
  Trace::Slice calls;
  OpenCalls open;                                      // at its end, of those that began in it
  std::vector<std::pair<uint32_t, uint32_t>> parents;  // of calls that have to have theirs set one at a time
  std::vector<uint32_t> frees, captures;               // calls that begin or end the capture of a stream
  int64_t first_allocation_ns = std::numeric_limits<int64_t>::max();
  CorrelationIndex::Added added;
};

// Where no call is open, as far as those shortly before tell. It may be wrong: JoinPieces looks at all of them.
uint32_t FindCut(PackedCalls& calls, uint32_t from, uint32_t last) {
  constexpr uint32_t kBefore = 64, kMost = 1024;
  const PackedCalls::Items& items = calls.items();
  int64_t end_ns = 0;
  for (uint32_t i = from - std::min(kBefore, kPieceItems); i < from; ++i)
    end_ns = std::max(end_ns, calls.EndNs(items[i]));
  for (uint32_t i = from; i < last && i < from + kMost; ++i) {
    const int64_t start_ns = items[i].start_ns();
    if (start_ns >= end_ns && start_ns > items[i - 1].start_ns()) return i;
    end_ns = std::max(end_ns, calls.EndNs(items[i]));
  }
  return from;
}

std::vector<CallPiece> CutCalls(Trace& t) {
  std::vector<CallPiece> pieces;
  for (uint32_t thread = 0; thread < t.threads.size(); ++thread) {
    Trace::Slice rest = t.thread_api_calls[thread];
    while (rest.first < rest.last) {
      CallPiece& piece = pieces.emplace_back();
      const bool is_last = rest.last - rest.first < 2 * kPieceItems;
      const uint32_t end = is_last ? rest.last : FindCut(t.api_calls, rest.first + kPieceItems, rest.last);
      piece.thread = thread;
      piece.calls = {std::exchange(rest.first, end), end};
    }
  }
  return pieces;
}

bool MayHaveCutRanges(const Trace& t, uint32_t process) {
  const Trace::Slice captures = t.process_captures[process];
  if (captures.first == captures.last) return false;
  return captures.last - captures.first > 1 || GoesOnAfterCapture(t, process, t.captures[captures.first].start_ns);
}

// The passes over all calls are few and do much each: at millions of calls memory is what they wait for.
class CallPass {
 public:
  CallPass(UnjoinedTrace& unjoined, const std::vector<KnownFunction>& functions, CorrelationIndex& index)
      : trace_(unjoined.trace), calls_(unjoined.trace.api_calls), functions_(functions), index_(index) {
    for (const KnownFunction& f : functions) are_noted_.push_back(f.IsNoted() ? 1 : 0);
  }

  // What changes with every call is kept here until the piece is done: its neighbours are in the same line of the
  // cache.
  void Run(CallPiece* piece) {
    MoveTo(*piece);
    OpenCalls open;  // but for the call before
    // A call that does not end later has to be looked at: never where one of those is open.
    int64_t end_before_ns = std::numeric_limits<int64_t>::min();
    RangeCursor& ranges = *ranges_;
    const Trace::Slice slice = piece->calls;
    CorrelationIndex::PieceAdder adder(index_, calls_, trace_.threads[piece->thread].process, slice);
    PackedCalls::Item* item = calls_.items().data() + slice.first;
    const uint8_t* const are_noted = are_noted_.data();
    for (uint32_t i = slice.first; i < slice.last; ++i, ++item) {
      PrefetchForWriting(item);
      const int64_t start_ns = item->start_ns(), end_ns = calls_.EndNs(*item);
      const bool is_after = end_ns > end_before_ns;  // as a rule it follows the one before
      end_before_ns = end_ns;
      if (!is_after && Nest(i, &open, piece)) end_before_ns = std::numeric_limits<int64_t>::max();
      item->range = ranges.At(start_ns);
      adder.Add(i, item->correlation);
      if (are_noted[item->traits] != 0) [[unlikely]]
        Note(i, piece);
    }
    if (slice.first < slice.last) open.Enter(CallAt(slice.last - 1));
    piece->added = adder.added();
    piece->open = std::move(open);
    at_ = piece->calls.last;
  }

 private:
  // Ranges go on where the piece follows the one before.
  void MoveTo(const CallPiece& piece) {
    const bool is_next = ranges_.has_value() && at_ == piece.calls.first;
    if (!ranges_.has_value() || thread_ != piece.thread) ranges_.emplace(trace_, piece.thread);
    thread_ = piece.thread;
    if (is_next || MayHaveCutRanges(trace_, trace_.threads[thread_].process)) return;
    ranges_->Jump(calls_.items()[piece.calls.first].start_ns());
  }

  OpenCall CallAt(uint32_t i) const {
    const PackedCalls::Item& item = calls_.items()[i];
    return {i, item.start_ns(), calls_.EndNs(item), functions_[item.traits].domain};
  }

  // `open` are those around the call before; then those around this one. Whether there are any.
  [[gnu::noinline]] bool Nest(uint32_t i, OpenCalls* open, CallPiece* piece) {
    const OpenCall call = CallAt(i);
    if (i != piece->calls.first && CallAt(i - 1).Encloses(call)) {
      open->Enter(CallAt(i - 1));
    } else {
      open->Leave(call);
    }
    if (!open->empty()) SetParent(i, open->parent(), piece);
    return !open->empty();
  }

  [[gnu::noinline]] void Note(uint32_t i, CallPiece* piece) const {
    const PackedCalls::Item& item = calls_.items()[i];
    const KnownFunction& function = functions_[item.traits];
    if (function.is_free) piece->frees.push_back(i);
    if (function.is_capture) piece->captures.push_back(i);
    if (function.is_allocation) piece->first_allocation_ns = std::min(piece->first_allocation_ns, item.start_ns());
  }

  void SetParent(uint32_t call, uint32_t parent, CallPiece* piece) {
    const bool is_rare = calls_.items()[call].duration_high == packed_detail::kLong ||
                         call - parent > std::numeric_limits<uint16_t>::max();
    if (is_rare) return piece->parents.emplace_back(call, parent), void();  // changes a list that all pieces share
    calls_.SetParent(call, parent);
  }

  Trace& trace_;
  PackedCalls& calls_;
  const std::vector<KnownFunction>& functions_;  // by traits of the calls
  std::vector<uint8_t> are_noted_;               // the same: what is asked of every call
  CorrelationIndex& index_;
  std::optional<RangeCursor> ranges_;
  uint32_t thread_ = 0, at_ = 0;  // where ranges_ is
};

// Parents that lie in another piece than their calls.
void JoinPieces(Trace& t, const std::vector<KnownFunction>& functions, const std::vector<CallPiece>& pieces) {
  PackedCalls& calls = t.api_calls;
  OpenCalls open;
  uint32_t thread = kNone;
  for (const CallPiece& piece : pieces) {
    if (std::exchange(thread, piece.thread) != piece.thread) open.Clear();
    for (const auto& [call, parent] : piece.parents) calls.SetParent(call, parent);
    for (uint32_t i = piece.calls.first; i < piece.calls.last && !open.empty(); ++i) {
      if (calls.Parent(i) != kNone) continue;
      const PackedCalls::Item& item = calls.items()[i];
      open.Leave({i, item.start_ns(), calls.EndNs(item), functions[item.traits].domain});
      if (!open.empty()) calls.SetParent(i, open.parent());
    }
    open.Enter(piece.open);
  }
}

// There is nothing to free before the first allocation: that is the cudaFree(0) which programs make the context with.
void ClassifyFrees(Trace& t, const std::vector<CallPiece>& pieces) {
  std::vector<int64_t> first_allocation_ns(t.processes.size(), std::numeric_limits<int64_t>::max());  // by process
  for (const CallPiece& piece : pieces) {
    int64_t& first_ns = first_allocation_ns[t.threads[piece.thread].process];
    first_ns = std::min(first_ns, piece.first_allocation_ns);
  }
  for (const CallPiece& piece : pieces) {
    for (const uint32_t i : piece.frees) {
      const ApiCall call = t.api_calls[i];
      if (call.start_ns >= first_allocation_ns[call.process]) continue;
      t.api_calls.Change(i, [](ApiCall& c) { c.api_class = ApiClass::kLoad; });
    }
  }
}

// A call may be unfinished because its capture ended: the thread went on after that.
void FinishCalls(Trace& t) {
  bool has_unfinished = false;
  for (uint32_t i = 0; i < t.api_calls.TraitsCount(); ++i) {
    has_unfinished = has_unfinished || t.api_calls.TraitsAt(i).is_unfinished != 0;
  }
  if (!has_unfinished) return;
  for (uint32_t i = 0; i < t.api_calls.size(); ++i) {
    const ApiCall c = t.api_calls[i];
    if (!c.is_unfinished) continue;
    t.api_calls.SetTimes(i, c.start_ns, std::max(c.end_ns, EndOfRecording(t, c.process, c.start_ns)));
  }
}

}  // namespace

void OrderApiCalls(UnjoinedTrace& unjoined, std::size_t cores) {
  Trace& t = unjoined.trace;
  FinishCalls(t);
  for (const Trace::Slice slice : t.thread_api_calls) {
    SortSlice(t.api_calls.items(), slice, unjoined.call_runs, CallComesBefore(t.api_calls), cores);
  }
}

CorrelationIndex NestApiCalls(UnjoinedTrace& unjoined, std::size_t cores) {
  Trace& t = unjoined.trace;
  const std::vector<KnownFunction> functions = Classify(unjoined);
  CorrelationIndex index(unjoined.correlations, cores);
  std::vector<CallPiece> pieces = CutCalls(t);
  ShareOut(pieces.size(), cores, [&](const auto& take) {
    CallPass pass(unjoined, functions, index);
    for (std::size_t i = take(); i < pieces.size(); i = take()) pass.Run(&pieces[i]);
  });
  CorrelationIndex::Added added;
  for (const CallPiece& piece : pieces) {
    added += piece.added;
    unjoined.capture_calls.insert(unjoined.capture_calls.end(), piece.captures.begin(), piece.captures.end());
  }
  index.Settle(t, added, cores);
  JoinPieces(t, functions, pieces);
  ClassifyFrees(t, pieces);
  return index;
}

}  // namespace gprof
