// While a launch is repeated and memory is restored in between, what another thread copies, fills or allocates would be
// undone. So such calls of the driver go through the gate of the launches.
#pragma once

#include "tracer/cupti/library/cupti_api.h"

namespace gprof::tracer {

void KeepSubscriber(CUpti_SubscriberHandle subscriber);
// From here on. Done once. [with the lock]
void GateMemoryCalls();
// [any thread] False: it is no such call.
bool TakeMemoryCall(CUpti_CallbackId cbid, const CUpti_CallbackData* info, bool is_ours);

}  // namespace gprof::tracer
