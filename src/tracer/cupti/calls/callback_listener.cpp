#include "tracer/cupti/calls/callback_listener.h"

namespace gprof::tracer {
namespace {
const CallbackListener* listener = nullptr;
}

void SetCallbackListener(const CallbackListener* who) { listener = who; }
const CallbackListener* TheCallbackListener() { return listener; }

}  // namespace gprof::tracer
