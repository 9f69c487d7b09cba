// When devices and processes were recorded: throughout, or in captures with pauses between.
#pragma once

#include <cstdint>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

class RecordedTime {
 public:
  explicit RecordedTime(const Trace& trace);

  // A device is recorded whenever one of the processes is that have operations on it. Between programs that ran one
  // after the other, from the last operation of one to the first of the next, it is not.
  bool IsThroughout(uint32_t device) const { return is_throughout_[device] != 0; }

  // Calls f(start_ns, end_ns) for each recorded part of the interval, in order. Returns the sum of their lengths.
  template <class F>
  int64_t ForEachOfDevice(uint32_t device, int64_t start_ns, int64_t end_ns, F&& f) const {
    if (IsThroughout(device)) return Take(start_ns, end_ns, f);
    return Cut(of_device_[device].data(), of_device_[device].data() + of_device_[device].size(), start_ns, end_ns, f);
  }

  // The same for a process.
  template <class F>
  int64_t ForEachOfProcess(uint32_t process, int64_t start_ns, int64_t end_ns, F&& f) const {
    if (IsRecordedThroughout(trace_, process)) return Take(start_ns, end_ns, f);
    const Trace::Slice slice = trace_.process_captures[process];
    return Cut(trace_.captures.data() + slice.first, trace_.captures.data() + slice.last, start_ns, end_ns, f);
  }

  static bool IsRecordedThroughout(const Trace& trace, uint32_t process) {
    if (trace.captures.empty() || process == kNone) return true;
    return trace.process_captures[process].first == trace.process_captures[process].last;
  }

 private:
  template <class F>
  static int64_t Take(int64_t start_ns, int64_t end_ns, F&& f) {
    if (start_ns < end_ns) f(start_ns, end_ns);
    return end_ns - start_ns;
  }

  // `first` to `last` are in order and do not overlap.
  template <class T, class F>
  static int64_t Cut(const T* first, const T* last, int64_t start_ns, int64_t end_ns, F&& f) {
    int64_t sum_ns = 0;
    for (const T* at = FirstAfter(first, last, start_ns); at != last && at->start_ns < end_ns; ++at) {
      const int64_t from_ns = at->start_ns > start_ns ? at->start_ns : start_ns;
      const int64_t to_ns = at->end_ns < end_ns ? at->end_ns : end_ns;
      if (from_ns < to_ns) sum_ns += Take(from_ns, to_ns, f);
    }
    return sum_ns;
  }

  template <class T>
  static const T* FirstAfter(const T* first, const T* last, int64_t time_ns) {
    while (first != last) {
      const T* middle = first + (last - first) / 2;
      if (middle->end_ns <= time_ns) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first;
  }

  const Trace& trace_;
  std::vector<std::vector<Interval>> of_device_;  // in order, none touch; empty where recorded throughout
  std::vector<uint8_t> is_throughout_;            // by device
};

// Time in which any process was in a capture; 0 for a trace without captures.
int64_t CapturedNs(const TraceHead& trace);

// Every process was recorded from its beginning to its end.
bool IsRecordedWhole(const TraceHead& trace);

// A process waited for a capture, and none began in any of them.
bool HasOnlyWaited(const TraceHead& trace);

}  // namespace gprof
