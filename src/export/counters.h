// Levels over time that timelines draw as curves.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// The level from `time_ns` on.
struct CounterPoint {
  int64_t time_ns = 0;
  int64_t value = 0;
};

struct Counter {
  uint32_t device = kNone;
  std::string_view name;
  bool is_bytes = false;
  std::vector<CounterPoint> points;  // by time, none twice; only changes
};

// Operations of the GPU that run, and those that are launched and not finished.
Counter RunningOps(const Trace& trace, uint32_t device);
Counter QueuedOps(const Trace& trace, uint32_t device);
// Device memory in use, where the trace has memory events of the device; else no points.
Counter MemoryInUse(const Trace& trace, uint32_t device);
// `f(counter)` for every device and every counter that has points, one after the other.
template <class F>
void ForEachCounter(const Trace& trace, F&& f) {
  for (uint32_t device = 0; device < trace.devices.size(); ++device) {
    for (const auto make : {MemoryInUse, RunningOps, QueuedOps}) {
      const Counter counter = make(trace, device);
      if (!counter.points.empty()) f(counter);
    }
  }
}

}  // namespace gprof
