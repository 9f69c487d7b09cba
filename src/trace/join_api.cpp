#include <algorithm>
#include <limits>

#include "trace/api_class.h"
#include "trace/joins.h"
#include "trace/order.h"

namespace gprof {
namespace {

// Outer calls before the calls that they made. Their records come the other way round: a record is written at return.
bool ComesBefore(const ApiCall& a, const ApiCall& b) {
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
  return a.domain < b.domain;
}

// `outer` does not come after `inner`.
bool Encloses(const ApiCall& outer, const ApiCall& inner) {
  if (outer.end_ns < inner.end_ns) return false;
  // Calls that only touch are neighbours, unless both took no time at all and are a driver call in a runtime call.
  return inner.start_ns < outer.end_ns || (inner.start_ns == outer.start_ns && outer.domain < inner.domain);
}

void FindParents(std::vector<ApiCall>& calls, Trace::Slice slice, std::vector<uint32_t>& open) {
  open.clear();
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    while (!open.empty() && !Encloses(calls[open.back()], calls[i])) open.pop_back();
    calls[i].parent = open.empty() ? kNone : open.back();
    open.push_back(i);
  }
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

void ClassifyCalls(Draft& draft) {
  Trace& t = draft.trace;
  std::vector<FunctionFacts> facts(draft.names.size());
  std::vector<int64_t> first_allocation(t.processes.size(), std::numeric_limits<int64_t>::max());
  for (ApiCall& c : t.api_calls) {
    FunctionFacts& f = facts[c.function.value];
    if (!f.is_known) f = FactsOf(draft.names.Text(c.function));
    c.api_class = f.api_class;
    if (f.is_allocation) first_allocation[c.process] = std::min(first_allocation[c.process], c.start_ns);
  }
  // There is nothing to free before the first allocation: that is the cudaFree(0) which programs make the context with.
  for (ApiCall& c : t.api_calls) {
    if (facts[c.function.value].is_free && c.start_ns < first_allocation[c.process]) c.api_class = ApiClass::kLoad;
  }
}

}  // namespace

void OrderApiCalls(Draft& draft) {
  Trace& t = draft.trace;
  for (ApiCall& c : t.api_calls) {
    if (c.is_unfinished) c.end_ns = std::max(c.end_ns, t.processes[c.process].end_ns);
  }
  t.thread_api_calls = GroupBy(t.api_calls, t.threads.size(), [](const ApiCall& c) { return c.thread; });
  std::vector<uint32_t> open;
  for (const Trace::Slice slice : t.thread_api_calls) {
    SortNearlySorted(t.api_calls.begin() + slice.first, t.api_calls.begin() + slice.last, ComesBefore);
    FindParents(t.api_calls, slice, open);
  }
  ClassifyCalls(draft);
}

CorrelationIndex::CorrelationIndex(const Trace& trace) : tables_(trace.processes.size()) {
  struct Extent {
    uint32_t low = kNone, high = 0, count = 0;
  };
  std::vector<Extent> extents(tables_.size());
  for (const ApiCall& c : trace.api_calls) {
    if (c.correlation == 0) continue;
    Extent& e = extents[c.process];
    e.low = std::min(e.low, c.correlation);
    e.high = std::max(e.high, c.correlation);
    ++e.count;
  }
  for (std::size_t p = 0; p < tables_.size(); ++p) {
    const Extent& e = extents[p];
    const uint64_t width = e.count == 0 ? 0 : uint64_t{e.high} - e.low + 1;
    tables_[p].first = e.low;
    if (width > 0 && width <= 16 * uint64_t{e.count} + 1024) tables_[p].dense.assign(width, kNone);
  }
  for (uint32_t i = 0; i < trace.api_calls.size(); ++i) {
    const ApiCall& c = trace.api_calls[i];
    if (c.correlation == 0) continue;
    Table& t = tables_[c.process];
    uint32_t& entry = t.dense.empty() ? t.sparse(0, c.correlation) : t.dense[c.correlation - t.first];
    if (entry == kNone || c.domain < trace.api_calls[entry].domain) entry = i;
  }
}

uint32_t CorrelationIndex::Find(uint32_t process, uint32_t correlation) const {
  const Table& t = tables_[process];
  if (correlation == 0) return kNone;
  if (t.dense.empty()) return t.sparse.Find(0, correlation);
  const uint32_t at = correlation - t.first;  // below `first` wraps around to far outside
  return at < t.dense.size() ? t.dense[at] : kNone;
}

}  // namespace gprof
