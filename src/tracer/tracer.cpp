#include "tracer.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "activity.h"
#include "clock.h"
#include "cupti_session.h"
#include "drain.h"
#include "names.h"
#include "notice.h"
#include "pages.h"
#include "process_facts.h"
#include "strings.h"
#include "sys.h"
#include "thread_log.h"
#include "writer.h"

namespace gprof::tracer {
namespace {

enum class State : uint32_t { kNotStarted, kOff, kRecording, kForked, kStopped };
// What the writer thread is asked for, besides its round.
enum class Request : uint32_t { kNone, kFlush, kEnd };

constexpr uint64_t kMsNs = 1000000;
constexpr uint64_t kFirstFlushNs = 20 * kMsNs;  // short programs and early kills lose little
constexpr uint64_t kBusyPollNs = 10 * kMsNs;
constexpr uint64_t kBusyRows = 20000;           // in a round: two million a second and thread
constexpr uint64_t kStopPatienceNs = 5000 * kMsNs;

constinit std::atomic<State> state{State::kNotStarted};
Lock start_lock;
TracerConfig config;
Drain drain;
uint64_t start_ns = 0;
bool is_forked = false;
bool has_thread = false;

constinit std::atomic<uint32_t> bell{0};             // rung to wake the writer thread
constinit std::atomic<Request> request{Request::kNone};
constinit std::atomic<uint32_t> answered{0};          // counts the requests that were carried out
Lock request_lock;                                    // one request at a time

// The writer thread's own descriptor table and root folder: the target never meets a descriptor of ours, running out
// of descriptors or chroot() does not stop the recording. Where a sandbox forbids it, both go without.
void LeaveTargetsDescriptors() {
  if (unshare(CLONE_FILES) == 0) syscall(SYS_close_range, 0u, ~0u, 0u);
  unshare(CLONE_FS);
}

void WriteEnd() {
  drain.TakeOpenCalls();
  drain.TakeAll(true);
  Writer().Add(trace::EndRecord{MonotonicNs(), static_cast<uint8_t>(trace::EndReason::kExit), Writer().chunks_written()});
  Writer().Flush();
  drain.TakeNotices();
}

void StartDrain() {
  trace::ProcessRecord process;
  FillProcess(&process);
  process.start_ns = start_ns;
  process.is_forked = is_forked;
  Writer().Start(OwnKey(start_ns));
  drain.Start(&Writer(), process);
}

void CarryOut(Request what) {
  if (what == Request::kEnd) {
    WriteEnd();
  } else {
    drain.TakeAll(true);
  }
}

void WaitForBell(uint64_t timeout_ns) {
  const uint32_t seen = bell.load(std::memory_order_acquire);
  if (request.load(std::memory_order_acquire) != Request::kNone) return;
  FutexWait(&bell, seen, timeout_ns);
}

void* RunWriterThread(void* name) {
  NameThread(static_cast<const char*>(name));
  LeaveTargetsDescriptors();
  StartDrain();
  uint64_t period_ns = kFirstFlushNs;
  uint64_t next_flush_ns = MonotonicNs() + period_ns;
  bool is_busy = false;
  while (true) {
    const uint64_t now = MonotonicNs();
    const uint64_t left_ns = next_flush_ns > now ? next_flush_ns - now : 0;
    if (left_ns > 0) WaitForBell(is_busy && left_ns > kBusyPollNs ? kBusyPollNs : left_ns);
    const Request what = request.load(std::memory_order_acquire);
    if (what != Request::kNone) {
      CarryOut(what);
      request.store(Request::kNone, std::memory_order_relaxed);
      answered.fetch_add(1, std::memory_order_release);
      FutexWake(&answered);
      if (what == Request::kEnd) return nullptr;
    } else if (MonotonicNs() >= next_flush_ns) {
      drain.TakeAll(false);
      period_ns = period_ns * 2 < config.flush_ms * kMsNs ? period_ns * 2 : config.flush_ms * kMsNs;
      next_flush_ns = MonotonicNs() + period_ns;
    } else {
      drain.AddAnchor(false);
      is_busy = drain.TakeRows() > kBusyRows;
      DrainActivity(&Writer());
      drain.TakeNotices();
    }
  }
}

// Has the writer thread do it and waits; without one the caller does it, with signals blocked.
void Ask(Request what) {
  LockGuard guard(request_lock);
  if (!has_thread) return CarryOut(what);
  const uint32_t before = answered.load(std::memory_order_acquire);
  request.store(what, std::memory_order_release);
  WakeWriter();
  const uint64_t deadline = MonotonicNs() + kStopPatienceNs;
  while (answered.load(std::memory_order_acquire) == before) {
    const uint64_t now = MonotonicNs();
    if (now >= deadline) return;
    FutexWait(&answered, before, deadline - now);
  }
}

// Only stores: the child of a fork may have locks that nobody will release and a driver that must not be called.
void AfterForkInChild() {
  if (state.load(std::memory_order_relaxed) != State::kRecording) return;
  state.store(State::kForked, std::memory_order_relaxed);
  ForgetCupti();
  ResetLogsAfterFork();
}

void PrepareRestart() {
  Pages().ResetAfterFork();
  Strings().ResetAfterFork();
  ResetNamesAfterFork();
  ResetNoticesAfterFork();
  request_lock.ResetAfterFork();
  request.store(Request::kNone, std::memory_order_relaxed);
  is_forked = true;
}

void BeginRecording() {
  ChooseClock();
  start_ns = MonotonicNs();
  drain.AddFirstAnchor();
  SetUpLogs();
  state.store(State::kRecording, std::memory_order_release);
  has_thread = StartThread(RunWriterThread, "gprof-flush");
  if (has_thread) return;
  StartDrain();
  Message message;
  message << "the tracer's thread cannot be started (limit of processes or memory); the trace is written at exit only";
  Say(trace::NoticeLevel::kWarning, message);
}

constinit std::atomic<int> exits_to_come{0};

// Registered within the driver's start-up, so it runs before the driver's own teardown; the last one of these to run
// is the first that was registered, and after it CUPTI is not called again.
void FlushAtExit() {
  if (IsRecording() && CuptiIsActive()) Ask(Request::kFlush);
  if (exits_to_come.fetch_sub(1) == 1) ForgetCupti();
}

}  // namespace

const TracerConfig& Config() { return config; }
bool IsRecording() { return state.load(std::memory_order_acquire) == State::kRecording; }

bool StartTracer() {
  const State now = state.load(std::memory_order_acquire);
  if (now == State::kRecording) return true;
  if (now == State::kOff || now == State::kStopped) return false;
  ErrnoGuard errno_guard;
  // In the child of a fork another thread may have held the lock, and that thread is not here.
  if (now == State::kForked) start_lock.ResetAfterFork();
  LockGuard guard(start_lock);
  const State then = state.load(std::memory_order_relaxed);
  if (then == State::kNotStarted) {
    TracerConfig::FromEnv(&config);
    if (!config.IsOn()) {
      state.store(State::kOff, std::memory_order_release);
      return false;
    }
    RememberStderr();
    pthread_atfork(nullptr, nullptr, AfterForkInChild);
  } else if (then == State::kForked) {
    PrepareRestart();
  } else {
    return then == State::kRecording;
  }
  BeginRecording();
  if (then == State::kNotStarted) TracerConfig::SayUnknownVariables();
  return true;
}

void WakeWriter() {
  bell.fetch_add(1, std::memory_order_release);
  FutexWake(&bell);
}

void FlushBeforeDriverGoes() {
  constexpr int kEnough = 2;  // once when the driver is up, once more with the first context
  static std::atomic<int> registered{0};
  if (registered.load(std::memory_order_relaxed) >= kEnough || registered.fetch_add(1) >= kEnough) return;
  exits_to_come.fetch_add(1);
  if (atexit(FlushAtExit) != 0) exits_to_come.fetch_sub(1);
  if (registered.load(std::memory_order_relaxed) == 1) at_quick_exit(StopTracer);
}

void StopTracer() {
  if (!IsRecording()) return;
  ErrnoGuard errno_guard;
  Ask(Request::kEnd);
  state.store(State::kStopped, std::memory_order_release);
}

}  // namespace gprof::tracer
