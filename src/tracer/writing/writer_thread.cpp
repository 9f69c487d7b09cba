#include "tracer/writing/writer_thread.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "tracer/capture/capture.h"
#include "tracer/capture/control.h"
#include "tracer/capture/delay_windows.h"
#include "tracer/capture/windows.h"
#include "tracer/core/notice.h"
#include "tracer/core/tracer.h"
#include "tracer/store/chunk_output.h"
#include "tracer/store/memory/arena.h"
#include "tracer/store/memory/page_pool.h"
#include "tracer/store/thread_log.h"
#include "tracer/system/proc_file.h"
#include "tracer/system/system_calls.h"
#include "tracer/writing/drain.h"

namespace gprof::tracer {
namespace {

constexpr uint64_t kMsNs = 1000000;
constexpr uint64_t kFirstFlushNs = 20 * kMsNs;  // short programs lose little where nothing can be salvaged
constexpr uint64_t kBusyPollNs = 10 * kMsNs;
constexpr uint64_t kBusyRows = 20000;  // in a round: two million a second and thread
constexpr uint64_t kStopPatienceNs = 5000 * kMsNs;

bool has_thread = false;
bool is_child = false;       // of a fork
uint32_t captures_told = 0;  // CapturesEnded, as far as the trace has a record of it
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

void StartOwnTrace() { StartTrace(is_child, Config().capture_start == CaptureStart::kCommand); }

void CarryOut(Request what) {
  if (what == Request::kEnd) return WriteEnd();
  Drain(Depth::kLast);
  // Here, because nothing may call CUPTI once the answer is given: the driver goes away then.
  if (what == Request::kLastFlush) StopCollectors(StopReason::kDriverGoes);
}

// Everything is written, and where a capture is over and nothing more of it comes, that too. True: something came.
bool FlushAll() {
  const uint32_t ended = CapturesEnded();
  const bool is_over = !IsCapturing() && ended != captures_told;
  const DrainRound round = Drain(Depth::kAll);
  if (is_over && !round.has_delivered) {
    captures_told = ended;
    if (HasOutputFile()) WriteStopped(round);
  }
  return round.has_delivered;
}

// What was launched in the capture and still runs is waited for as long as something comes.
void DeliverCapture() {
  constexpr int kRounds = 20;
  for (int i = 0; i < kRounds; ++i) {
    if (!FlushAll() && i > 0) return;
  }
}

void SetOutputOf(const Order& order) {
  if (order.HasOutput()) SetOutputFile(order.output, order.identity);
}

void MoveOutput(const Order& order) {
  if (!order.HasOutput() || IsOutputFile(order.output, order.identity)) return;
  if (HasOutputFile()) Drain(Depth::kAll);
  Output().Discard();
  SetOutputOf(order);
  StartOutput();
}

void CarryOutOrder() {
  const Order* order = NextOrder();
  if (order == nullptr) return;
  switch (order->wish) {
    case trace::CaptureWish::kTriggered:
      MoveOutput(*order);
      break;
    case trace::CaptureWish::kFlush:
    case trace::CaptureWish::kLook:
      MoveOutput(*order);
      Drain(Depth::kAll, order->wish == trace::CaptureWish::kLook ? order->epoch : 0);
      break;
    case trace::CaptureWish::kRecord:
      MoveOutput(*order);
      BeginCapture(order->trigger);
      break;
    case trace::CaptureWish::kIdle:
      EndCapture(order->trigger);
      if (HasOutputFile()) DeliverCapture();
      break;
    case trace::CaptureWish::kCancel:
      EndCapture(order->trigger);
      ForgetOutputFile();
      Drain(Depth::kAll);
      break;
  }
  Header().epoch_done.store(order->epoch, std::memory_order_release);
}

// Where main left by pthread_exit, libc ends the process with its last thread: ours must not keep it alive.
bool IsAlone() {
  char path[64], stat[1024];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
  if (ReadProcFile(path, stat, sizeof stat) <= 0) return false;
  const char* process_state = StatField(stat, 3);
  const char* count = StatField(stat, 20);
  if (process_state == nullptr || *process_state != 'Z' || count == nullptr) return false;
  const auto threads = static_cast<uint32_t>(strtoul(count, nullptr, 10));
  return threads != 0 && threads <= 1 + ThreadsStarted();  // the zombie and ours
}

// In a session that records nothing now there is nothing to do either.
bool IsWorthAFlush(uint32_t* idle_rounds) {
  constexpr uint32_t kEnough = 8;  // for what was launched before the stop
  const bool is_idle = !IsBaseRecorded() && CapturesEnded() == captures_told;
  *idle_rounds = is_idle ? *idle_rounds + 1 : 0;
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
  SetStopped();
  StopCollectors(StopReason::kThreadsEnd);
}

// When the next flush is due: soon after the begin, then less and less often.
class Pace {
 public:
  uint64_t LeftNs() const {
    const uint64_t now = MonotonicNs();
    return next_ns_ > now ? next_ns_ - now : 0;
  }
  void Next() {
    const uint64_t longest_ns = Config().flush_ms * kMsNs;
    period_ns_ = period_ns_ * 2 < longest_ns ? period_ns_ * 2 : longest_ns;
    next_ns_ = MonotonicNs() + period_ns_;
  }

 private:
  uint64_t period_ns_ = kFirstFlushNs;
  uint64_t next_ns_ = MonotonicNs() + kFirstFlushNs;
};

// One round. False: it was the last.
bool DoRound(Pace* pace, uint32_t* idle_rounds, bool* is_busy) {
  CarryOutOrder();
  CarryOutWindow();
  CarryOutDelayWindow();
  if (pace->LeftNs() > 0) {
    *is_busy = Drain(Depth::kReady).rows > kBusyRows;
    return true;
  }
  if (IsWorthAFlush(idle_rounds)) FlushAll();
  pace->Next();
  if (!IsAlone()) return true;
  EndAlone();
  return false;
}

void* RunWriterThread(void* name) {
  NameThread(static_cast<const char*>(name));
  writer_tid.store(CurrentTid(), std::memory_order_relaxed);
  // A lock in the target's own table could be undone by its next close of all descriptors.
  if (LeaveTargetsDescriptors()) LockArena();
  has_own_root.store(1, std::memory_order_release);
  FutexWake(&has_own_root);
  StartOwnTrace();
  Pace pace;
  uint32_t idle_rounds = 0;
  bool is_busy = false;
  while (true) {
    if (FirstLog() != nullptr) Pages().PrepareSlab();
    const uint64_t left_ns = std::min({pace.LeftNs(), WindowLeftNs(), DelayWindowLeftNs()});
    if (left_ns > 0) WaitForBell(is_busy && left_ns > kBusyPollNs ? kBusyPollNs : left_ns);
    const Request what = request.load(std::memory_order_acquire);
    if (what != Request::kNone ? Answer(what) : !DoRound(&pace, &idle_rounds, &is_busy)) return nullptr;
  }
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

}  // namespace

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

void StartWriterThread(bool is_forked) {
  is_child = is_forked;
  has_thread = StartThread(RunWriterThread, "gprof-flush");
  if (has_thread) return WaitForOwnRoot();
  StartOwnTrace();
  Message message;
  message << "cannot start the tracer thread (process or memory limit); the trace is written only at exit";
  Say(trace::NoticeLevel::kWarning, message);
}

void CarryOutFirstOrder() {
  if (Config().capture_start == CaptureStart::kCommand) ForgetOutputFile();
  const Order* order = NextOrder();
  if (order == nullptr) return;
  const bool has_output = order->wish != trace::CaptureWish::kIdle && order->wish != trace::CaptureWish::kCancel;
  if (has_output) SetOutputOf(*order);
  // A recorder on a process that was attached to has given other orders since.
  const bool is_recorded = order->wish == trace::CaptureWish::kFlush || order->wish == trace::CaptureWish::kLook;
  const bool is_commanded = Config().capture_start == CaptureStart::kCommand;
  if (order->wish == trace::CaptureWish::kRecord || (is_recorded && is_commanded)) BeginCapture(order->trigger);
  Header().epoch_done.store(order->epoch, std::memory_order_release);
}

void ResetWriterThreadAfterFork() {
  request_lock.ResetAfterFork();
  request.store(Request::kNone, std::memory_order_relaxed);
  has_own_root.store(0, std::memory_order_relaxed);
  captures_told = 0;
  ResetThreadsAfterFork();
}

void WaitUntilWriterHasLeft() {
  const uint32_t tid = writer_tid.load(std::memory_order_relaxed);
  if (has_thread) WaitWhile([tid] { return ThreadIsThere(tid); }, kLongPatienceNs);
}

bool IsWriterThread() { return CurrentTid() == writer_tid.load(std::memory_order_relaxed); }

void WakeWriter() {
  Header().bell.fetch_add(1, std::memory_order_release);
  SharedFutexWake(&Header().bell);
}

}  // namespace gprof::tracer
