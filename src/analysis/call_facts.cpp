#include "analysis/call_facts.h"

#include <algorithm>
#include <limits>

namespace gprof {
namespace {

bool IsCommon(ApiClass api_class) {
  return IsLaunch(api_class) || api_class == ApiClass::kOther;
}

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
    total_ns_ += sums_[i].total_ns;
    counts_[static_cast<size_t>(facts.api_class)] += sums_[i].count;
    counts_of_functions_[facts.function.value] += static_cast<uint32_t>(sums_[i].count);
    int64_t& start_ns = starts_ns_[std::min<size_t>(facts.process, trace.processes.size())];
    start_ns = std::min({start_ns, sums_[i].start_ns, inner_start_ns[i]});
  }
}

// Most calls share their facts with the one before: what they add up to stays out of memory until that changes. Returns
// where it did.
size_t CallFacts::AddRun(const PackedCalls& calls, size_t first, int64_t* inner_start_ns, int64_t* last_end_ns) {
  const uint32_t run = calls.FactsIndex(first);
  const PackedCalls::Facts& facts = calls.FactsAt(run);
  const bool is_rare = !IsCommon(facts.api_class), has_failed = facts.result != 0, is_listed = is_rare || has_failed;
  int64_t total_ns = 0, start_ns = std::numeric_limits<int64_t>::max(), end_ns = std::numeric_limits<int64_t>::min();
  int64_t ended_ns = facts.thread != kNone ? *last_end_ns : std::numeric_limits<int64_t>::max();
  const PackedCalls::Item* const items = calls.items().data();
  const PackedCalls::Item *item = items + first, *const end = items + calls.size();
  const PackedCalls::Item *first_started = nullptr, *last_ended = nullptr;
  const auto index_of = [&](const PackedCalls::Item* call) { return static_cast<uint32_t>(call - items); };
  int64_t inner = 0;
  for (; item != end && item->facts == run; ++item) {
    PrefetchForReading(item);
    const int64_t call_start_ns = item->start_ns();
    int64_t call_end_ns = call_start_ns + item->duration;
    bool is_inner = false;
    if (item->parent != 0 || item->duration_high != 0) [[unlikely]] {
      call_end_ns = calls.EndNs(*item);
      is_inner = calls.Parent(static_cast<size_t>(item - items)) != kNone;
    }
    if (call_end_ns >= ended_ns) ended_ns = call_end_ns, last_ended = item;
    if (is_inner) [[unlikely]] {
      *inner_start_ns = std::min(*inner_start_ns, call_start_ns);
      ++inner;
      continue;
    }
    if (call_start_ns < start_ns) start_ns = call_start_ns, first_started = item;
    total_ns += call_end_ns - call_start_ns;
    end_ns = std::max(end_ns, call_end_ns);
    if (!is_listed) continue;
    if (is_rare) rare_.push_back(index_of(item));
    if (has_failed) failed_.push_back(index_of(item));
  }
  Sum& sum = sums_[run];
  sum.count += item - (items + first) - inner;
  sum.total_ns += total_ns;
  if (start_ns < sum.start_ns) sum.start_ns = start_ns, sum.first = index_of(first_started);
  sum.end_ns = std::max(sum.end_ns, end_ns);
  if (facts.thread != kNone && last_ended != nullptr) last_ended_ = index_of(last_ended), *last_end_ns = ended_ns;
  return static_cast<size_t>(item - items);
}

}  // namespace gprof
