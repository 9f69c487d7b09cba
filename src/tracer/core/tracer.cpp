#include "tracer/core/tracer.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "tracer/core/capture.h"
#include "tracer/core/control.h"
#include "tracer/core/drain.h"
#include "tracer/core/notice.h"
#include "tracer/core/proc_file.h"
#include "tracer/core/process_facts.h"
#include "tracer/cupti/activity.h"
#include "tracer/cupti/cupti_session.h"
#include "tracer/cupti/shapes.h"
#include "tracer/nvtx/given_names.h"
#include "tracer/nvtx/payload_capture.h"
#include "tracer/store/arena.h"
#include "tracer/store/chunk_output.h"
#include "tracer/store/clock.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/page_pool.h"
#include "tracer/store/system_calls.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {
namespace {

enum class State : uint32_t { kNotStarted, kOff, kRecording, kForked, kStopped };
// What the writer thread is asked for, besides its round.
enum class Request : uint32_t { kNone, kFlush, kLastFlush, kEnd };

constexpr uint64_t kMsNs = 1000000;
constexpr uint64_t kFirstFlushNs = 20 * kMsNs;  // short programs lose little where nothing can be salvaged
constexpr uint64_t kBusyPollNs = 10 * kMsNs;
constexpr uint64_t kBusyRows = 20000;  // in a round: two million a second and thread
constexpr uint64_t kStopPatienceNs = 5000 * kMsNs;

constinit std::atomic<State> state{State::kNotStarted};
Lock start_lock;
TracerConfig config GPROF_IN_ARENA;
Order order;  // the last that was carried out
bool is_forked = false;
bool has_thread = false;
constinit std::atomic<uint32_t> writer_tid{0};
constinit std::atomic<uint32_t> has_own_root{0};  // the writer thread is on its own

constinit std::atomic<Request> request{Request::kNone};
constinit std::atomic<uint32_t> answered{0};  // counts the requests that were carried out
Lock request_lock;                            // one request at a time

// The writer thread's own descriptor table and root folder: the target never meets a descriptor of ours, running out
// of descriptors or chroot() does not stop the recording. Where a sandbox forbids it, both go without.
bool LeaveTargetsDescriptors() {
  const bool is_alone = unshare(CLONE_FILES) == 0;
  if (is_alone) syscall(SYS_close_range, 0u, ~0u, 0u);
  unshare(CLONE_FS);
  return is_alone;
}

trace::ProcessKey KeyOf(const trace::ArenaHeader& h) { return {h.host, h.start_ticks, h.pid, h.image}; }

void WriteEnd() {
  Drain& drain = OwnDrain();
  drain.TakeAll(true);
  drain.TakeLast();
  EndCaptureWithProcess();
  const auto reason = static_cast<uint8_t>(trace::EndReason::kExit);
  Writer().Add(trace::EndRecord{MonotonicNs(), reason, Writer().chunks_written(), drain.GpuCompleteUntilNs()});
  Writer().Flush();
  drain.TakeNotices();
  FinishArena();
}

void StartDrain() {
  trace::ProcessRecord process;
  FillProcess(&process);
  process.start_ns = Header().start_ns;
  process.is_forked = is_forked;
  OwnDrain().Start(process, KeyOf(Header()), config.capture_start == CaptureStart::kCommand);
}

void CarryOut(Request what) {
  if (what == Request::kEnd) return WriteEnd();
  OwnDrain().TakeAll(true);
  // Here, because nothing may call CUPTI once the answer is given: the driver goes away then.
  if (what == Request::kLastFlush) ForgetCupti();
}

// What was launched in the capture and still runs is waited for as long as something comes.
void DeliverCapture() {
  constexpr int kRounds = 20;
  for (int i = 0; i < kRounds; ++i) {
    if (!OwnDrain().TakeAll(false) && i > 0) return;
  }
}

void SetOutput(const Order& wanted) {
  if (wanted.output[0] == 0) return;
  std::memcpy(config.output, wanted.output, sizeof config.output);
  config.output_device = wanted.output_device;
  config.output_inode = wanted.output_inode;
}

bool IsSameOutput(const Order& wanted) {
  if (wanted.output[0] == 0) return true;
  return std::strcmp(config.output, wanted.output) == 0 && config.output_inode == wanted.output_inode &&
         config.output_device == wanted.output_device;
}

// [writer thread]
void MoveOutput(const Order& wanted) {
  if (IsSameOutput(wanted)) return;
  if (config.output[0] != 0) OwnDrain().TakeAll(false);
  Writer().Discard();
  SetOutput(wanted);
  OwnDrain().StartOutput();
}

// [writer thread]
void CarryOutOrder() {
  if (!ReadOrder(&order)) return;
  switch (order.wish) {
    case trace::CaptureWish::kTriggered:
      MoveOutput(order);
      break;
    case trace::CaptureWish::kRecord:
      MoveOutput(order);
      BeginCapture(order.trigger);
      break;
    case trace::CaptureWish::kIdle:
      EndCapture(order.trigger);
      if (config.output[0] != 0) DeliverCapture();
      break;
    case trace::CaptureWish::kCancel:
      EndCapture(order.trigger);
      config.output[0] = 0;
      OwnDrain().TakeAll(false);
      break;
  }
  Header().epoch_done.store(order.epoch, std::memory_order_release);
}

// A process that starts within a capture records from its first event.
void CarryOutFirstOrder() {
  if (config.capture_start == CaptureStart::kCommand) config.output[0] = 0;
  if (!ReadOrder(&order)) return;
  if (order.wish == trace::CaptureWish::kRecord || order.wish == trace::CaptureWish::kTriggered) SetOutput(order);
  if (order.wish == trace::CaptureWish::kRecord) BeginCapture(order.trigger);
  Header().epoch_done.store(order.epoch, std::memory_order_release);
}

// Where main left by pthread_exit, libc ends the process with its last thread: ours must not keep it alive.
bool IsAlone() {
  char path[64], stat[1024];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
  if (ReadProcFile(path, stat, sizeof stat) <= 0) return false;
  const char* at = std::strrchr(stat, ')');
  if (at == nullptr || at[1] != ' ' || at[2] != 'Z') return false;
  for (int field = 2; at != nullptr && field < 20; ++field) at = std::strchr(at + 1, ' ');
  const uint32_t threads = at == nullptr ? 0 : static_cast<uint32_t>(strtoul(at + 1, nullptr, 10));
  return threads != 0 && threads <= 1 + 1 + CuptiThreads();  // the zombie, this one, CUPTI's
}

// In a session that records nothing now there is nothing to do either.
bool IsWorthAFlush(uint32_t* idle_rounds) {
  constexpr uint32_t kEnough = 8;  // for what was launched before the stop
  *idle_rounds = IsCapturing() ? 0 : *idle_rounds + 1;
  return *idle_rounds <= kEnough;
}

void WaitForBell(uint64_t timeout_ns) {
  std::atomic<uint32_t>& bell = Header().bell;
  const uint32_t seen = bell.load(std::memory_order_acquire);
  if (request.load(std::memory_order_acquire) != Request::kNone) return;
  SharedFutexWait(&bell, seen, timeout_ns);
}

// True: that was the last.
bool Answer(Request what) {
  CarryOut(what);
  request.store(Request::kNone, std::memory_order_relaxed);
  answered.fetch_add(1, std::memory_order_release);
  FutexWake(&answered);
  return what == Request::kEnd;
}

void EndAlone() {
  WriteEnd();
  state.store(State::kStopped, std::memory_order_release);
  EndCuptiThread();
}

// When the next flush is due: soon after the begin, then less and less often.
class Pace {
 public:
  uint64_t LeftNs() const {
    const uint64_t now = MonotonicNs();
    return next_ns_ > now ? next_ns_ - now : 0;
  }
  void Next() {
    const uint64_t longest_ns = config.flush_ms * kMsNs;
    period_ns_ = period_ns_ * 2 < longest_ns ? period_ns_ * 2 : longest_ns;
    next_ns_ = MonotonicNs() + period_ns_;
  }

 private:
  uint64_t period_ns_ = kFirstFlushNs;
  uint64_t next_ns_ = MonotonicNs() + kFirstFlushNs;
};

void* RunWriterThread(void* name) {
  NameThread(static_cast<const char*>(name));
  writer_tid.store(CurrentTid(), std::memory_order_relaxed);
  // A lock in the target's own table could be undone by its next close of all descriptors.
  if (LeaveTargetsDescriptors()) LockArena();
  has_own_root.store(1, std::memory_order_release);
  FutexWake(&has_own_root);
  StartDrain();
  Pace pace;
  uint32_t idle_rounds = 0;
  bool is_busy = false;
  while (true) {
    Pages().PrepareSlab();
    const uint64_t left_ns = pace.LeftNs();
    if (left_ns > 0) WaitForBell(is_busy && left_ns > kBusyPollNs ? kBusyPollNs : left_ns);
    const Request what = request.load(std::memory_order_acquire);
    if (what != Request::kNone) {
      if (Answer(what)) return nullptr;
      continue;
    }
    CarryOutOrder();
    if (pace.LeftNs() == 0) {
      if (IsWorthAFlush(&idle_rounds)) OwnDrain().TakeAll(false);
      pace.Next();
      if (!IsAlone()) continue;
      EndAlone();
      return nullptr;
    }
    OwnDrain().AddAnchor(false);
    is_busy = OwnDrain().TakeRows() > kBusyRows;
    DrainActivity(&Writer());
    OwnDrain().TakeNotices();
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

// Only stores, and none into memory that parent and child share: the child of a fork may have locks that nobody will
// release and a driver that must not be called.
void AfterForkInChild() {
  const State now = state.load(std::memory_order_relaxed);
  if (now == State::kOff || now == State::kStopped) return;
  state.store(State::kForked, std::memory_order_relaxed);  // also where another thread was starting the tracer
  ForgetCupti();
  LeaveLogAfterFork();
}

// After OpenArena has put a copy of the parent's memory in its place.
void ResetAfterFork() {
  OwnDrain().ResetAfterFork();
  ResetLogsAfterFork();
  ResetActivityAfterFork();
  Writer().ResetAfterFork();
  Shapes().ResetAfterFork();
  Pages().ResetAfterFork();
  Strings().ResetAfterFork();
  ResetNamesAfterFork();
  ResetLayoutsAfterFork();
  ResetNoticesAfterFork();
  ResetCaptureAfterFork();
  ResetCuptiFactsAfterFork();
  request_lock.ResetAfterFork();
  request.store(Request::kNone, std::memory_order_relaxed);
  has_own_root.store(0, std::memory_order_relaxed);
  order = {};
  is_forked = true;
}

// A program that calls chroot next thing would take the thread along, before it can see the trace.
void WaitForOwnRoot() {
  constexpr uint64_t kPatienceNs = 100 * kMsNs;
  const uint64_t deadline = MonotonicNs() + kPatienceNs;
  while (has_own_root.load(std::memory_order_acquire) == 0) {
    const uint64_t now = MonotonicNs();
    if (now >= deadline) return;
    FutexWait(&has_own_root, 0, deadline - now);
  }
}

void BeginRecording(bool is_child) {
  OpenArena();
  if (is_child) ResetAfterFork();
  ChooseClock();
  OwnDrain().AddFirstAnchor();
  SetUpLogs();
  OpenControl();
  SetUpCapture();
  state.store(State::kRecording, std::memory_order_release);
  CarryOutFirstOrder();
  const trace::ArenaState begun = IsCapturing() ? trace::ArenaState::kRecording : trace::ArenaState::kIdle;
  Header().state.store(static_cast<uint32_t>(begun), std::memory_order_release);
  has_thread = StartThread(RunWriterThread, "gprof-flush");
  if (has_thread) return WaitForOwnRoot();
  StartDrain();
  Message message;
  message << "the tracer's thread cannot be started (limit of processes or memory); the trace is written at exit only";
  Say(trace::NoticeLevel::kWarning, message);
}

constinit std::atomic<int> exits_to_come{0};

// Registered within the driver's start-up, so it runs before the driver's own teardown; the last one of these to run
// is the first that was registered, and after it CUPTI is not called again.
void FlushAtExit() {
  const bool is_last = exits_to_come.fetch_sub(1) == 1;
  if (IsRecording() && CuptiIsActive()) Ask(is_last ? Request::kLastFlush : Request::kFlush);
  if (is_last) ForgetCupti();
}

}  // namespace

const TracerConfig& Config() { return config; }
bool IsRecording() { return state.load(std::memory_order_acquire) == State::kRecording; }
bool IsWriterThread() { return CurrentTid() == writer_tid.load(std::memory_order_relaxed); }
void RequestShutdown() { Header().wants_shutdown.store(1, std::memory_order_release); }

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
    RememberStderr();
    pthread_atfork(nullptr, nullptr, AfterForkInChild);
  } else if (then != State::kForked) {
    return then == State::kRecording;
  }
  if (!config.IsOn() || (config.only_pid != 0 && config.only_pid != static_cast<uint32_t>(getpid()))) {
    state.store(State::kOff, std::memory_order_release);
    return false;
  }
  BeginRecording(then == State::kForked);
  if (then == State::kNotStarted) TracerConfig::SayUnknownVariables();
  return true;
}

void WakeWriter() {
  Header().bell.fetch_add(1, std::memory_order_release);
  SharedFutexWake(&Header().bell);
}

void FlushBeforeDriverGoes() {
  constexpr int kEnough = 2;  // once when the driver is up, once more with the first context
  static std::atomic<int> registered{0};
  if (registered.load(std::memory_order_relaxed) >= kEnough || registered.fetch_add(1) >= kEnough) return;
  exits_to_come.fetch_add(1);
  if (atexit(FlushAtExit) != 0) exits_to_come.fetch_sub(1);
  if (registered.load(std::memory_order_relaxed) == 1) at_quick_exit(StopTracer);
}

namespace {

// A program whose threads still use CUDA when it exits may crash when they meet a runtime that is gone; it exits fast
// enough as a rule. It must not wait for us then, and need not where a launcher writes what is left.
bool CanLeaveRestToLauncher() {
  return Header().is_locked.load(std::memory_order_relaxed) != 0 && HasOtherLiveLogs() && LauncherIsAlive();
}

}  // namespace

void StopAtUnload() {
  if (!IsRecording() || !CanLeaveRestToLauncher()) return StopTracer();
  Header().exit_began.store(1, std::memory_order_release);
  state.store(State::kStopped, std::memory_order_release);
}

void StopTracer() {
  if (!IsRecording()) return;
  ErrnoGuard errno_guard;
  Ask(Request::kEnd);
  state.store(State::kStopped, std::memory_order_release);
}

}  // namespace gprof::tracer
