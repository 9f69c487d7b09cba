#include "tracer/cupti/activity/found_contexts.h"

#include <atomic>

#include "tracer/cupti/activity/kernel_switch.h"
#include "tracer/cupti/activity/stream_ids.h"
#include "tracer/cupti/calls/graph_level.h"
#include "tracer/cupti/library/cupti_api.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kMostContexts = 64;

struct Found {
  std::atomic<CUcontext> context;
  std::atomic<bool> is_ready;
  trace::ContextRecord record;
};
constinit Found found[kMostContexts] = {};
uint32_t told = 0;

bool Ask(CUcontext context, trace::ContextRecord* record) {
  const CuptiApi& cupti = Cupti();
  if (cupti.cuptiGetContextId == nullptr || cupti.cuptiGetDeviceId == nullptr || cupti.cuptiGetStreamIdEx == nullptr)
    return false;
  return cupti.cuptiGetContextId(context, &record->context) == CUPTI_SUCCESS &&
         cupti.cuptiGetDeviceId(context, &record->device) == CUPTI_SUCCESS &&
         cupti.cuptiGetStreamIdEx(context, nullptr, 0, &record->null_stream) == CUPTI_SUCCESS;
}

}  // namespace

bool looks_for_contexts = false;

void FindContext(CUcontext context) {
  if (context == nullptr) return;
  for (Found& entry : found) {
    CUcontext known = entry.context.load(std::memory_order_acquire);
    if (known == context) return;
    if (known != nullptr) continue;
    if (!entry.context.compare_exchange_strong(known, context)) {
      if (known == context) return;
      continue;
    }
    KnowContext(context);
    if (Ask(context, &entry.record)) NoteDevice(entry.record.device);
    entry.is_ready.store(true, std::memory_order_release);
    return;
  }
}

void TellFoundContexts(ChunkOutput* output) {
  for (; told < kMostContexts && found[told].is_ready.load(std::memory_order_acquire); ++told) {
    const trace::ContextRecord& record = found[told].record;
    if (record.context == 0) continue;  // CUPTI does not say
    NoteNullStream(record.context, record.null_stream);
    output->Add(record);
  }
}

}  // namespace gprof::tracer
