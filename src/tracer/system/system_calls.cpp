#include "tracer/system/system_calls.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tracer/system/loaded_module.h"
#include "tracer/system/memory_calls.h"

namespace gprof::tracer {
namespace {

constinit std::atomic<uint32_t> threads_started{0};

// With the target's usual 8 MB a thread would not start under a tight `ulimit -v`; the threads here need little.
constexpr std::size_t kStackBytes = 256 * 1024;

uint64_t ReadClock(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

void WaitFor(std::atomic<uint32_t>* word, int operation, uint32_t expected, uint64_t timeout_ns) {
  timespec timeout;
  timeout.tv_sec = static_cast<time_t>(timeout_ns / 1000000000u);
  timeout.tv_nsec = static_cast<long>(timeout_ns % 1000000000u);
  syscall(SYS_futex, word, operation, expected, &timeout, nullptr, 0);
}

// AddressSanitizer and LeakSanitizer list the threads that are created through them. In the child of a fork the list
// still has ours, and at the end they say that it could not be stopped. They do without knowing of it, unlike
// ThreadSanitizer.
decltype(&pthread_create) ThreadCreator() {
  const bool is_listed = AddressOfGlobal("__asan_init") != nullptr || AddressOfGlobal("__lsan_init") != nullptr;
  void* const own = is_listed ? AddressInLibc("pthread_create") : nullptr;
  return own != nullptr ? reinterpret_cast<decltype(&pthread_create)>(own) : &pthread_create;
}

bool CreateDetached(void* (*run)(void*), void* argument, std::size_t stack_bytes) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (stack_bytes != 0) pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t thread;
  const bool good = ThreadCreator()(&thread, &attributes, run, argument) == 0;
  pthread_attr_destroy(&attributes);
  return good;
}

}  // namespace

uint32_t CurrentTid() { return static_cast<uint32_t>(syscall(SYS_gettid)); }
// Where asking is forbidden, it may well be there.
bool ThreadIsThere(uint32_t tid) { return syscall(SYS_tgkill, getpid(), tid, 0) == 0 || errno != ESRCH; }

uint64_t MonotonicNs() { return ReadClock(CLOCK_MONOTONIC); }
uint64_t RealtimeNs() { return ReadClock(CLOCK_REALTIME); }

void* MapMemory(std::size_t bytes) {
  void* at = SystemMmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

void UnmapMemory(void* at, std::size_t bytes) {
  if (at != nullptr) SystemMunmap(at, bytes);
}

void* MapHuge(std::size_t bytes) {
  auto* at = static_cast<unsigned char*>(MapMemory(2 * bytes));
  if (at == nullptr) return MapMemory(bytes);  // a tight `ulimit -v` may have room for one
  const std::size_t before = (bytes - reinterpret_cast<uintptr_t>(at) % bytes) % bytes;
  if (before != 0) SystemMunmap(at, before);
  SystemMunmap(at + before + bytes, bytes - before);
  SystemMadvise(at + before, bytes, MADV_HUGEPAGE);
  return at + before;
}

// The kernel looks at the new mask before it refuses the first argument. No other call tells without doing something,
// in every sandbox.
bool CanReadWord(const void* at) {
  if (reinterpret_cast<uintptr_t>(at) % 8 != 0 || at == nullptr) return false;
  syscall(SYS_rt_sigprocmask, ~0L, at, nullptr, 8L);
  return errno != EFAULT;
}

void FutexWait(std::atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns) {
  WaitFor(word, FUTEX_WAIT_PRIVATE, expected, timeout_ns);
}
void FutexWake(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void SharedFutexWait(std::atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns) {
  WaitFor(word, FUTEX_WAIT, expected, timeout_ns);
}
void SharedFutexWake(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

ErrnoGuard::ErrnoGuard() : saved_(errno) {}
ErrnoGuard::~ErrnoGuard() { errno = saved_; }

void Lock::Acquire() {
  uint32_t state = 0;
  if (word_.compare_exchange_strong(state, 1, std::memory_order_acquire)) return;
  while (word_.exchange(2, std::memory_order_acquire) != 0) FutexWait(&word_, 2, 1000000000u);
}

void Lock::Release() {
  if (word_.exchange(0, std::memory_order_release) == 2) FutexWake(&word_);
}

SignalGuard::SignalGuard() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalGuard::~SignalGuard() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void NameThread(const char* name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

bool StartThread(void* (*run)(void*), const char* name) {
  const SignalGuard signal_guard;  // the new thread inherits the mask
  // A target with much static thread-local storage cannot have the small stack; then the default one is right.
  void* argument = const_cast<char*>(name);
  const bool has_started = CreateDetached(run, argument, kStackBytes) || CreateDetached(run, argument, 0);
  if (has_started) threads_started.fetch_add(1, std::memory_order_relaxed);
  return has_started;
}

uint32_t ThreadsStarted() { return threads_started.load(std::memory_order_relaxed); }
void ResetThreadsAfterFork() { threads_started.store(0, std::memory_order_relaxed); }

}  // namespace gprof::tracer
