#include <algorithm>
#include <limits>

#include "trace/api_class.h"
#include "trace/joins.h"
#include "trace/order.h"

namespace gprof {
namespace {

// Outer calls before the calls that they made. Their records come the other way round: a record is written at return.
struct ComesBefore {
  bool operator()(const ApiCall& a, const ApiCall& b) const {
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
    return a.domain < b.domain;
  }
};

// `outer` does not come after `inner`.
bool Encloses(const ApiCall& outer, const ApiCall& inner) {
  if (outer.end_ns < inner.end_ns) return false;
  // Calls that only touch are neighbours, unless both took no time at all and are a driver call in a runtime call.
  return inner.start_ns < outer.end_ns || (inner.start_ns == outer.start_ns && outer.domain < inner.domain);
}

// What is known of a name, worked out once.
struct FunctionFacts {
  bool is_known = false, is_free = false, is_allocation = false;
  ApiClass api_class = ApiClass::kOther;
};

FunctionFacts FactsOf(std::string_view function) {
  FunctionFacts facts;
  const std::string_view name = WithoutVersion(function);
  facts.is_known = true;
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
        facts_(draft.names.size()),
        first_allocation_(draft.trace.processes.size(), std::numeric_limits<int64_t>::max()),
        index_(draft.correlations) {}

  void RunThread(Trace::Slice slice) {
    open_.clear();
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      ApiCall& call = calls_[i];
      while (!open_.empty() && !Encloses(calls_[open_.back()], call)) open_.pop_back();
      call.parent = open_.empty() ? kNone : open_.back();
      open_.push_back(i);
      index_.Add(calls_, i);
      Classify(call, i);
    }
  }

  // There is nothing to free before the first allocation: that is the cudaFree(0) which programs make the context with.
  void ClassifyFrees() {
    for (const uint32_t i : frees_) {
      if (calls_[i].start_ns < first_allocation_[calls_[i].process]) calls_[i].api_class = ApiClass::kLoad;
    }
  }

  CorrelationIndex TakeIndex() { return std::move(index_); }

 private:
  void Classify(ApiCall& call, uint32_t i) {
    FunctionFacts& f = facts_[call.function.value];
    if (!f.is_known) f = FactsOf(draft_.names.Text(call.function));
    call.api_class = f.api_class;
    if (f.is_free) frees_.push_back(i);
    if (f.is_allocation) first_allocation_[call.process] = std::min(first_allocation_[call.process], call.start_ns);
  }

  Draft& draft_;
  std::vector<ApiCall>& calls_;
  std::vector<FunctionFacts> facts_;       // by name
  std::vector<int64_t> first_allocation_;  // by process
  std::vector<uint32_t> open_, frees_;
  CorrelationIndex index_;
};

}  // namespace

CorrelationIndex OrderApiCalls(Draft& draft) {
  Trace& t = draft.trace;
  for (const uint32_t i : draft.unfinished_calls) {
    ApiCall& c = t.api_calls[i];
    // A call may be unfinished because its capture ended: the thread went on after that.
    c.end_ns = std::max(c.end_ns, EndOfRecording(t, c.process, c.start_ns));
  }
  t.thread_api_calls = GroupBy(t.api_calls, t.threads.size(), [](const ApiCall& c) { return c.thread; });
  CallPass pass(draft);
  for (const Trace::Slice slice : t.thread_api_calls) {
    SortNearlySorted(t.api_calls.begin() + slice.first, t.api_calls.begin() + slice.last, ComesBefore{});
    pass.RunThread(slice);
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

void CorrelationIndex::Add(const std::vector<ApiCall>& calls, uint32_t call) {
  const ApiCall& c = calls[call];
  if (c.correlation == 0) return;
  Table& t = tables_[c.process];
  uint32_t& entry = t.dense.empty() ? t.sparse(0, c.correlation) : t.dense[c.correlation - t.first];
  if (entry == kNone || c.domain < calls[entry].domain) entry = call;
}

uint32_t CorrelationIndex::Find(uint32_t process, uint32_t correlation) const {
  const Table& t = tables_[process];
  if (correlation == 0) return kNone;
  if (t.dense.empty()) return t.sparse.Find(0, correlation);
  const uint32_t at = correlation - t.first;  // below `first` wraps around to far outside
  return at < t.dense.size() ? t.dense[at] : kNone;
}

}  // namespace gprof
