// Another collector that hears CUPTI's callbacks. There is one subscriber to CUPTI in a process, and this leads on what
// it is told.
#pragma once

#include "tracer/cupti/library/cupti_api.h"

namespace gprof::tracer {

struct CallbackListener {
  void (*subscribe)(CUpti_SubscriberHandle subscriber);  // enables the callbacks that it wants
  // True: the callback was its own, and nobody else's.
  bool (*take)(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data);
  // Where the callback was somebody else's as well, and that one is done with it. May be null.
  void (*after_others)(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) = nullptr;
  // Whether the callback has to come outside of captures, too, as one that is missed does harm. May be null.
  bool (*keeps_on)(CUpti_CallbackDomain domain, CUpti_CallbackId cbid) = nullptr;
  // A kernel ran, by the number of its name. False: it is none of the program's. May be null. [writer thread]
  bool (*take_kernel)(uint32_t name, uint64_t duration_ns) = nullptr;
  // The process exits, and the driver and CUPTI still work. [thread that exits]
  void (*driver_goes)();
};

// Before CUPTI starts; it starts for the listener alone, too. [starting thread]
void SetCallbackListener(const CallbackListener* listener);
// Null as a rule.
const CallbackListener* TheCallbackListener();

}  // namespace gprof::tracer
