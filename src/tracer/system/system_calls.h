// The few things the tracer asks of the kernel directly, so that no interposed or locked libc function is in the way.
#pragma once

#include <sched.h>
#include <signal.h>
#include <stdint.h>

#include <atomic>
#include <cstddef>

namespace gprof::tracer {

uint32_t CurrentTid();
bool ThreadIsThere(uint32_t tid);  // of this process. Changes errno
uint64_t MonotonicNs();
uint64_t RealtimeNs();

// Anonymous, zeroed, page-aligned; null when there is none. Never given back: the target's address space outlives us.
void* MapMemory(std::size_t bytes);
// For what nobody else may still look at.
void UnmapMemory(void* at, std::size_t bytes);

// The same, aligned to its size (a power of two) and backed by huge pages where the kernel has them.
void* MapHuge(std::size_t bytes);

// Whether eight bytes may be read there, aligned to their size. Changes errno.
bool CanReadWord(const void* at);

// Waits until *word differs from `expected`, something wakes it, or the time is over. Spurious returns are fine.
void FutexWait(std::atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns);
void FutexWake(std::atomic<uint32_t>* word);
// The same on a word in shared memory, which other processes wake.
void SharedFutexWait(std::atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns);
void SharedFutexWake(std::atomic<uint32_t>* word);

// Keeps errno as the target left it: every path out of a callback restores it.
class ErrnoGuard {
 public:
  ErrnoGuard();
  ~ErrnoGuard();
  ErrnoGuard(const ErrnoGuard&) = delete;
  ErrnoGuard& operator=(const ErrnoGuard&) = delete;

 private:
  int saved_;
};

// A lock for rare paths only (registering names, starting). Signals are blocked while it is held, because a handler of
// the target's that called NVTX on the same thread would wait for itself.
class Lock {
 public:
  void Acquire();
  void Release();
  void ResetAfterFork() { word_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t> word_{0};
};

// Blocks all signals on this thread while it lives.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  sigset_t before_;
};

class LockGuard {
 public:
  explicit LockGuard(Lock& lock) : lock_(lock) { lock_.Acquire(); }
  ~LockGuard() { lock_.Release(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  SignalGuard signal_guard_;  // blocked before the lock is taken, let through after it is released
  Lock& lock_;
};

// Names the calling thread, for ps and debuggers.
void NameThread(const char* name);

// Starts a detached thread that takes no signals. False: the system has no room for one.
bool StartThread(void* (*run)(void*), const char* name);
// How many the tracer has started in this process.
uint32_t ThreadsStarted();
void ResetThreadsAfterFork();  // they are not in the child

// Waiting for another thread to finish a few instructions. It may be preempted within them, so the processor is given
// away; it may not be there at all (a forked child, a thread that was killed), so the wait has an end.
constexpr uint64_t kUsualPatienceNs = 20'000'000;
// Where going ahead would break what CUPTI believes of the program, for as long as a busy machine preempts a thread.
constexpr uint64_t kLongPatienceNs = 2'000'000'000;

template <class F>
void WaitWhile(F&& is_busy, uint64_t patience_ns = kUsualPatienceNs) {
  for (const uint64_t end = MonotonicNs() + patience_ns; is_busy() && MonotonicNs() < end;) sched_yield();
}

}  // namespace gprof::tracer
