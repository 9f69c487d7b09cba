// When threads waited for what is not CUDA: in the operating system, or in MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// Threads of a pool tell each other what the main one told the first of them; two that wait for each other end there.
inline constexpr size_t kMostToldInTurn = 4;

struct ThreadWait {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t call = kNone;  // index into os_calls, or into mpi_calls; kNone: off the processor, in no recorded call
  bool is_mpi = false;
  // A thread beside the main one waits until this thread of its process gives it something to do, as those of a pool
  // do: what holds it up is what that one does. kNone for other waits.
  uint32_t told_by = kNone;
  bool IsOsCall() const { return call != kNone && !is_mpi; }
};

// Of each thread the outermost recorded calls, and between them the times off the processor, less those in which it was
// preempted. They are in order and do not overlap.
class ThreadWaits {
 public:
  explicit ThreadWaits(const Trace& trace);

  bool IsEmpty() const { return of_threads_.empty(); }
  std::span<const ThreadWait> WaitsOf(uint32_t thread) const {
    if (thread >= of_threads_.size()) return {};
    return of_threads_[thread];
  }
  // Those with a part in the interval.
  std::span<const ThreadWait> Within(uint32_t thread, int64_t from_ns, int64_t to_ns) const;
  // The thread that decides how long `thread` waits: itself where it does not wait to be told what to do.
  uint32_t ActingThread(uint32_t thread, int64_t time_ns) const;

 private:
  std::vector<std::vector<ThreadWait>> of_threads_;  // empty where nothing of the kind was recorded
};

}  // namespace gprof
