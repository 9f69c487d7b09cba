#include "tracer/cupti/activity/kernel_switch.h"

#include <atomic>
#include <utility>

#include "tracer/cupti/library/cupti_api.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constexpr CUpti_ActivityKind kKernelKind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
constexpr uint32_t kMaxContexts = 256;

constinit std::atomic<CUcontext> contexts[kMaxContexts] = {};
constinit std::atomic<CUcontext> being_switched{nullptr};
constinit std::atomic<bool> has_more{false};  // than there is room for
bool is_enabled = false;                      // as a whole
bool is_paused = false;                       // in the contexts that there were

CUptiResult SwitchIn(CUcontext context, bool on) {
  return on ? Cupti().cuptiActivityEnableContext(context, kKernelKind)
            : Cupti().cuptiActivityDisableContext(context, kKernelKind);
}

// A context that is about to go is left alone, and one that is being switched stays until that is done (LeaveContext).
CUptiResult SwitchInEach(bool on) {
  CUptiResult result = CUPTI_SUCCESS;
  for (std::atomic<CUcontext>& entry : contexts) {
    const CUcontext context = entry.load();
    if (context == nullptr) continue;
    being_switched.store(context);
    const CUptiResult one = entry.load() == context ? SwitchIn(context, on) : CUPTI_SUCCESS;
    being_switched.store(nullptr);
    if (one != CUPTI_SUCCESS) result = one;
  }
  return result;
}

bool KnowsContexts() {
  if (has_more || Cupti().cuptiActivityEnableContext == nullptr || Cupti().cuptiActivityDisableContext == nullptr)
    return false;
  for (const std::atomic<CUcontext>& entry : contexts) {
    if (entry.load(std::memory_order_relaxed) != nullptr) return true;
  }
  return false;
}

}  // namespace

CUptiResult RecordKernels() {
  if (!is_enabled) {
    const CUptiResult result = Cupti().cuptiActivityEnable(kKernelKind);
    if (result != CUPTI_SUCCESS) return result;
    is_enabled = true;
  }
  return std::exchange(is_paused, false) ? SwitchInEach(true) : CUPTI_SUCCESS;
}

CUptiResult PauseKernels() {
  if (!KnowsContexts()) return ReleaseKernels();
  is_paused = true;
  return SwitchInEach(false);
}

CUptiResult ReleaseKernels() {
  if (!is_enabled || Cupti().cuptiActivityDisable == nullptr) return CUPTI_SUCCESS;
  const CUptiResult result = Cupti().cuptiActivityDisable(kKernelKind);
  is_enabled = result != CUPTI_SUCCESS;
  return result;
}

void KnowContext(CUcontext context) {
  uint32_t i = 0;
  for (CUcontext none = nullptr; i < kMaxContexts && !contexts[i].compare_exchange_strong(none, context); ++i) {
    none = nullptr;
  }
  has_more = has_more || i == kMaxContexts;
}

void LeaveContext(CUcontext context) {
  for (std::atomic<CUcontext>& entry : contexts) {
    CUcontext known = context;
    entry.compare_exchange_strong(known, nullptr);
  }
  WaitWhile([context] { return being_switched.load() == context; }, kLongPatienceNs);
}

void ForgetKnownContexts() {
  for (std::atomic<CUcontext>& entry : contexts) entry.store(nullptr);
  being_switched = nullptr;
  has_more = false;
  is_paused = false;
  is_enabled = false;
}

}  // namespace gprof::tracer
