// Callbacks of CUDA functions on and off. CUPTI counts on each thread how deep it is within functions whose callbacks
// are on. One that is switched off while a thread is within its function takes the exit away: from then on all calls of
// that thread carry the same correlation id, and after some of that CUPTI crashes (libcupti 13.0; docs/tracer.md). So a
// callback is switched off only while no thread is within its function, and lingers until then.
#pragma once

#include <cstdint>

#include "tracer/cupti/library/cupti_api.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {

void SetCallbackSubscriber(CUpti_SubscriberHandle subscriber);

// Around each call whose callback comes. [own thread]
void EnterFunction(ThreadLog* log, uint32_t domain, uint32_t cbid);
void LeaveFunction(ThreadLog* log, uint32_t domain, uint32_t cbid);

// [one thread at a time]
void SwitchCallbackOn(uint32_t domain, uint32_t cbid);
// Takes effect with FinishSwitchingOff().
void SwitchCallbackOff(uint32_t domain, uint32_t cbid);
// True when all of them are off; what lingers may be tried again.
bool FinishSwitchingOff();

}  // namespace gprof::tracer
