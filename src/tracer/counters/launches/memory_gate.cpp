#include "tracer/counters/launches/memory_gate.h"

#include "tracer/counters/launches/measuring_state.h"

#ifdef GPROF_HAS_RANGE_PROFILER
#include <cstring>

namespace gprof::tracer {
namespace {

constexpr uint32_t kMaxCbids = 2048;
constexpr const char* kBegins[] = {"cuMem",     "cuArray",      "cuMipmapped",        "cuModule",
                                   "cuLibrary", "cuCtxDestroy", "cuStreamWriteValue", "cuStreamBatchMemOp"};

CUpti_SubscriberHandle kept_subscriber = nullptr;
bool is_gated[kMaxCbids] = {};
constinit thread_local uint32_t depth = 0;  // of such calls within such calls, where the outermost was seen to begin

bool IsAboutMemory(const char* name) {
  for (const char* const begin : kBegins) {
    if (std::strncmp(name, begin, std::strlen(begin)) == 0) return true;
  }
  return false;
}

}  // namespace

void KeepSubscriber(CUpti_SubscriberHandle subscriber) { kept_subscriber = subscriber; }

void GateMemoryCalls() {
  static bool is_done = false;
  if (is_done) return;
  is_done = true;
  for (uint32_t cbid = 1; cbid < kMaxCbids; ++cbid) {
    const char* name = nullptr;
    const CUptiResult result = Cupti().cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &name);
    if (result != CUPTI_SUCCESS || name == nullptr || !IsAboutMemory(name)) continue;
    is_gated[cbid] = true;
    Cupti().cuptiEnableCallback(1, kept_subscriber, CUPTI_CB_DOMAIN_DRIVER_API, cbid);
  }
}

bool TakeMemoryCall(CUpti_CallbackId cbid, const CUpti_CallbackData* info, bool is_ours) {
  if (cbid >= kMaxCbids || !is_gated[cbid]) return false;
  if (is_ours) return true;
  if (info->callbackSite == CUPTI_API_ENTER) {
    if (depth++ == 0) measuring.gate.Enter(kLaunchPatienceNs);
  } else if (depth > 0 && --depth == 0) {
    measuring.gate.Leave();
  }
  return true;
}

}  // namespace gprof::tracer
#endif
