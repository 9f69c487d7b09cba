#include "analysis/calls/code_loads.h"

#include <algorithm>

#include "analysis/calls/call_kinds.h"
#include "analysis/facts/call_facts.h"

namespace gprof {

CodeLoads::CodeLoads(const Trace& trace, const CallFacts& calls) {
  for (const uint32_t i : calls.rare()) {
    const ApiCall& call = trace.api_calls[i];
    if (call.api_class == ApiClass::kLoad && LoadsCode(trace.Text(call.function)))
      loads_.push_back({call.start_ns, call.end_ns});
  }
}

bool CodeLoads::MayBeIn(const Interval& time) const {
  return loads_.empty() || std::any_of(loads_.begin(), loads_.end(), [&](const Interval& load) {
           return load.start_ns < time.end_ns && time.start_ns < load.end_ns;
         });
}

}  // namespace gprof
