#include "tracer/core/tracer.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

#include "tracer/capture/capture.h"
#include "tracer/capture/control.h"
#include "tracer/capture/windows.h"
#include "tracer/core/arming.h"
#include "tracer/core/collectors.h"
#include "tracer/core/exit_hold.h"
#include "tracer/core/fork_hold.h"
#include "tracer/core/notice.h"
#include "tracer/imports/import_slots.h"
#include "tracer/store/chunk_output.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/kernel_shapes.h"
#include "tracer/store/memory/arena.h"
#include "tracer/store/memory/page_pool.h"
#include "tracer/store/thread_log.h"
#include "tracer/system/loaded_module.h"
#include "tracer/system/settings.h"
#include "tracer/system/system_calls.h"
#include "tracer/writing/drain.h"

extern "C" int InitializeInjection();  // cupti/cupti_entry.cpp

namespace gprof::tracer {
namespace {

// kArmed: it is off until it is asked for. kWanted: the settings are read. kForked: the child of a process that
// recorded, or was about to.
enum class State : uint32_t { kNotStarted, kOff, kArmed, kWanted, kStarting, kRecording, kForked, kStopped };
constinit std::atomic<State> state{State::kNotStarted};
Lock start_lock;

// Only stores, and none into memory that parent and child share: the child of a fork may have locks that nobody will
// release and a driver that must not be called.
void AfterForkInChild() {
  start_lock.ResetAfterFork();  // another thread may have held it, and that thread is not here
  ResetLoaderAfterFork();
  ResetImportsAfterFork();
  ForgetForkHold();
  ForgetArmedThread();
  ForgetStartBesideProgram();
  const State now = state.load(std::memory_order_relaxed);
  if (now != State::kStarting && now != State::kRecording && now != State::kForked) return;
  state.store(State::kForked, std::memory_order_relaxed);
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

void BeforeFork() {
  WaitForStartOfNvtx();
  HoldLoader();
}

// The driver is up, and would have called that within cuInit.
void* StartAttached(void* name) {
  NameThread(static_cast<const char*>(name));
  if (!BeginStartBesideProgram()) return nullptr;
  InitializeInjection();
  EndStartBesideProgram();
  return nullptr;
}

// First of all, so that a fork in one thread waits while another has just had the library loaded.
__attribute__((constructor)) void WatchForks() {
  HoldForksWhileLoading();
  pthread_atfork(BeforeFork, ReleaseLoader, AfterForkInChild);
  LookForAttachment();
  // A thread of libcuda's loads us: it goes on with its own work at once.
  if (IsAttached()) StartThread(StartAttached, kAttachThread);
}

bool IsMeantToBeRecorded() {
  return Config().IsOn() && (Config().only_pid == 0 || Config().only_pid == static_cast<uint32_t>(getpid()));
}

// We came with a second libc, which knows nothing of the program's threads: it must start none.
void RefuseStaticProgram() {
  OpenArena();
  Message message;
  message << "this program is statically linked: nothing that it does is recorded from within (NVTX, CUDA, operating "
             "system calls); link it dynamically";
  WriteRefusal(message);
}

// [the start lock is held]
void BeginRecording(bool is_child) {
  state.store(State::kStarting, std::memory_order_release);
  OpenArena();
  if (is_child) ResetAfterFork();
  StartCollectors();
  if (AreImportsUrgent()) {
    PrepareCollectors();
    PatchImports();
  }
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

bool IsTracerWanted() {
  const State now = state.load(std::memory_order_acquire);
  if (now != State::kNotStarted) return now != State::kOff && now != State::kArmed && now != State::kStopped;
  ErrnoGuard errno_guard;
  LockGuard guard(start_lock);
  if (state.load(std::memory_order_relaxed) == State::kNotStarted && ArmedFolder() != nullptr) {
    state.store(State::kArmed, std::memory_order_release);
  }
  if (state.load(std::memory_order_relaxed) == State::kNotStarted) {
    ReadConfig();
    RememberStderr();
    const bool is_meant = IsMeantToBeRecorded(), can_run = IsKnownToLoader();
    if (is_meant && !can_run) RefuseStaticProgram();
    state.store(is_meant && can_run ? State::kWanted : State::kOff, std::memory_order_release);
  }
  const State then = state.load(std::memory_order_relaxed);
  return then != State::kOff && then != State::kArmed;
}

void LeaveArmedState() {
  const LockGuard guard(start_lock);
  if (state.load(std::memory_order_relaxed) == State::kArmed)
    state.store(State::kNotStarted, std::memory_order_release);
}

bool StartTracer() {
  const State now = state.load(std::memory_order_acquire);
  if (now == State::kRecording) return true;
  if (!IsTracerWanted()) return false;
  ErrnoGuard errno_guard;
  LockGuard guard(start_lock);
  const State then = state.load(std::memory_order_relaxed);
  if (then != State::kWanted && then != State::kForked) return then == State::kRecording;
  if (!IsMeantToBeRecorded()) {
    state.store(State::kOff, std::memory_order_release);
    return false;
  }
  BeginRecording(then == State::kForked);
  if (then == State::kWanted) SayUnknownVariables();
  return true;
}

void StopTracer() {
  if (!IsRecording()) return;
  ErrnoGuard errno_guard;
  Ask(Request::kEnd);
  SetStopped();
}

}  // namespace gprof::tracer
