// What else the launcher does while it waits for the program, all in one loop and one thread.
#pragma once

#include <poll.h>
#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "trace/write/append.h"

namespace gprof {

inline constexpr int64_t kNoDeadline = std::numeric_limits<int64_t>::max();

// CLOCK_MONOTONIC, as the tracers have it.
inline int64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

class Attendant {
 public:
  virtual ~Attendant() = default;
  // Called after whatever woke the launcher. Returns when it wants to be called again at the latest. Must not block.
  virtual int64_t Attend(int64_t now_ns) = 0;
  // Descriptors that are to wake the launcher.
  virtual void AddDescriptors(std::vector<pollfd>*) const {}
  // The signal that was asked for with `SignalRelay(signal)` came.
  virtual void OnCaptureSignal() {}
};

// What else goes on with a run from its beginning to its end.
class RunCompanion : public Attendant {
 public:
  virtual void OnProgramStart(pid_t) {}
  // Everything that the run left is in the trace. `signal`: that ended the program, 0 for none.
  virtual void OnProgramEnd(int exit_code, int signal) = 0;
  // The traces that it made.
  virtual std::vector<TraceFile> Traces() const { return {}; }
};

}  // namespace gprof
