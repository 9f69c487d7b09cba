// A range of the profiler counts all that its context runs. So while a launch is measured, no other is let through, and
// it is not measured before all others are out.
#pragma once

#include <atomic>
#include <cstdint>

#include "tracer/system/system_calls.h"

namespace gprof::tracer {

class LaunchGate {
 public:
  // Nobody is let through from here on. False: somebody did not get out in time.
  bool Close(uint64_t patience_ns) {
    const uint64_t deadline = MonotonicNs() + patience_ns;
    uint32_t seen = state_.load(std::memory_order_relaxed);
    while ((seen & kClosed) != 0 || !state_.compare_exchange_weak(seen, seen | kClosed, std::memory_order_acquire)) {
      if ((seen & kClosed) != 0 && !WaitWhile(seen, deadline)) return false;
      seen = state_.load(std::memory_order_relaxed);
    }
    for (seen = state_.load(std::memory_order_acquire); seen != kClosed; seen = state_.load()) {
      if (WaitWhile(seen, deadline)) continue;
      Open();
      return false;
    }
    return true;
  }
  void Open() {
    state_.fetch_and(~kClosed, std::memory_order_release);
    FutexWake(&state_);
  }

  // A launch goes through, and is out. A gate that stays closed for so long is gone through all the same: a launch that
  // another one waits for must not wait for that.
  void Enter(uint64_t patience_ns) {
    const uint64_t deadline = MonotonicNs() + patience_ns;
    uint32_t seen = state_.load(std::memory_order_relaxed);
    while ((seen & kClosed) != 0 && WaitWhile(seen, deadline)) seen = state_.load(std::memory_order_relaxed);
    state_.fetch_add(1, std::memory_order_acquire);
  }
  void Leave() {
    if (state_.fetch_sub(1, std::memory_order_release) == (kClosed | 1)) FutexWake(&state_);
  }

  void ResetAfterFork() { state_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kClosed = 1u << 31;

  // False: the time is over.
  bool WaitWhile(uint32_t seen, uint64_t deadline) {
    const uint64_t now = MonotonicNs();
    if (now >= deadline) return false;
    FutexWait(&state_, seen, deadline - now);
    return true;
  }

  std::atomic<uint32_t> state_{0};  // launches under way, and whether it is closed
};

}  // namespace gprof::tracer
