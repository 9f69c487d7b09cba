// When threads ran, by the switches that took them off the processor, and who ran while one of them could have.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

class ThreadRuns {
 public:
  explicit ThreadRuns(const Trace& trace);

  // Calls f(by, ns) for the parts of the interval in which the thread was preempted: `by` is the thread that ran on its
  // processor, kNone where none is known to have. They sum to the time preempted, each nanosecond counts once.
  template <class F>
  void ForEachPreemption(uint32_t thread, int64_t from_ns, int64_t to_ns, F&& f) const {
    if (preemptions_.empty()) return;
    const std::vector<Off>& all = preemptions_[thread];
    auto off = std::ranges::partition_point(all, [&](const Off& o) { return o.end_ns <= from_ns; });
    for (; off != all.end() && off->start_ns < to_ns; ++off) {
      ForEachRun(off->cpu, std::max(from_ns, off->start_ns), std::min(to_ns, off->end_ns), f);
    }
  }

 private:
  struct Off {
    int64_t start_ns, end_ns;
    uint32_t cpu;
  };
  struct OnCpu {
    int64_t start_ns, end_ns;
    uint32_t thread;
  };

  template <class F>
  void ForEachRun(uint32_t cpu, int64_t from_ns, int64_t to_ns, F&& f) const {
    if (cpu < runs_.size()) {
      const std::vector<OnCpu>& all = runs_[cpu];
      auto run = std::ranges::partition_point(all, [&](const OnCpu& r) { return r.end_ns <= from_ns; });
      for (; run != all.end() && run->start_ns < to_ns; ++run) {
        const int64_t start_ns = std::max(from_ns, run->start_ns), end_ns = std::min(to_ns, run->end_ns);
        if (from_ns < start_ns) f(kNone, start_ns - from_ns);
        f(run->thread, end_ns - start_ns);
        from_ns = end_ns;
      }
    }
    if (from_ns < to_ns) f(kNone, to_ns - from_ns);
  }

  std::vector<std::vector<Off>> preemptions_;  // by thread; empty without any
  std::vector<std::vector<OnCpu>> runs_;       // by processor, in order, without overlaps
};

}  // namespace gprof
