// The idle time of a device in pieces, each with its cause and its place in time.
#pragma once

#include <cstdint>
#include <utility>

#include "analysis/gap_explainer.h"

namespace gprof {

// Calls f(start_ns, end_ns, part) for every piece of idle time of the device, in order, and `seen(op)` for every
// operation once the idle time before it is done with. Returns the length of the window.
template <class F, class G>
int64_t ForEachIdlePart(const Trace& trace, const HostFacts& facts, const RecordedTime& recorded, uint32_t device,
                        F&& f, G&& seen) {
  GapExplainer explainer(trace, facts, recorded);
  const auto explain = [&](const Gap& gap) {
    int64_t at_ns = gap.start_ns;
    for (const Part& part : explainer.Explain(gap)) {
      f(at_ns, at_ns + part.duration_ns, part);
      at_ns += part.duration_ns;
    }
  };
  return ForEachGap(trace, recorded, device, explain, [&](uint32_t op) {
    explainer.See(op);
    seen(op);
  });
}

}  // namespace gprof
