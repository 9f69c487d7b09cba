#include "tracer/counters/launches/measuring_state.h"

#include "tracer/counters/results/measured_ranges.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {

constinit MeasuringState measuring;

namespace {

constexpr uint32_t kMaxFacts = 32;

}  // namespace

bool PrepareMeasuring() {
  static bool is_tried = false, is_ready = false;
  if (is_tried) return is_ready;
  is_tried = true;
  CounterRequest& request = *ReadCounterRequest();
  is_ready = measuring.filter.Prepare(&request) && MakeRoomForRanges(request.metric_count + kMaxFacts);
  return is_ready;
}

RangeSession* SessionOf(CUcontext context) { return PrepareMeasuring() ? RangeSession::Of(context) : nullptr; }

void MeasuringState::ResetAfterFork() {
  is_off.store(false, std::memory_order_relaxed);
  graph_calls.store(0, std::memory_order_relaxed);
  lock.ResetAfterFork();
  gate.ResetAfterFork();
  batch.ForgetAfterFork();
}

}  // namespace gprof::tracer
#endif
