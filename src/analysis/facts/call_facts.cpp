#include "analysis/facts/call_facts.h"

#include <algorithm>
#include <limits>

#include "base/saturate.h"

namespace gprof {
namespace {

bool IsCommon(ApiClass api_class) { return IsLaunch(api_class) || api_class == ApiClass::kOther; }

}  // namespace

CallFacts::CallFacts(const Trace& trace)
    : sums_(trace.api_calls.FactsCount()),
      counts_of_functions_(trace.strings.size(), 0),
      starts_ns_(trace.processes.size() + 1, std::numeric_limits<int64_t>::max()) {
  std::vector<int64_t> inner_start_ns(sums_.size(), std::numeric_limits<int64_t>::max());  // of calls within calls
  int64_t last_end_ns = std::numeric_limits<int64_t>::min();
  for (size_t i = 0; i < trace.api_calls.size();) {
    const uint32_t facts = trace.api_calls.FactsIndex(i);
    i = AddRun(trace.api_calls, i, &inner_start_ns[facts], &last_end_ns);
  }
  for (uint32_t i = 0; i < sums_.size(); ++i) {
    const PackedCalls::Facts& facts = trace.api_calls.FactsAt(i);
    count_ += sums_[i].count;
    AddWrapping(&total_ns_, sums_[i].total_ns);
    counts_[static_cast<size_t>(facts.api_class)] += sums_[i].count;
    counts_of_functions_[facts.function.value] += static_cast<uint32_t>(sums_[i].count);
    int64_t& start_ns = starts_ns_[std::min<size_t>(facts.process, trace.processes.size())];
    start_ns = std::min({start_ns, sums_[i].start_ns, inner_start_ns[i]});
  }
}

// Most calls share their facts with the one before: what they add up to stays out of memory until that changes. Returns
// where it did, or where a call comes that is not as short as most, or that another call made.
size_t CallFacts::AddRun(const PackedCalls& calls, size_t first, int64_t* inner_start_ns, int64_t* last_end_ns) {
  const PackedCalls::Item* const items = calls.items().data();
  const PackedCalls::Item *const begin = items + first, *const end = items + calls.size();
  const uint32_t run = begin->facts;
  const PackedCalls::Facts& facts = calls.FactsAt(run);
  int64_t total_ns = 0, end_ns = std::numeric_limits<int64_t>::min();
  const PackedCalls::Item* item = begin;
  bool are_apart = true;
  if (facts.thread != kNone) {
    for (; item != end && item->facts == run && item->parent == 0 && item->duration_high == 0; ++item) {
      PrefetchForReading(item);
      total_ns += item->duration;
      are_apart &= item->start_ns() >= end_ns;
      end_ns = std::max(end_ns, item->start_ns() + item->duration);
    }
  }
  if (item == begin) return AddOne(calls, first, inner_start_ns, last_end_ns);
  are_apart_ &= are_apart;
  See(facts.thread, begin->start_ns(), end_ns);
  Sum& sum = sums_[run];
  sum.count += item - begin;
  sum.total_ns += total_ns;
  if (begin->start_ns() < sum.start_ns) sum.start_ns = begin->start_ns(), sum.first = static_cast<uint32_t>(first);
  sum.end_ns = std::max(sum.end_ns, end_ns);
  if (end_ns >= *last_end_ns) {
    const PackedCalls::Item* last = item - 1;
    while (last->start_ns() + last->duration != end_ns) --last;
    last_ended_ = static_cast<uint32_t>(last - items), *last_end_ns = end_ns;
  }
  const auto next = static_cast<size_t>(item - items);
  if (!IsCommon(facts.api_class) || facts.result != 0) [[unlikely]] {
    for (size_t i = first; i < next; ++i) List(static_cast<uint32_t>(i), facts);
  }
  return next;
}

// The next one's place is returned.
size_t CallFacts::AddOne(const PackedCalls& calls, size_t i, int64_t* inner_start_ns, int64_t* last_end_ns) {
  const PackedCalls::Item& item = calls.items()[i];
  const PackedCalls::Facts& facts = calls.FactsAt(item.facts);
  const auto index = static_cast<uint32_t>(i);
  const int64_t start_ns = item.start_ns(), end_ns = calls.EndNs(item);
  if (facts.thread != kNone && end_ns >= *last_end_ns) last_ended_ = index, *last_end_ns = end_ns;
  if (item.MayHaveParent() && calls.Parent(i) != kNone) {
    *inner_start_ns = std::min(*inner_start_ns, start_ns);
    return i + 1;
  }
  See(facts.thread, start_ns, end_ns);
  Sum& sum = sums_[item.facts];
  ++sum.count;
  AddWrapping(&sum.total_ns, end_ns - start_ns);
  if (start_ns < sum.start_ns) sum.start_ns = start_ns, sum.first = index;
  sum.end_ns = std::max(sum.end_ns, end_ns);
  List(index, facts);
  return i + 1;
}

// Calls of a thread that come after those seen before: when the first of them begins and the last one ends.
inline void CallFacts::See(uint32_t thread, int64_t start_ns, int64_t end_ns) {
  if (thread == kNone) return;
  if (before_.thread != thread) before_ = {thread, start_ns};
  are_apart_ &= start_ns >= before_.end_ns;
  before_.end_ns = std::max(before_.end_ns, end_ns);
}

inline void CallFacts::List(uint32_t call, const PackedCalls::Facts& facts) {
  if (!IsCommon(facts.api_class)) rare_.push_back(call);
  if (facts.result != 0) failed_.push_back(call);
}

}  // namespace gprof
