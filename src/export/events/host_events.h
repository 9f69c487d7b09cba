// What one thread did, in order: its CUDA calls and its push/pop ranges, which are drawn in one row.
#pragma once

#include <cstdint>

#include "gprof/trace.h"

namespace gprof {

struct HostEvent {
  Interval time;
  uint32_t call = kNone, range = kNone;  // one of them
};

// f(HostEvent), by start; of equal starts the longest first, and a range before a call.
template <class F>
void ForEachHostEvent(const Trace& trace, uint32_t thread, F&& f) {
  const Trace::Slice calls = trace.thread_api_calls[thread], ranges = trace.thread_ranges[thread];
  uint32_t call = calls.first, range = ranges.first;
  for (;;) {
    while (range < ranges.last && !trace.ranges[range].is_push_pop) ++range;
    const bool has_call = call < calls.last, has_range = range < ranges.last;
    if (!has_call && !has_range) return;
    const auto is_range_first = [&] {
      const NvtxRange& r = trace.ranges[range];
      const ApiCall& c = trace.api_calls[call];
      return r.start_ns != c.start_ns ? r.start_ns < c.start_ns : r.end_ns >= c.end_ns;
    };
    if (has_range && (!has_call || is_range_first())) {
      f(HostEvent{{trace.ranges[range].start_ns, trace.ranges[range].end_ns}, kNone, range});
      ++range;
    } else {
      f(HostEvent{{trace.api_calls[call].start_ns, trace.api_calls[call].end_ns}, call, kNone});
      ++call;
    }
  }
}

}  // namespace gprof
