#include "tracer/cupti/library/driver_exit.h"

#include <stdlib.h>

#include <atomic>

#include "tracer/core/exit_hold.h"
#include "tracer/core/tracer.h"
#include "tracer/cupti/calls/callback_listener.h"
#include "tracer/cupti/cupti_session.h"

namespace gprof::tracer {
namespace {

constinit std::atomic<int> exits_to_come{0};

// Registered within the driver's start-up, so it runs before the driver's own teardown; the last one of these to run
// is the first that was registered, and after it CUPTI is not called again.
void FlushAtExit() {
  WaitForStartBesideProgram();
  const bool is_last = exits_to_come.fetch_sub(1) == 1;
  if (IsRecording() && CuptiIsActive()) {
    if (const CallbackListener* listener = callback_listener; listener != nullptr) listener->driver_goes();
    FlushNow(is_last);
  }
  if (is_last) StopCupti(StopReason::kDriverGoes);
}

}  // namespace

void FlushBeforeDriverGoes() {
  constexpr int kEnough = 2;  // once when the driver is up, once more with the first context
  static std::atomic<int> registered{0};
  if (registered.load(std::memory_order_relaxed) >= kEnough || registered.fetch_add(1) >= kEnough) return;
  exits_to_come.fetch_add(1);
  if (atexit(FlushAtExit) != 0) exits_to_come.fetch_sub(1);
  if (registered.load(std::memory_order_relaxed) == 1) at_quick_exit(StopTracer);
}

}  // namespace gprof::tracer
