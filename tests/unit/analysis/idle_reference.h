// Looks at every nanosecond on its own: slow, and so simple that it is right. For traces of a few hundred nanoseconds.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "gprof/trace.h"

namespace gprof::test {

struct ReferenceTimes {
  int64_t window_ns = 0, busy_ns = 0, kernel_ns = 0, idle_ns = 0, gaps = 0;
  std::map<std::string, int64_t> idle_by_cause;  // name of the cause, only those that occur
  std::map<std::string, int64_t> host_by_path;
  int64_t preempted_ns = 0;                  // of the cause host
  std::map<int64_t, int64_t> time_by_level;  // number of streams running; 0 is idle
  int64_t kernel_overlap_ns = 0, copy_compute_ns = 0;
};

ReferenceTimes LookAtEveryNanosecond(const Trace& trace, uint32_t device);

// Recorded time of the processes that use the device, before its first and after its last operation.
struct OutsideTimes {
  int64_t startup_ns = 0, teardown_ns = 0;  // summed over the processes
  int64_t longest_startup_ns = 0, longest_teardown_ns = 0;
};

OutsideTimes LookOutside(const Trace& trace, uint32_t device);

}  // namespace gprof::test
