#include "tracer/samples/sampled_threads.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "gprof/trace/run_folder.h"
#include "tracer/core/notice.h"
#include "tracer/samples/sample_handler.h"
#include "tracer/store/thread_log.h"
#include "tracer/system/proc_file.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constexpr int kNoTimer = -1;
constexpr uint64_t kSignalBit = uint64_t{1} << (kSampleSignal - 1);

struct SampledThread {
  std::atomic<uint32_t> tid;  // 0: none
  int timer;
  bool is_blocked;  // it has the signal blocked
  uint64_t cpu_ns;  // of its last sample [own thread, once it is sampled]
};
// By the number of the thread's log, as those that collectors outside are told of.
constinit SampledThread threads[trace::kArenaThreads] = {};
constinit uint64_t period = 0;
Lock lock;

SampledThread* EntryOf(const ThreadLog* log) {
  return log == nullptr || log->number > trace::kArenaThreads ? nullptr : &threads[log->number - 1];
}

// The kernel's number for the CPU time of a thread.
clockid_t CpuClockOf(uint32_t tid) {
  constexpr int kOfThread = 4, kScheduler = 2;
  return static_cast<clockid_t>(~tid << 3) | kOfThread | kScheduler;
}

uint64_t ReadClock(clockid_t clock) {
  timespec now = {};
  if (syscall(SYS_clock_gettime, clock, &now) != 0) return 0;
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void SetTimer(int timer, uint64_t period_ns) {
  itimerspec when = {};
  when.it_interval = {static_cast<time_t>(period_ns / 1'000'000'000), static_cast<long>(period_ns % 1'000'000'000)};
  when.it_value = when.it_interval;
  syscall(SYS_timer_settime, timer, 0, &when, nullptr);
}

// Of another thread.
bool HasSignalBlocked(uint32_t tid) {
  Message path;
  path << "/proc/self/task/" << tid << "/status";
  char text[4096];
  if (ReadProcFile(path.c_str(), text, sizeof text) <= 0) return true;
  const char* const mask = std::strstr(text, "\nSigBlk:\t");
  return mask == nullptr || (strtoull(mask + 9, nullptr, 16) & kSignalBit) != 0;
}

bool IsSignalBlocked() {
  uint64_t mask = 0;
  return syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &mask, sizeof mask) != 0 || (mask & kSignalBit) != 0;
}

void End(SampledThread* thread) {
  if (thread->tid.exchange(0, std::memory_order_relaxed) == 0) return;
  syscall(SYS_timer_delete, thread->timer);
  thread->timer = kNoTimer;
}

void Begin(SampledThread* thread, uint32_t tid) {
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kSampleSignal;
  event.sigev_value.sival_ptr = SampleMark();
  event._sigev_un._tid = static_cast<pid_t>(tid);
  int timer = kNoTimer;
  if (syscall(SYS_timer_create, CpuClockOf(tid), &event, &timer) != 0) return;
  thread->timer = timer;
  thread->cpu_ns = ReadClock(CpuClockOf(tid));
  thread->is_blocked = HasSignalBlocked(tid);
  thread->tid.store(tid, std::memory_order_release);
  if (!thread->is_blocked) SetTimer(timer, period);
}

void LookAt(ThreadLog* log) {
  SampledThread* const thread = EntryOf(log);
  if (thread == nullptr) return;
  const bool is_live = log->state.load(std::memory_order_acquire) == LogState::kLive;
  if (is_live && thread->tid.load(std::memory_order_relaxed) == log->tid) return;
  const LockGuard guard(lock);
  End(thread);
  if (is_live && HasLaunched(*log)) Begin(thread, log->tid);
}

SampledThread* OwnEntry() {
  SampledThread* const thread = EntryOf(own_log);
  // A child of a vfork has the memory of its parent, and no timers.
  return thread != nullptr && thread->tid.load(std::memory_order_relaxed) == CurrentTid() ? thread : nullptr;
}

}  // namespace

bool KernelSparesCalls() {
#ifdef __aarch64__
  constexpr unsigned long kMajor = 6, kMinor = 1;
#else
  constexpr unsigned long kMajor = 5, kMinor = 10;
#endif
  utsname kernel;
  if (uname(&kernel) != 0) return false;
  char* at = nullptr;
  const unsigned long major = strtoul(kernel.release, &at, 10);
  const unsigned long minor = *at == '.' ? strtoul(at + 1, nullptr, 10) : 0;
  return major > kMajor || (major == kMajor && minor >= kMinor);
}

void LookForSampledThreads(uint64_t period_ns) {
  const ErrnoGuard errno_guard;
  period = period_ns;
  ForEachLog(LookAt);
}

void ForgetSampledThreads() {
  const ErrnoGuard errno_guard;
  const LockGuard guard(lock);
  for (SampledThread& thread : threads) End(&thread);
}

void ForgetParentsSampledThreads() {
  lock.ResetAfterFork();
  for (SampledThread& thread : threads) thread.tid.store(0, std::memory_order_relaxed);
}

bool IsOwnThreadSampled() { return OwnEntry() != nullptr; }

void PauseOwnThread() {
  const LockGuard guard(lock);
  SampledThread* const thread = OwnEntry();
  if (thread == nullptr || thread->is_blocked) return;
  thread->is_blocked = true;
  SetTimer(thread->timer, 0);
}

void ResumeOwnThread() {
  if (IsSignalBlocked()) return;
  const LockGuard guard(lock);
  SampledThread* const thread = OwnEntry();
  if (thread == nullptr || !thread->is_blocked) return;
  thread->is_blocked = false;
  SetTimer(thread->timer, period);
}

bool TakeOwnTime(uint32_t* tid, uint64_t* weight_ns) {
  SampledThread* const thread = EntryOf(own_log);
  if (thread == nullptr) return false;
  *tid = thread->tid.load(std::memory_order_acquire);
  if (*tid == 0 || *tid != own_log->tid) return false;
  const uint64_t now_ns = ReadClock(CLOCK_THREAD_CPUTIME_ID);
  *weight_ns = now_ns > thread->cpu_ns ? now_ns - thread->cpu_ns : 0;
  thread->cpu_ns = now_ns;
  return true;
}

}  // namespace gprof::tracer
