#include "tracer/cupti/cupti_session.h"

#include <atomic>

#include "tracer/capture/capture.h"
#include "tracer/core/notice.h"
#include "tracer/core/process_record.h"
#include "tracer/core/tracer.h"
#include "tracer/cupti/activity/activity_kinds.h"
#include "tracer/cupti/activity/activity_records.h"
#include "tracer/cupti/activity/found_contexts.h"
#include "tracer/cupti/activity/kernel_switch.h"
#include "tracer/cupti/activity/pauses.h"
#include "tracer/cupti/calls/callback_listener.h"
#include "tracer/cupti/calls/callback_switches.h"
#include "tracer/cupti/calls/callbacks.h"
#include "tracer/cupti/calls/graph_level.h"
#include "tracer/cupti/calls/graph_nodes.h"
#include "tracer/cupti/guest_profiler.h"
#include "tracer/cupti/library/driver_exit.h"
#include "tracer/cupti/library/driver_queries.h"
#include "tracer/cupti/library/gpu_clock.h"
#include "tracer/store/clock.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/memory/arena.h"
#include "tracer/system/settings.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constinit std::atomic<bool> is_active{false};
CUpti_SubscriberHandle our_subscriber;
bool can_record_work = false;
uint64_t session_refused_at = 0;

// What the flush thread is asked for and what it has done, counted up.
constinit std::atomic<uint32_t> asked{0};
constinit std::atomic<uint32_t> done{0};
constinit std::atomic<bool> asked_with_unfinished{false};
constinit std::atomic<bool> has_thread{false};
constinit std::atomic<bool> flush_worked{true};
// Beside the flush, what else the thread shall do.
enum class Switch : uint32_t { kNone, kOn, kOff, kEndThread };
constinit std::atomic<Switch> asked_switch{Switch::kNone};

// Written by the flush thread before `done`, read by the writer thread after it.
CuptiInstant last_point;
constinit std::atomic<uint64_t> dropped{0};
constinit GpuClock gpu_clock GPROF_IN_ARENA;   // writer thread
bool is_given_up = false;                      // the last flush did not come back [writer thread]
CuptiInstant taken_point GPROF_IN_ARENA = {};  // writer thread's copy of the last one it has seen finished

CuptiInstant ReadCuptiInstant() {
  CuptiInstant best;
  uint64_t narrowest = ~0ull;
  for (int i = 0; i < 6; ++i) {
    uint64_t cupti = 0;
    const uint64_t before = MonotonicNs();
    if (Cupti().cuptiGetTimestamp(&cupti) != CUPTI_SUCCESS) return {};
    const uint64_t after = MonotonicNs();
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    best = {cupti, before + (after - before) / 2};
  }
  return best;
}

// May be done in the midst of everything: what was launched before is still delivered, what is launched in a pause is
// left out (pauses.h). False when callbacks linger.
bool SwitchNow(bool on) {
  if (on) EndPause();
  if (can_record_work && !(on && IsCuptiLent())) SetWorkKinds(on);
  const bool is_done = SetApiCallbacks(on);
  if (!on) BeginPause();
  return is_done;
}

// On a thread of ours there is time to wait until the program's threads are out of the functions.
void SwitchPatiently(bool on) {
  constexpr uint32_t kTries = 50;
  constexpr uint64_t kPauseNs = 100000;
  bool is_done = SwitchNow(on);
  for (uint32_t i = 0; i < kTries && !is_done; ++i) {
    FutexWait(&asked, asked.load(std::memory_order_relaxed), kPauseNs);
    is_done = FinishSwitchingOff();
  }
}

void SayShutDown() {
  Message message;
  message << "CUPTI was shut down while the program was running, by another profiler (cuptiFinalize) or by an internal "
             "error; later GPU work is not recorded, and undelivered records are lost";
  Say(trace::NoticeLevel::kWarning, message);
}

void FlushOnce(bool with_unfinished) {
  if (IsCuptiLent()) TakeBackFromIdleGuest();
  last_point = {};
  if (IsCuptiLent()) return;  // the clock and the buffers are the guest's
  last_point = ReadCuptiInstant();
  const CUptiResult flushed = Cupti().cuptiActivityFlushAll(0);
  flush_worked.store(flushed != CUPTI_ERROR_NOT_INITIALIZED, std::memory_order_relaxed);
  if (flushed == CUPTI_ERROR_NOT_INITIALIZED) SayShutDown();
  // At the end an unforced flush has been seen to leave buffers behind, too.
  if (with_unfinished) Cupti().cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  if (!with_unfinished) DecideGraphLevel();
  std::size_t count = 0;
  const auto get_dropped = Cupti().cuptiActivityGetNumDroppedRecords;
  if (get_dropped != nullptr && get_dropped(nullptr, 0, &count) == CUPTI_SUCCESS) {
    dropped.fetch_add(count, std::memory_order_relaxed);
  }
}

// CUPTI gets a thread of its own: a flush may take long or hang, and it needs the target's descriptors, which the
// writer thread does without.
void* RunFlushThread(void* name) {
  NameThread(static_cast<const char*>(name));
  while (true) {
    const uint32_t want = asked.load(std::memory_order_acquire);
    if (want == done.load(std::memory_order_relaxed)) {
      FutexWait(&asked, want, 3600ull * 1000000000u);
      continue;
    }
    const Switch wanted = asked_switch.exchange(Switch::kNone, std::memory_order_acq_rel);
    if (wanted == Switch::kEndThread) break;
    if (is_active.load(std::memory_order_acquire)) {
      if (wanted != Switch::kNone) SwitchPatiently(wanted == Switch::kOn);
      FlushOnce(asked_with_unfinished.load(std::memory_order_relaxed));
    }
    done.store(want, std::memory_order_release);
    FutexWake(&done);
  }
  return nullptr;
}

bool WaitForThread(uint32_t want, uint64_t timeout_ns) {
  FutexWake(&asked);
  const uint64_t deadline = MonotonicNs() + timeout_ns;
  for (uint32_t finished = done.load(std::memory_order_acquire); finished != want;) {
    const uint64_t now = MonotonicNs();
    if (now >= deadline) return false;
    FutexWait(&done, finished, deadline - now);
    finished = done.load(std::memory_order_acquire);
  }
  return true;
}

// A request is counted; true when it was carried out in time.
bool AskThread(bool with_unfinished, uint64_t timeout_ns) {
  asked_with_unfinished.store(with_unfinished, std::memory_order_relaxed);
  return WaitForThread(asked.fetch_add(1, std::memory_order_acq_rel) + 1, timeout_ns);
}

void SayNoSubscription(CUptiResult result) {
  Message message;
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    message << "CUDA is not recorded: another profiler is using CUPTI (error 39); run without it (Nsight, "
               "compute-sanitizer, "
               "torch.profiler)";
  } else if (result == CUPTI_ERROR_NOT_INITIALIZED) {
    message << "CUDA is not recorded: " << Cupti().path
            << " is newer than the driver (error 15); use an older libcupti "
               "with --cupti FILE";
  } else {
    message << "CUDA is not recorded: cuptiSubscribe of " << Cupti().path << " answers " << Cupti().NameOf(result)
            << " (" << static_cast<uint64_t>(result) << "); is the CUDA driver usable?";
  }
  Say(trace::NoticeLevel::kWarning, message);
}

void SetAttributes() {
  if (Cupti().cuptiSetThreadIdType != nullptr) Cupti().cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  // Nor can it be set where another profiler was there before, as buffers have been asked for since.
  if (Cupti().cuptiActivitySetAttribute == nullptr || session_refused_at != 0) return;
  uint8_t on = 1;
  std::size_t size = sizeof on;
  Cupti().cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &size, &on);
}

void EnableCallbacks() {
  for (const CUpti_CallbackId cbid :
       {CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
        CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, CUPTI_CBID_RESOURCE_STREAM_CREATED,
        CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED}) {
    Cupti().cuptiEnableCallback(1, our_subscriber, CUPTI_CB_DOMAIN_RESOURCE, cbid);
  }
  if (Config().wants_graph_nodes) ListenToGraphNodes(our_subscriber);
  PrepareApiCallbacks(our_subscriber);
  if (callback_listener != nullptr) callback_listener->subscribe(our_subscriber);
}

}  // namespace

void SwitchCupti(bool on) {
  if (!CuptiIsActive() || !Config().wants_cuda) return;
  if (!IsWriterThread() || !has_thread.load(std::memory_order_relaxed)) {
    SwitchNow(on);
    return;
  }
  constexpr uint64_t kPatienceNs = 2000u * 1000000u;
  asked_switch.store(on ? Switch::kOn : Switch::kOff, std::memory_order_release);
  AskThread(false, kPatienceNs);
}

uint64_t CuptiRefusedAt() { return session_refused_at; }

void RecordWorkAgain() {
  if (can_record_work && IsCapturing()) SetWorkKinds(true);
}

bool StartCuptiSession() {
  if (is_active.load(std::memory_order_acquire)) return true;
  const uint32_t driver_version = DriverVersion();
  if (IsAttached() && HasDriverGone()) return false;
  if (!LoadCupti(&Cupti(), driver_version)) return false;
  const CUptiResult subscribed = Cupti().cuptiSubscribe(&our_subscriber, OnCallback, nullptr);
  if (subscribed != CUPTI_SUCCESS) {
    if (subscribed == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && session_refused_at == 0)
      session_refused_at = Stamp();
    SayNoSubscription(subscribed);
    return false;
  }
  // The driver is up already, and has not told us so.
  if (session_refused_at != 0 || IsAttached()) FlushBeforeDriverGoes();
  LearnRecordSizes();
  ForgetKnownContexts();
  if (IsAttached()) {
    looks_for_contexts = true;
    ExpectEarlierGraphs();
  }
  ForgetPauses();
  SetAttributes();
  const CUptiResult registered = Cupti().cuptiActivityRegisterCallbacks(RequestBuffer, CompleteBuffer);
  if (registered != CUPTI_SUCCESS) {
    Message message;
    message << "GPU work is not recorded: cuptiActivityRegisterCallbacks answers " << Cupti().NameOf(registered);
    Say(trace::NoticeLevel::kWarning, message);
  } else {
    EnableFactKinds();
    can_record_work = true;
  }
  EnableCallbacks();
  SetUsedCupti({Names().Intern(Cupti().path), Cupti().version, driver_version});
  is_active.store(true, std::memory_order_release);
  if (IsCapturing() || IsBaseRecorded()) SwitchCupti(IsCapturing());
  if (!has_thread.load(std::memory_order_relaxed)) {
    has_thread.store(StartThread(RunFlushThread, "gprof-cupti"), std::memory_order_release);
  }
  return true;
}

CUpti_SubscriberHandle OurSubscriber() { return our_subscriber; }
bool CuptiIsActive() { return is_active.load(std::memory_order_acquire); }

void StopCupti(StopReason why) {
  is_active.store(false, std::memory_order_release);
  if (why != StopReason::kThreadsEnd) return;
  asked_switch.store(Switch::kEndThread, std::memory_order_release);
  asked.fetch_add(1, std::memory_order_acq_rel);
  FutexWake(&asked);
}

bool FlushActivity(bool with_unfinished, uint64_t timeout_ns) {
  if (!CuptiIsActive() || !has_thread.load(std::memory_order_acquire)) return false;
  const uint32_t want = asked.load(std::memory_order_relaxed);
  // An ordinary flush that is still running serves as this one, and one that was given up is not waited for again.
  const bool is_running = done.load(std::memory_order_acquire) != want;
  if (is_running && is_given_up) return false;
  const bool in_time =
      is_running && !with_unfinished ? WaitForThread(want, timeout_ns) : AskThread(with_unfinished, timeout_ns);
  is_given_up = !in_time && with_unfinished;
  if (!in_time) return false;
  if (last_point.cupti_ns != 0 && last_point.monotonic_ns > taken_point.monotonic_ns) {
    taken_point = last_point;
    gpu_clock.Add(taken_point.cupti_ns, taken_point.monotonic_ns);
  }
  return flush_worked.load(std::memory_order_relaxed);
}

uint64_t TakeCuptiDropped() { return dropped.exchange(0, std::memory_order_relaxed); }

uint64_t GpuTimeToNs(uint64_t cupti_ns) {
  // Before the first flush came back, what the documentation says must do: CUPTI counts as CLOCK_REALTIME does.
  if (taken_point.monotonic_ns == 0) return cupti_ns - (RealtimeNs() - MonotonicNs());
  return gpu_clock.ToNs(cupti_ns);
}

CuptiInstant LastCuptiInstant() { return taken_point; }

}  // namespace gprof::tracer
