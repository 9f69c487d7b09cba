// CUDA API calls and the creation of streams and contexts, through callbacks of a CUPTI subscriber: cheaper than
// activity records, and calls that are not wanted cost nothing at all.
#pragma once

#include "gprof/trace/record.h"
#include "tracer/cupti/library/cupti_api.h"

namespace gprof::tracer {

void CUPTIAPI OnCallback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data);

// Learns the functions of the loaded library and what each is to us; once. Only cudaProfilerStart and its like are
// listened to from then on, and calls that make conditional nodes of graphs.
void PrepareApiCallbacks(CUpti_SubscriberHandle subscriber);
// Enables a callback for every function that is to be recorded, or none. Calls that threads are in at that moment are
// left out. False when some linger because threads are within them (callback_switches.h). [one thread at a time]
bool SetApiCallbacks(bool on);
// Whether callbacks of the function are ours to hear, now or in a capture.
bool WantsCallback(uint32_t domain, uint32_t cbid);
// Whether a call that was entered at this stamp was entered since the callbacks were switched on: an OpenCall from
// before tells nothing. 0 is no call.
bool IsOfThisCapture(uint64_t start);

// Name of a function without its version suffix, empty for one that is not recorded. [writer thread, or salvage]
trace::StringId ApiName(uint8_t domain, uint16_t cbid);

}  // namespace gprof::tracer
