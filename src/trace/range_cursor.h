// The innermost push/pop range of a thread at times that only go forward.
#pragma once

#include <cstdint>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

class RangeCursor {
 public:
  RangeCursor(const Trace& trace, uint32_t thread)
      : trace_(trace), next_(trace.thread_ranges[thread].first), last_(trace.thread_ranges[thread].last) {}

  uint32_t At(int64_t time_ns) {
    for (; next_ < last_ && trace_.ranges[next_].start_ns <= time_ns; ++next_) {
      if (trace_.ranges[next_].is_push_pop) open_.push_back(next_);
    }
    const auto is_over = [&](const NvtxRange& r) { return !r.is_open && r.end_ns <= time_ns; };
    while (!open_.empty() && is_over(trace_.ranges[open_.back()])) open_.pop_back();
    return open_.empty() ? kNone : open_.back();
  }

 private:
  const Trace& trace_;
  uint32_t next_, last_;
  std::vector<uint32_t> open_;
};

}  // namespace gprof
