// CUDA API calls and the creation of streams and contexts, through callbacks of a CUPTI subscriber: cheaper than
// activity records, and calls that are not wanted cost nothing at all.
#pragma once

#include "cupti_api.h"
#include "gprof/trace/record.h"

namespace gprof::tracer {

void CUPTIAPI OnCallback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data);

// Enables a callback for every function of the loaded library that is to be recorded.
void EnableApiCallbacks(CUpti_SubscriberHandle subscriber, bool wants_queries);

// Name of a function without its version suffix. [writer thread]
trace::StringId ApiName(uint8_t domain, uint16_t cbid);

}  // namespace gprof::tracer
