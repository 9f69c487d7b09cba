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
  Sum sum = sums_[run];
  int64_t ended_ns = facts.thread != kNone ? *last_end_ns : std::numeric_limits<int64_t>::max();
  uint32_t last_ended = kNone;
  const PackedCalls::Item* const items = calls.items().data();
  const PackedCalls::Item *item = items + first, *const end = items + calls.size();
  for (; item != end && item->facts == run; ++item) {
    PrefetchForReading(item);
    const auto call = static_cast<uint32_t>(item - items);
    const int64_t start_ns = item->start_ns(), end_ns = calls.EndNs(*item);
    if (end_ns >= ended_ns) ended_ns = end_ns, last_ended = call;
    if (item->MayHaveParent() && calls.Parent(call) != kNone) {
      *inner_start_ns = std::min(*inner_start_ns, start_ns);
      continue;
    }
    if (sum.count++ == 0 || start_ns < sum.start_ns) sum.start_ns = start_ns, sum.first = call;
    sum.total_ns += end_ns - start_ns;
    sum.end_ns = std::max(sum.end_ns, end_ns);
    if (!is_listed) continue;
    if (is_rare) rare_.push_back(call);
    if (has_failed) failed_.push_back(call);
  }
  sums_[run] = sum;
  if (facts.thread != kNone && last_ended != kNone) last_ended_ = last_ended, *last_end_ns = ended_ns;
  return static_cast<size_t>(item - items);
}

}  // namespace gprof
