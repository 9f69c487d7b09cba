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

// Null as a rule. Set before CUPTI starts, which it does for the listener alone, too. [starting thread]
inline constinit const CallbackListener* callback_listener = nullptr;

}  // namespace gprof::tracer
