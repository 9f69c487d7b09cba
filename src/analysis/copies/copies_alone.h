// How much of the busy time of a device copies and fills have to themselves.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gprof {

// The time with a kernel is the busy time less this one: only where copies and fills run there is something to do, and
// they are few. Operations come in order of their start, and none ends before it starts. Each is added with the time
// when all before it had ended; kernels that do not begin before the end of a copy need not be added.
class CopiesAlone {
 public:
  bool IsBeforeEnd(int64_t start_ns) const { return start_ns < ended_ns_; }

  void AddKernel(int64_t start_ns, int64_t end_ns, int64_t all_ended_ns) {
    kernels_ended_ns_ = KernelsEnded(all_ended_ns);
    time_ns_ += std::max<int64_t>(end_ns - std::max(start_ns, all_ended_ns), 0) -
                std::max<int64_t>(end_ns - std::max(start_ns, kernels_ended_ns_), 0);
    kernels_ended_ns_ = std::max(kernels_ended_ns_, end_ns);
  }
  void AddCopy(int64_t start_ns, int64_t end_ns, int64_t all_ended_ns) {
    kernels_ended_ns_ = KernelsEnded(all_ended_ns);
    time_ns_ += std::max<int64_t>(end_ns - std::max(start_ns, all_ended_ns), 0);
    ended_ns_ = std::max(ended_ns_, end_ns);
  }

  // What ended after all copies was a kernel.
  int64_t KernelsEnded(int64_t all_ended_ns) const {
    return all_ended_ns > ended_ns_ ? all_ended_ns : kernels_ended_ns_;
  }
  int64_t time_ns() const { return time_ns_; }

 private:
  int64_t ended_ns_ = INT64_MIN, kernels_ended_ns_ = INT64_MIN, time_ns_ = 0;
};

}  // namespace gprof
