#include "analysis/facts/calls/call_facts.h"

#include <algorithm>
#include <limits>

#include "analysis/facts/operations/operations.h"
#include "base/saturate.h"

namespace gprof {
namespace {

bool IsCommon(ApiClass api_class) { return IsLaunch(api_class) || api_class == ApiClass::kOther; }

}  // namespace

CallFacts::CallFacts(const Trace& trace)
    : sums_(trace.api_calls.TraitsCount()),
      counts_of_functions_(trace.strings.size(), 0),
      starts_ns_(trace.processes.size() + 1, std::numeric_limits<int64_t>::max()) {
  std::vector<int64_t> inner_start_ns(sums_.size(), std::numeric_limits<int64_t>::max());  // of calls within calls
  std::vector<uint8_t> are_listed;                                                         // by kinds of calls
  for (uint32_t i = 0; i < sums_.size(); ++i) {
    const PackedCalls::Traits& traits = trace.api_calls.TraitsAt(i);
    are_listed.push_back(!IsCommon(traits.api_class) || traits.result != 0);
  }
  int64_t last_end_ns = std::numeric_limits<int64_t>::min();
  for (const Call call : CallsOf(trace)) {
    const int64_t start_ns = call.start_ns(), end_ns = call.end_ns();
    if (end_ns >= last_end_ns && call.thread() != kNone) last_ended_ = call.index(), last_end_ns = end_ns;
    if (!call.is_outermost()) {
      inner_start_ns[call.kind_number()] = std::min(inner_start_ns[call.kind_number()], start_ns);
      continue;
    }
    Sum& sum = sums_[call.kind_number()];
    ++sum.count;
    AddWrapping(&sum.total_ns, end_ns - start_ns);
    if (start_ns < sum.start_ns) sum.start_ns = start_ns, sum.first = call.index();
    sum.end_ns = std::max(sum.end_ns, end_ns);
    if (are_listed[call.kind_number()] == 0) continue;
    if (!IsCommon(call.shared().api_class)) rare_.push_back(call.index());
    if (call.shared().result != 0) failed_.push_back(call.index());
  }
  for (uint32_t i = 0; i < sums_.size(); ++i) {
    const PackedCalls::Traits& traits = trace.api_calls.TraitsAt(i);
    count_ += sums_[i].count;
    AddWrapping(&total_ns_, sums_[i].total_ns);
    counts_[static_cast<size_t>(traits.api_class)] += sums_[i].count;
    counts_of_functions_[traits.function.value] += static_cast<uint32_t>(sums_[i].count);
    int64_t& start_ns = starts_ns_[std::min<size_t>(traits.process, trace.processes.size())];
    start_ns = std::min({start_ns, sums_[i].start_ns, inner_start_ns[i]});
  }
}

}  // namespace gprof
