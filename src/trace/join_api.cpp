#include <algorithm>
#include <limits>

#include "trace/api_class.h"
#include "trace/joins.h"
#include "trace/order.h"
#include "trace/prefetch.h"
#include "trace/range_cursor.h"

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

// What is known of a name, worked out once.
struct FunctionFacts {
  bool is_free = false, is_allocation = false;
  ApiClass api_class = ApiClass::kOther;
};

FunctionFacts FactsOf(std::string_view function) {
  FunctionFacts facts;
  const std::string_view name = WithoutVersion(function);
  facts.api_class = ClassifyApi(name);
  facts.is_free = name == "cudaFree";
  facts.is_allocation = facts.api_class == ApiClass::kMemory && name.find("lloc") != std::string_view::npos;
  return facts;
}

// The passes over all calls are few and do much each: at millions of calls memory is what they wait for.
class CallPass {
 public:
  explicit CallPass(Draft& draft)
      : draft_(draft),
        calls_(draft.trace.api_calls),
        first_allocation_(draft.trace.processes.size(), std::numeric_limits<int64_t>::max()),
        index_(draft.correlations) {
    Classify();
  }

  void RunThread(uint32_t thread) {
    const Trace::Slice slice = draft_.trace.thread_api_calls[thread];
    const uint32_t process = draft_.trace.threads[thread].process;
    RangeCursor ranges(draft_.trace, thread);
    PackedCalls::Item* const items = calls_.items().data();
    open_.clear();
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      PackedCalls::Item& item = items[i];
      PrefetchAfter(&item);
      const OpenCall call{i, item.start_ns(), calls_.EndNs(item), calls_.FactsOf(item).domain};
      while (!open_.empty() && !open_.back().Encloses(call)) open_.pop_back();
      if (!open_.empty()) calls_.SetParent(i, open_.back().index);
      open_.push_back(call);
      item.range = ranges.At(call.start_ns);
      index_.Add(calls_, process, i);
      Look(i, call.start_ns);
    }
  }

  // There is nothing to free before the first allocation: that is the cudaFree(0) which programs make the context with.
  void ClassifyFrees() {
    for (const uint32_t i : frees_) {
      const ApiCall call = calls_[i];
      if (call.start_ns >= first_allocation_[call.process]) continue;
      calls_.Change(i, [](ApiCall& c) { c.api_class = ApiClass::kLoad; });
    }
  }

  CorrelationIndex TakeIndex() { return std::move(index_); }

 private:
  void Classify() {
    calls_.ChangeFacts([&](PackedCalls::Facts& f) {
      functions_.push_back(FactsOf(draft_.names.Text(f.function)));
      f.api_class = functions_.back().api_class;
    });
  }

  void Look(uint32_t i, int64_t start_ns) {
    const FunctionFacts& f = functions_[calls_.FactsIndex(i)];
    if (f.is_free) frees_.push_back(i);
    if (!f.is_allocation) return;
    int64_t& first_ns = first_allocation_[calls_.FactsAt(calls_.FactsIndex(i)).process];
    first_ns = std::min(first_ns, start_ns);
  }

  Draft& draft_;
  PackedCalls& calls_;
  std::vector<FunctionFacts> functions_;   // by facts of the calls
  std::vector<int64_t> first_allocation_;  // by process
  std::vector<OpenCall> open_;
  std::vector<uint32_t> frees_;
  CorrelationIndex index_;
};

// A call may be unfinished because its capture ended: the thread went on after that.
void FinishCalls(Trace& t) {
  bool has_unfinished = false;
  for (uint32_t i = 0; i < t.api_calls.FactsCount(); ++i) {
    has_unfinished = has_unfinished || t.api_calls.FactsAt(i).is_unfinished != 0;
  }
  if (!has_unfinished) return;
  for (uint32_t i = 0; i < t.api_calls.size(); ++i) {
    const ApiCall c = t.api_calls[i];
    if (!c.is_unfinished) continue;
    t.api_calls.SetTimes(i, c.start_ns, std::max(c.end_ns, EndOfRecording(t, c.process, c.start_ns)));
  }
}

}  // namespace

CorrelationIndex OrderApiCalls(Draft& draft) {
  Trace& t = draft.trace;
  FinishCalls(t);
  PackedCalls::Items& items = t.api_calls.items();
  if (t.thread_api_calls.empty()) {
    t.thread_api_calls = GroupBy(items, t.threads.size(),
                                 [&](const PackedCalls::Item& c) { return t.api_calls.FactsOf(c).thread; });
  }
  CallPass pass(draft);
  for (uint32_t thread = 0; thread < t.threads.size(); ++thread) {
    SortSlice(items, t.thread_api_calls[thread], draft.call_runs, CallComesBefore(t.api_calls));
    pass.RunThread(thread);
  }
  pass.ClassifyFrees();
  return pass.TakeIndex();
}

CorrelationIndex::CorrelationIndex(const std::vector<CorrelationExtent>& extents) : tables_(extents.size()) {
  for (std::size_t p = 0; p < tables_.size(); ++p) {
    const CorrelationExtent& e = extents[p];
    const uint64_t width = e.count == 0 ? 0 : uint64_t{e.high} - e.low + 1;
    tables_[p].first = e.low;
    if (width > 0 && width <= 16 * uint64_t{e.count} + 1024) tables_[p].dense.assign(width, kNone);
  }
}

}  // namespace gprof
