// Another collector that hears CUPTI's callbacks. There is one subscriber to CUPTI in a process, and this leads on what
// it is told.
#pragma once

#include "tracer/cupti/library/cupti_api.h"

namespace gprof::tracer {

struct CallbackListener {
  void (*subscribe)(CUpti_SubscriberHandle subscriber);  // enables the callbacks that it wants
  // True: the callback was its own, and nobody else's.
  bool (*take)(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data);
  // The process exits, and the driver and CUPTI still work. [thread that exits]
  void (*driver_goes)();
};

// Before CUPTI starts; it starts for the listener alone, too. [starting thread]
void SetCallbackListener(const CallbackListener* listener);
// Null as a rule.
const CallbackListener* TheCallbackListener();

}  // namespace gprof::tracer
