// A lock that needs no memory and no library, and is never held during a call of the driver.
#pragma once

#include <sched.h>

#include <atomic>

namespace gprof::cures {

class SpinLock {
 public:
  void Take() {
    while (is_taken_.exchange(true, std::memory_order_acquire)) sched_yield();
  }
  void Leave() { is_taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> is_taken_{false};
};

class Holding {
 public:
  explicit Holding(SpinLock& lock) : lock_(lock) { lock_.Take(); }
  ~Holding() { lock_.Leave(); }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;

 private:
  SpinLock& lock_;
};

}  // namespace gprof::cures
