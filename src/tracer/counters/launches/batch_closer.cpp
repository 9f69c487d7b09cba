#include "tracer/counters/launches/batch_closer.h"

#include "tracer/counters/launches/hang_watch.h"
#include "tracer/cupti/library/driver_queries.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {
namespace {

constinit std::atomic<uint32_t> closer_word{0};  // changes when there is something to do for the thread
constinit std::atomic<bool> has_closer{false}, closer_ends{false};

void PokeCloser() {
  closer_word.fetch_add(1, std::memory_order_release);
  FutexWake(&closer_word);
}

constexpr uint64_t kPeriodNs = 100'000'000, kLongNs = 3600ull * 1'000'000'000;

void CloseIfOld() {
  if (!measuring.batch.IsOld() || !measuring.gate.Close(kPeriodNs)) return;
  if (measuring.batch.IsOld() && !measuring.is_off.load(std::memory_order_acquire)) CloseBatch();
  measuring.gate.Open();
}

// Ends batches in time where no launch does.
void* RunCloser(void* name) {
  NameThread(static_cast<const char*>(name));
  while (!closer_ends.load(std::memory_order_acquire)) {
    const uint32_t seen = closer_word.load(std::memory_order_acquire);
    FutexWait(&closer_word, seen, measuring.batch.IsOpen() ? kPeriodNs : kLongNs);
    if (!measuring.is_off.load(std::memory_order_acquire)) CloseIfOld();
  }
  return nullptr;
}

}  // namespace

void CloseBatch() {
  if (!measuring.batch.IsOpen()) return;
  const CurrentContext current(measuring.batch.context());
  measuring.batch.Close();
  UnwatchLaunch();
}

void EndBatch() {
  if (!measuring.batch.IsOpen() || !measuring.gate.Close(kLaunchPatienceNs)) return;
  CloseBatch();
  measuring.gate.Open();
}

void EndMeasuring() {
  constexpr int kMost = 3;  // a batch that was begun just before is the last one
  for (int i = 0; i < kMost; ++i) {
    EndBatch();
    measuring.gate.Enter(kLaunchPatienceNs);
    measuring.gate.Leave();
    if (!measuring.batch.IsOpen()) return;
  }
}

void WakeCloser() {
  if (!has_closer.exchange(true)) StartThread(RunCloser, "gprof-counters");
  PokeCloser();
}

void StopCloser() {
  closer_ends.store(true, std::memory_order_release);
  PokeCloser();
}

void ForgetCloserAfterFork() { has_closer.store(false, std::memory_order_relaxed); }

}  // namespace gprof::tracer
#endif
