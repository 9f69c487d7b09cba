#include "tracer/osrt/wakers/wakers.h"

#include "tracer/store/thread_log.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {

constinit WaitPlace wait_places[1u << kWaitPlaceBits];

// Two that begin at the same moment for two things may share a place for that time: one may then be told of the waker
// of the other, which is why places are many.
WaitPlace* BeginWait(uintptr_t address) {
  WaitPlace* const place = WaitPlaceOf(address);
  if (place->address.load(std::memory_order_relaxed) != address) {
    uint32_t none = 0;
    if (!place->waiters.compare_exchange_strong(none, 1, std::memory_order_acq_rel)) return nullptr;
    place->waker_tid.store(0, std::memory_order_relaxed);
    place->address.store(address, std::memory_order_release);
    return place;
  }
  if (place->waiters.fetch_add(1, std::memory_order_acq_rel) == 0) place->waker_tid.store(0, std::memory_order_relaxed);
  return place;
}

uint32_t EndWait(WaitPlace* place) {
  const uint32_t waker_tid = place->waker_tid.load(std::memory_order_acquire);
  place->waiters.fetch_sub(1, std::memory_order_acq_rel);
  return waker_tid;
}

void LeaveName(WaitPlace* place) {
  const ThreadLog* const log = own_log;
  place->waker_tid.store(log != nullptr ? log->tid : CurrentTid(), std::memory_order_release);
}

void ForgetWaits() {
  for (WaitPlace& place : wait_places) {
    place.waiters.store(0, std::memory_order_relaxed);
    place.address.store(0, std::memory_order_relaxed);
  }
}

}  // namespace gprof::tracer
