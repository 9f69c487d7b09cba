#include "tracer/counters/launches/whole_range.h"

#include <atomic>

#include "tracer/core/config.h"
#include "tracer/counters/launches/driver_facts.h"
#include "tracer/counters/launches/measuring_state.h"
#include "tracer/counters/request/wanted_counters.h"
#include "tracer/counters/results/launch_records.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {
namespace {

const char* RangeName() { return Config().capture_range[0] != 0 ? Config().capture_range : "the whole run"; }

constinit std::atomic<uint64_t> range_start_ns{0};

}  // namespace

bool MeasuresRanges() { return TheCounterRequest()->replay == Replay::kRange; }

void BeginRange(RangeSession* session) {
  const CurrentContext current(session->context());
  range_start_ns.store(MonotonicNs(), std::memory_order_relaxed);
  session->BeginOneRange(RangeName());
}

void EndRange(RangeSession* session) {
  if (!session->IsInOneRange()) return;
  const CurrentContext current(session->context());
  const uint64_t end_ns = MonotonicNs();
  if (session->End() == 1) KeepOneRange(*session, RangeName(), range_start_ns.load(std::memory_order_relaxed), end_ns);
}

void BeginRanges() {
  const LockGuard guard(measuring.lock);
  RangeSession::ForEach(BeginRange);
}

void EndRanges() {
  const LockGuard guard(measuring.lock);
  RangeSession::ForEach(EndRange);
}

}  // namespace gprof::tracer
#endif
