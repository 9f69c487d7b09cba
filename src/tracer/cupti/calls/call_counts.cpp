#include "tracer/cupti/calls/call_counts.h"

#include <cstring>

#include "tracer/capture/work_count.h"
#include "tracer/core/config.h"
#include "tracer/cupti/calls/callbacks.h"
#include "tracer/cupti/cupti_session.h"
#include "tracer/store/interned_names.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kDomains = 3, kFunctions = 2048;
uint32_t recorded[kDomains][kFunctions];

// Calls that come as often as the program does its work. Allocations, for example, come and go with caches.
bool IsWork(uint32_t domain, uint32_t cbid) {
  const trace::Text name = Names().TextOf(ApiName(static_cast<uint8_t>(domain), static_cast<uint16_t>(cbid)));
  for (const char* part : {"Launch", "Memcpy", "Memset", "Synchronize"}) {
    if (memmem(name.data, name.size, part, std::strlen(part)) != nullptr) return true;
  }
  return false;
}

uint32_t PickFunction(uint32_t least, uint32_t most, bool takes_more) {
  uint32_t cheap = 0, cheap_calls = 0, other = 0, other_calls = ~0u;
  for (uint32_t domain = 1; domain < kDomains; ++domain) {
    for (uint32_t cbid = 1; cbid < kFunctions; ++cbid) {
      const uint32_t calls = recorded[domain][cbid];
      if (calls < least || !IsWork(domain, cbid)) continue;
      if (calls <= most && calls > cheap_calls) {
        cheap = FunctionNumber(domain, cbid);
        cheap_calls = calls;
      }
      if (calls < other_calls) {
        other = FunctionNumber(domain, cbid);
        other_calls = calls;
      }
    }
  }
  return cheap == 0 && takes_more ? other : cheap;
}

uint32_t CallsOf(uint32_t function) { return recorded[function >> 16][function & 0xffffu]; }
void ForgetCalls() { std::memset(recorded, 0, sizeof recorded); }

trace::StringId NameOfFunction(uint32_t function) {
  return ApiName(static_cast<uint8_t>(function >> 16), static_cast<uint16_t>(function));
}

constexpr CallSource kCallbacks = {
    .pick = PickFunction, .calls = CallsOf, .forget = ForgetCalls, .name = NameOfFunction, .listen = [] {
      SwitchCupti(false);
    }};

}  // namespace

void SetUpCallCounts() {
  if (Config().capture_start == CaptureStart::kWindows) CountCallsOf(kCallbacks);
}

void NoteRecordedCall(uint32_t domain, uint32_t cbid) {
  if (domain < kDomains && cbid < kFunctions) ++recorded[domain][cbid];
}

}  // namespace gprof::tracer
