// The functions that serving engines call. Nothing but rows in the log of the calling thread.
#include "gprof/trace/serving_calls.h"

#include <atomic>

#include "gprof/trace/record.h"
#include "tracer/capture/capture.h"
#include "tracer/core/entry_points.h"
#include "tracer/core/tracer.h"
#include "tracer/serving/serving_collector.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/thread_log.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constinit std::atomic<uint32_t> last_step{0};

// Null where nothing is recorded now.
ThreadLog* LogOfEngine() { return StartTracer() && IsBaseRecorded() ? OwnLog() : nullptr; }

uint32_t At(const uint64_t* column, uint64_t i) { return column == nullptr ? 0 : static_cast<uint32_t>(column[i]); }

}  // namespace

void ResetServingAfterFork() { last_step.store(0, std::memory_order_relaxed); }

}  // namespace gprof::tracer

// 0: nothing is recorded now, and there is no step to end.
GPROF_EXPORT uint64_t GprofBeginEngineStep() {
  using namespace gprof::tracer;
  ErrnoGuard errno_guard;
  return LogOfEngine() == nullptr ? 0 : Stamp();
}

GPROF_EXPORT void GprofEndEngineStep(const gprof::trace::EngineStepCall* call) {
  using namespace gprof::tracer;
  ErrnoGuard errno_guard;
  const uint64_t end = Stamp();
  ThreadLog* const log = call->begin == 0 ? nullptr : LogOfEngine();
  if (log == nullptr) return;
  const uint32_t step = last_step.fetch_add(1, std::memory_order_relaxed) + 1;
  Append(log, EngineStepRow{RowHeaderOf<EngineStepRow>(RowType::kEngineStep), step, call->begin, end, call->requests,
                            call->waiting, call->cache_used, call->cache_blocks});
  for (uint64_t i = 0; i < call->requests; ++i) {
    StepRequestRow row{RowHeaderOf<StepRequestRow>(RowType::kStepRequest),
                       step,
                       call->begin,
                       At(call->request, i),
                       At(call->tokens, i),
                       At(call->cached, i),
                       At(call->tokens_out, i)};
    row.header.flags = At(call->is_prefill, i) != 0 ? 1 : 0;
    Append(log, row);
  }
}

// 1: it is recorded.
GPROF_EXPORT int GprofTellRequestEvent(const gprof::trace::RequestEventCall* call) {
  using namespace gprof::tracer;
  ErrnoGuard errno_guard;
  ThreadLog* const log = LogOfEngine();
  if (log == nullptr) return 0;
  const uint64_t now = Stamp();  // the clock is chosen when the tracer starts
  RequestEventRow row{RowHeaderOf<RequestEventRow>(RowType::kRequestEvent),
                      call->name == nullptr ? gprof::trace::StringId{} : Names().Intern(call->name, call->name_bytes),
                      now,
                      call->ago_ns,
                      static_cast<uint32_t>(call->request),
                      static_cast<uint32_t>(call->tokens)};
  row.header.flags = static_cast<uint8_t>(call->event);
  return Append(log, row) ? 1 : 0;
}

// So many tokens of each of these requests were handed out now.
GPROF_EXPORT void GprofTellTokensOut(uint64_t requests, const uint64_t* request, const uint64_t* tokens) {
  using namespace gprof::tracer;
  ErrnoGuard errno_guard;
  ThreadLog* const log = LogOfEngine();
  if (log == nullptr) return;
  const uint64_t now = Stamp();
  for (uint64_t i = 0; i < requests; ++i) {
    RequestEventRow row{
        RowHeaderOf<RequestEventRow>(RowType::kRequestEvent), {}, now, 0, At(request, i), At(tokens, i)};
    row.header.flags = static_cast<uint8_t>(gprof::trace::RequestEventKind::kTokensOut);
    Append(log, row);
  }
}
