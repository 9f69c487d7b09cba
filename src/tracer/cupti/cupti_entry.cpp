#include "gprof/trace/env.h"
#include "tracer/core/arming.h"
#include "tracer/core/entry_points.h"
#include "tracer/core/tracer.h"
#include "tracer/cupti/calls/callback_listener.h"
#include "tracer/cupti/cupti_session.h"
#include "tracer/system/system_calls.h"

// Called by libcuda within cuInit, with locks of the driver held.
GPROF_EXPORT int InitializeInjection() {
  using namespace gprof::tracer;
  ErrnoGuard errno_guard;
  if (StartTracer() && (Config().wants_cuda || callback_listener != nullptr)) {
    StartCuptiSession();
    return 1;
  }
  WaitForRequest();
  if (auto* next = EntryOfNext<int()>(gprof::trace::env::kNextCudaInjection, "InitializeInjection")) {
    next();
  }
  return 1;
}
