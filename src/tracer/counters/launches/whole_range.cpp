#include "tracer/counters/launches/whole_range.h"

#include <cstring>

#include "tracer/capture/capture.h"
#include "tracer/counters/launches/measuring_state.h"
#include "tracer/counters/request/wanted_counters.h"
#include "tracer/counters/results/launch_records.h"
#include "tracer/cupti/library/driver_queries.h"
#include "tracer/store/interned_names.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {
namespace {

// All of it with the lock.
struct RangeNow {
  bool is_open = false;
  uint32_t threads_there = 0;  // where a filter looks: the range is open until the last one has left
  uint32_t number = 0;         // of ranges so far
  MeasuredSpan span;
};
constinit RangeNow now;

bool HasFilters() { return TheCounterRequest()->nvtx.HasAny(); }

bool IsInCount(uint32_t number) {
  const CounterRequest& request = *TheCounterRequest();
  return number > request.skip && (request.count == 0 || number - request.skip <= request.count);
}

void Begin(RangeSession* session) {
  static char name[kMaxNameBytes + 1];
  const trace::Text text = Names().TextOf(now.span.name);
  std::memcpy(name, text.data, text.size < kMaxNameBytes ? text.size : kMaxNameBytes);
  name[text.size < kMaxNameBytes ? text.size : kMaxNameBytes] = 0;
  const CurrentContext current(session->context());
  session->BeginOneRange(name);
}

void Open() {
  if (now.is_open || !IsCapturing() || !IsInCount(++now.number)) return;
  now.is_open = true;
  now.span.start_ns = MonotonicNs();
  RangeSession::ForEach(Begin);
}

void Close() {
  RangeSession::ForEach(EndRange);
  now.is_open = false;
}

bool IsThere() {
  const LockGuard guard(measuring.lock);
  return PrepareMeasuring() && TheCounterRequest()->nvtx.Takes(NvtxStateNow());
}

void Comes(trace::StringId name) {
  const LockGuard guard(measuring.lock);
  if (now.threads_there++ > 0) return;
  now.span = {name, PathOf(NvtxStateNow()), 0, 0};
  Open();
}

void Goes() {
  const LockGuard guard(measuring.lock);
  if (now.threads_there == 0 || --now.threads_there > 0) return;
  Close();
}

constexpr RangeWatcher kWatcher = {.is_there = IsThere, .comes = Comes, .goes = Goes};

}  // namespace

bool MeasuresRanges() { return TheCounterRequest()->replay == Replay::kRange; }

void StartRanges() {
  const LockGuard guard(measuring.lock);
  if (HasFilters()) return WatchOpenRanges(&kWatcher);
  now.span.name = Names().Intern("the whole run");
  Open();
}

void SwitchRanges(bool is_capturing) {
  const LockGuard guard(measuring.lock);
  if (!is_capturing) return Close();
  if (!HasFilters() || now.threads_there > 0) Open();
}

void JoinRange(RangeSession* session) {
  if (now.is_open) Begin(session);
}

void EndRange(RangeSession* session) {
  if (!session->IsInOneRange()) return;
  const CurrentContext current(session->context());
  MeasuredSpan span = now.span;
  span.end_ns = MonotonicNs();
  if (session->End() == 1) KeepOneRange(*session, span);
}

void EndRanges() {
  const LockGuard guard(measuring.lock);
  Close();
}

void ForgetOpenRangeAfterFork() { now = {}; }

}  // namespace gprof::tracer
#endif
