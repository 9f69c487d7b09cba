#include "tracer/counters/launches/batch_closer.h"

#include "tracer/capture/capture.h"
#include "tracer/counters/launches/driver_queries.h"
#include "tracer/counters/launches/hang_watch.h"
#include "tracer/counters/results/held_up.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {
namespace {

constinit std::atomic<uint32_t> closer_word{0};  // changes when there is something to do for the thread
constinit std::atomic<bool> has_closer{false}, closer_ends{false};

void PokeCloser() {
  closer_word.fetch_add(1, std::memory_order_release);
  FutexWake(&closer_word);
}

constexpr uint64_t kPeriodNs = 100'000'000;

void CloseIfOld() {
  if (!measuring.batch.IsOld() || !measuring.gate.Close(kPeriodNs)) return;
  const uint64_t since_ns = MonotonicNs();
  if (measuring.batch.IsOld() && !measuring.is_off.load(std::memory_order_acquire)) {
    CloseBatch();
    if (measuring.sampler.IsOn()) HoldUp(since_ns);
  }
  measuring.gate.Open();
}

// Contexts that wait for being made ready for samples.
CUcontext contexts[8] = {};

// To start the profiler for the first time takes 360 ms on its own thread, and 800 ms within a launch (H200).
void WarmUp(RangeSession* session) {
  if (!measuring.gate.Close(measuring.PatienceNs())) return;
  const uint64_t since_ns = MonotonicNs();
  if (measuring.graph_calls.load() == 0) {
    const CurrentContext current(session->context());
    if (session->Begin(LaunchSampler::kLaunches, CUPTI_ApplicationReplay)) session->End();
  }
  HoldUp(since_ns);
  measuring.gate.Open();
}

// False: all that can be ready is, and nothing was done. Else the program may have been held up.
bool PrepareContexts() {
  const LockGuard guard(measuring.lock);
  bool has_work = false, is_good = false;
  for (CUcontext context : contexts) {
    if (context == nullptr) continue;
    const RangeSession* known = RangeSession::Known(context);
    const bool is_done = known != nullptr && (known->HasBegun() || !known->IsUsable());
    RangeSession* session = SessionOf(context);
    if (!is_done && session != nullptr) WarmUp(session);
    has_work |= !is_done;
    is_good |= session != nullptr && session->IsUsable();
  }
  if (!is_good) measuring.sampler.GiveUp();
  return has_work;
}

// Long before a launch needs it, as it takes its time.
void SampleIfDue() {
  if (!measuring.sampler.IsOn() || !IsCapturing() || measuring.sampler.WaitNs(MonotonicNs()) != 0) return;
  if (PrepareContexts()) return measuring.sampler.SetReady();
  measuring.sampler.SetDue(MonotonicNs());
}

uint64_t WaitOfCloser() {
  const uint64_t wait_ns = measuring.sampler.WaitNs(MonotonicNs());
  return measuring.batch.IsOpen() || wait_ns == 0 ? kPeriodNs : wait_ns;
}

// Ends batches in time where no launch does, and sees when samples are due.
void* RunCloser(void* name) {
  NameThread(static_cast<const char*>(name));
  while (!closer_ends.load(std::memory_order_acquire)) {
    const uint32_t seen = closer_word.load(std::memory_order_acquire);
    FutexWait(&closer_word, seen, WaitOfCloser());
    if (measuring.is_off.load(std::memory_order_acquire)) continue;
    CloseIfOld();
    SampleIfDue();
  }
  return nullptr;
}

}  // namespace

void CloseBatch() {
  if (!measuring.batch.IsOpen()) return;
  const CurrentContext current(measuring.batch.context());
  measuring.batch.Close();
  UnwatchLaunch();
  if (!measuring.sampler.IsOn()) return;
  measuring.sampler.Ended();
  if (!measuring.batch.PaysOff()) measuring.sampler.GiveUp();
}

void EndBatch() {
  if (!measuring.batch.IsOpen() || !measuring.gate.Close(measuring.PatienceNs())) return;
  CloseBatch();
  measuring.gate.Open();
}

void EndMeasuring() {
  constexpr int kMost = 3;  // a batch that was begun just before is the last one
  for (int i = 0; i < kMost; ++i) {
    EndBatch();
    measuring.gate.Enter(measuring.PatienceNs());
    measuring.gate.Leave();
    if (!measuring.batch.IsOpen()) return;
  }
}

// The program waits for a sample.
void HoldUp(uint64_t since_ns) {
  const uint64_t now_ns = MonotonicNs();
  measuring.sampler.HeldUp(now_ns - since_ns);
  NoteHeldUp(since_ns, now_ns, CurrentTid());
}

void WakeCloser() {
  if (!has_closer.exchange(true)) StartThread(RunCloser, "gprof-counters");
  PokeCloser();
}

void ReadyContext(CUcontext context) {
  for (CUcontext& noted : contexts) {
    if (noted != nullptr) continue;
    noted = context;
    return WakeCloser();
  }
}

void ForgetContext(CUcontext context) {
  for (CUcontext& noted : contexts) {
    if (noted == context) noted = nullptr;
  }
}

void StopCloser() {
  closer_ends.store(true, std::memory_order_release);
  PokeCloser();
}

void ForgetCloserAfterFork() {
  has_closer.store(false, std::memory_order_relaxed);
  for (CUcontext& noted : contexts) noted = nullptr;
}

}  // namespace gprof::tracer
#endif
