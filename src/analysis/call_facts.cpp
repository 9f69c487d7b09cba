#include "analysis/call_facts.h"

#include <algorithm>
#include <limits>

namespace gprof {
namespace {

bool IsCommon(ApiClass api_class) {
  return api_class == ApiClass::kLaunch || api_class == ApiClass::kGraphLaunch || api_class == ApiClass::kOther;
}

// What is asked of each call, by its facts.
struct Kind {
  bool is_rare, has_failed, has_thread;
};

std::vector<Kind> KindsOf(const PackedCalls& calls) {
  std::vector<Kind> kinds;
  for (uint32_t i = 0; i < calls.FactsCount(); ++i) {
    const PackedCalls::Facts& facts = calls.FactsAt(i);
    kinds.push_back({!IsCommon(facts.api_class), facts.result != 0, facts.thread != kNone});
  }
  return kinds;
}

}  // namespace

CallFacts::CallFacts(const Trace& trace)
    : sums_(trace.api_calls.FactsCount()),
      counts_of_functions_(trace.strings.size(), 0),
      starts_ns_(trace.processes.size() + 1, std::numeric_limits<int64_t>::max()) {
  const std::vector<Kind> kinds = KindsOf(trace.api_calls);
  std::vector<int64_t> any_start_ns(kinds.size(), std::numeric_limits<int64_t>::max());  // of calls within calls as well
  int64_t last_end_ns = std::numeric_limits<int64_t>::min();
  // Most calls share their facts with the one before: what they add up to stays out of memory until that changes.
  Sum sum;
  int64_t first_ns = 0;
  uint32_t of_sum = kNone;
  const auto put_back = [&] {
    if (of_sum != kNone) sums_[of_sum] = sum, any_start_ns[of_sum] = first_ns;
  };
  for (uint32_t i = 0; i < trace.api_calls.size(); ++i) {
    trace.api_calls.PrefetchAfter(i);
    const uint32_t facts = trace.api_calls.FactsIndex(i);
    const int64_t start_ns = trace.api_calls[i].start_ns, end_ns = trace.api_calls[i].end_ns;
    if (facts != of_sum) {
      put_back();
      of_sum = facts, sum = sums_[facts], first_ns = any_start_ns[facts];
    }
    first_ns = std::min(first_ns, start_ns);
    if (end_ns >= last_end_ns && kinds[facts].has_thread) last_end_ns = end_ns, last_ended_ = i;
    if (trace.api_calls.Parent(i) != kNone) continue;
    ++sum.count;
    sum.total_ns += end_ns - start_ns;
    sum.end_ns = std::max(sum.end_ns, end_ns);
    if (start_ns < sum.start_ns || sum.first == kNone) sum.start_ns = start_ns, sum.first = i;
    if (kinds[facts].is_rare) rare_.push_back(i);
    if (kinds[facts].has_failed) failed_.push_back(i);
  }
  put_back();
  for (uint32_t i = 0; i < sums_.size(); ++i) {
    const PackedCalls::Facts& facts = trace.api_calls.FactsAt(i);
    count_ += sums_[i].count;
    total_ns_ += sums_[i].total_ns;
    counts_[static_cast<size_t>(facts.api_class)] += sums_[i].count;
    counts_of_functions_[facts.function.value] += static_cast<uint32_t>(sums_[i].count);
    int64_t& start_ns = starts_ns_[std::min<size_t>(facts.process, trace.processes.size())];
    start_ns = std::min(start_ns, any_start_ns[i]);
  }
}

}  // namespace gprof
