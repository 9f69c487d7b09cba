#include "tracer/core/tracer.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

#include "tracer/capture/capture.h"
#include "tracer/capture/control.h"
#include "tracer/capture/windows.h"
#include "tracer/core/collectors.h"
#include "tracer/core/notice.h"
#include "tracer/store/chunk_output.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/kernel_shapes.h"
#include "tracer/store/memory/arena.h"
#include "tracer/store/memory/page_pool.h"
#include "tracer/store/thread_log.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

enum class State : uint32_t { kNotStarted, kOff, kRecording, kForked, kStopped };
constinit std::atomic<State> state{State::kNotStarted};
Lock start_lock;

// Only stores, and none into memory that parent and child share: the child of a fork may have locks that nobody will
// release and a driver that must not be called.
void AfterForkInChild() {
  const State now = state.load(std::memory_order_relaxed);
  if (now == State::kOff || now == State::kStopped) return;
  state.store(State::kForked, std::memory_order_relaxed);  // also where another thread was starting the tracer
  StopCollectors(StopReason::kForked);
  LeaveLogAfterFork();
}

// After OpenArena has put a copy of the parent's memory in its place.
void ResetAfterFork() {
  Output().ResetAfterFork();
  Shapes().ResetAfterFork();
  Pages().ResetAfterFork();
  Names().ResetAfterFork();
  ResetCollectorsAfterFork();
  ResetWriterThreadAfterFork();
}

void BeginRecording(bool is_child) {
  OpenArena();
  if (is_child) ResetAfterFork();
  StartCollectors();
  state.store(State::kRecording, std::memory_order_release);
  CarryOutFirstOrder();
  StartWindows();
  const trace::ArenaState begun = IsCapturing() ? trace::ArenaState::kRecording : trace::ArenaState::kIdle;
  Header().state.store(static_cast<uint32_t>(begun), std::memory_order_release);
  StartWriterThread(is_child);
}

// A program whose threads still use CUDA when it exits may crash when they meet a runtime that is gone; it exits fast
// enough as a rule. It must not wait for us then, and need not where a launcher writes what is left.
bool CanLeaveRestToLauncher() {
  return Header().is_locked.load(std::memory_order_relaxed) != 0 && HasOtherLiveLogs() && LauncherIsAlive();
}

// Static destructors and atexit handlers of the program have run; the driver may be gone.
__attribute__((destructor)) void StopAtUnload() {
  if (!IsRecording() || !CanLeaveRestToLauncher()) return StopTracer();
  Header().exit_began.store(1, std::memory_order_release);
  SetStopped();
}

}  // namespace

bool IsRecording() { return state.load(std::memory_order_acquire) == State::kRecording; }
void SetStopped() { state.store(State::kStopped, std::memory_order_release); }
void RequestShutdown() { Header().wants_shutdown.store(1, std::memory_order_release); }
void FlushNow(bool driver_goes) { Ask(driver_goes ? Request::kLastFlush : Request::kFlush); }

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
    ReadConfig();
    RememberStderr();
    pthread_atfork(nullptr, nullptr, AfterForkInChild);
  } else if (then != State::kForked) {
    return then == State::kRecording;
  }
  const TracerConfig& config = Config();
  if (!config.IsOn() || (config.only_pid != 0 && config.only_pid != static_cast<uint32_t>(getpid()))) {
    state.store(State::kOff, std::memory_order_release);
    return false;
  }
  BeginRecording(then == State::kForked);
  if (then == State::kNotStarted) SayUnknownVariables();
  return true;
}

void StopTracer() {
  if (!IsRecording()) return;
  ErrnoGuard errno_guard;
  Ask(Request::kEnd);
  SetStopped();
}

}  // namespace gprof::tracer
