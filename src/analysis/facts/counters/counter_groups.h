// The counters of a trace by kernel: launches of one kernel with one grid and block size are one row.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

class KernelCounters {
 public:
  KernelCounters(std::string kernel_name, uint32_t range_index, const CounterRange& range)
      : name(std::move(kernel_name)),
        first_range(range_index),
        plan(range.plan),
        device(range.device),
        passes(range.passes) {}

  void Add(const Trace& trace, const CounterValue& value);

  // Mean over the launches that have it, nothing where none has.
  std::optional<double> Value(std::string_view metric) const;
  double ValueOrZero(std::string_view metric) const { return Value(metric).value_or(0); }
  std::vector<std::string_view> Metrics() const;
  // Of a metric whose value is a word.
  std::string_view TextOf(std::string_view metric) const;
  double DurationNs() const { return ValueOrZero("gpu__time_duration.sum"); }
  // Of all its launches, where the trace has them; else of those with counters.
  double TotalNs() const { return timeline_ns > 0 ? timeline_ns : DurationNs() * launches; }

  std::string name;          // as reports show it
  uint32_t first_range = 0;  // index into counter_ranges, which is the ID of that launch in CSV
  uint32_t plan = kNone;     // index into counter_plans, of the first launch
  uint32_t device = kNone;
  uint32_t launches = 1;
  uint32_t passes = 0;  // 0 when not known
  // Its time, and what is relative to it, have the launch on the host in them.
  bool includes_launch = false;
  double timeline_ns = 0;  // of all its launches with this grid and block size; 0: the trace has no timeline
  uint64_t timeline_launches = 0;

 private:
  struct Mean {
    double sum = 0;
    uint32_t count = 0;
    std::string_view text;
  };
  std::map<std::string_view, Mean> metrics_;
};

// The trace has to outlive them. Those that took longest first.
std::vector<KernelCounters> KernelCountersOf(const Trace& trace);

// Null where the GPU is not known.
const trace::DeviceRecord* DevicePropertiesOf(const Trace& trace, const KernelCounters& kernel);

}  // namespace gprof
