#include "tracer/cupti/guest_profiler.h"

#include <atomic>

#include "tracer/capture/capture.h"
#include "tracer/core/config.h"
#include "tracer/core/notice.h"
#include "tracer/core/tracer.h"
#include "tracer/cupti/activity/activity_buffers.h"
#include "tracer/cupti/activity/activity_kinds.h"
#include "tracer/cupti/cupti_session.h"
#include "tracer/cupti/library/cupti_api.h"
#include "tracer/imports/import_slots.h"
#include "tracer/system/clock.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kDomains = 8, kFunctions = 2048, kKinds = 256;

// A number for each function that is led here.
enum Wrapped : uint8_t {
  kSubscribe,
  kUnsubscribe,
  kEnableCallback,
  kEnableDomain,
  kRegisterCallbacks,
  kRegisterClock,
  kEnable,
  kDisable,
  kFlushAll,
  kFinalize,
  kWrapped
};
WrapTarget targets[kWrapped];

template <class F>
F* Real(Wrapped function) {
  return reinterpret_cast<F*>(targets[function].real);
}

// Calls of the guest come from any of its threads, and few.
Lock lock;
uint64_t handle[512] = {};  // its address is the guest's subscription, and CUPTI may be given it at the very end
constinit std::atomic<CUpti_CallbackFunc> callback{nullptr};
void* userdata = nullptr;
constinit std::atomic<bool> hears_domain[kDomains] = {};
constinit std::atomic<uint64_t> hears_function[kDomains][kFunctions / 64] = {};
constinit std::atomic<CUpti_BuffersCallbackRequestFunc> request{nullptr};
constinit std::atomic<CUpti_BuffersCallbackCompleteFunc> complete{nullptr};
bool is_enabled[kKinds] = {};
uint32_t enabled_kinds = 0;
CUpti_TimestampCallbackFunc guest_clock = nullptr;  // times of CUPTI are what it says, while it is lent
bool has_recorded = false;                          // since it was lent CUPTI
bool ended_capture = false;                         // when CUPTI was lent
constinit std::atomic<bool> is_lent{false};

// Of a libcupti that we do not use nothing is known here.
bool IsOurs() {
  return CuptiIsActive() && IsRecording() &&
         targets[kSubscribe].real == reinterpret_cast<void*>(Cupti().cuptiSubscribe);
}

bool IsGuest(CUpti_SubscriberHandle subscriber) { return reinterpret_cast<uint64_t*>(subscriber) == handle; }

uint64_t ClockOfCupti() { return RealtimeNs(); }

// What CUPTI has for us is delivered first. Work that is under way then is counted as lost, unless it was not launched
// within a capture.
void Lend() {
  if (is_lent.load(std::memory_order_relaxed)) return;
  static bool is_said = false;
  if (!is_said) {
    Message message;
    message << "recording pauses while the program's own profiler uses CUPTI (--yield-to-profiler)";
    Say(trace::NoticeLevel::kInfo, message);
    is_said = true;
  }
  ended_capture = IsCapturing();
  if (ended_capture) EndCapture(trace::CaptureTrigger::kProfiler);
  ReleaseKinds();
  Cupti().cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  is_lent.store(true, std::memory_order_release);
  has_recorded = false;
  if (guest_clock != nullptr) Real<decltype(cuptiActivityRegisterTimestampCallback)>(kRegisterClock)(guest_clock);
}

void TakeBack() {
  if (!is_lent.load(std::memory_order_relaxed)) return;
  // Its buffers are its own: CUPTI must not go on to fill them.
  Cupti().cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  if (guest_clock != nullptr) Real<decltype(cuptiActivityRegisterTimestampCallback)>(kRegisterClock)(ClockOfCupti);
  is_lent.store(false, std::memory_order_release);
  EnableFactKinds();
  if (ended_capture)
    BeginCapture(trace::CaptureTrigger::kProfiler);
  else if (IsCapturing())
    SwitchCupti(true);
}

void ForgetGuest() {
  for (uint32_t kind = 0; kind < kKinds; ++kind) {
    if (is_enabled[kind]) Cupti().cuptiActivityDisable(static_cast<CUpti_ActivityKind>(kind));
    is_enabled[kind] = false;
  }
  enabled_kinds = 0;
  for (uint32_t domain = 0; domain < kDomains; ++domain) {
    hears_domain[domain].store(false, std::memory_order_relaxed);
    for (auto& functions : hears_function[domain]) functions.store(0, std::memory_order_relaxed);
  }
  TakeBack();
  guest_clock = nullptr;
  callback.store(nullptr, std::memory_order_release);
}

CUptiResult CUPTIAPI Subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc function, void* data) {
  if (!IsOurs()) return Real<decltype(cuptiSubscribe)>(kSubscribe)(subscriber, function, data);
  ErrnoGuard errno_guard;
  const LockGuard guard(lock);
  if (subscriber == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (callback.load(std::memory_order_relaxed) != nullptr) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  userdata = data;
  callback.store(function, std::memory_order_release);
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(handle);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI Unsubscribe(CUpti_SubscriberHandle subscriber) {
  if (!IsGuest(subscriber)) return Real<decltype(cuptiUnsubscribe)>(kUnsubscribe)(subscriber);
  if (!IsOurs()) return CUPTI_ERROR_NOT_INITIALIZED;
  ErrnoGuard errno_guard;
  const LockGuard guard(lock);
  ForgetGuest();
  return CUPTI_SUCCESS;
}

// What it does not want to hear any more may be what we want: SetApiCallbacks sees to that at the next switch.
CUptiResult CUPTIAPI EnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                    CUpti_CallbackId cbid) {
  const auto real = Real<decltype(cuptiEnableCallback)>(kEnableCallback);
  if (!IsGuest(subscriber)) return real(enable, subscriber, domain, cbid);
  if (!IsOurs()) return CUPTI_ERROR_NOT_INITIALIZED;
  if (domain >= kDomains || cbid >= kFunctions) return CUPTI_ERROR_INVALID_PARAMETER;
  const uint64_t bit = uint64_t{1} << cbid % 64;
  auto& functions = hears_function[domain][cbid / 64];
  enable != 0 ? functions.fetch_or(bit, std::memory_order_relaxed)
              : functions.fetch_and(~bit, std::memory_order_relaxed);
  return enable != 0 ? real(1, OurSubscriber(), domain, cbid) : CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI EnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain) {
  const auto real = Real<decltype(cuptiEnableDomain)>(kEnableDomain);
  if (!IsGuest(subscriber)) return real(enable, subscriber, domain);
  if (!IsOurs()) return CUPTI_ERROR_NOT_INITIALIZED;
  if (domain >= kDomains) return CUPTI_ERROR_INVALID_PARAMETER;
  hears_domain[domain].store(enable != 0, std::memory_order_relaxed);
  return enable != 0 ? real(1, OurSubscriber(), domain) : CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI RegisterCallbacks(CUpti_BuffersCallbackRequestFunc on_request,
                                       CUpti_BuffersCallbackCompleteFunc on_complete) {
  if (!IsOurs()) return Real<decltype(cuptiActivityRegisterCallbacks)>(kRegisterCallbacks)(on_request, on_complete);
  if (on_request == nullptr || on_complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  request.store(on_request, std::memory_order_release);
  complete.store(on_complete, std::memory_order_release);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI RegisterClock(CUpti_TimestampCallbackFunc clock) {
  const auto real = Real<decltype(cuptiActivityRegisterTimestampCallback)>(kRegisterClock);
  if (!IsOurs() || clock == nullptr) return real(clock);
  ErrnoGuard errno_guard;
  const LockGuard guard(lock);
  guest_clock = clock;
  Lend();
  return real(clock);
}

CUptiResult CUPTIAPI Enable(CUpti_ActivityKind kind) {
  const auto real = Real<decltype(cuptiActivityEnable)>(kEnable);
  if (!IsOurs() || request.load(std::memory_order_relaxed) == nullptr || kind >= kKinds) return real(kind);
  ErrnoGuard errno_guard;
  const LockGuard guard(lock);
  Lend();
  const CUptiResult result = real(kind);
  if (result == CUPTI_SUCCESS && !is_enabled[kind]) {
    is_enabled[kind] = has_recorded = true;
    ++enabled_kinds;
  }
  return result;
}

CUptiResult CUPTIAPI Disable(CUpti_ActivityKind kind) {
  const auto real = Real<decltype(cuptiActivityDisable)>(kDisable);
  if (!IsOurs() || kind >= kKinds) return real(kind);
  ErrnoGuard errno_guard;
  const LockGuard guard(lock);
  if (!is_enabled[kind]) return CUPTI_SUCCESS;  // it may be ours
  is_enabled[kind] = false;
  --enabled_kinds;
  return real(kind);
}

// The last thing that a profiler does is to have what it recorded delivered.
CUptiResult CUPTIAPI FlushAll(uint32_t flag) {
  const CUptiResult result = Real<decltype(cuptiActivityFlushAll)>(kFlushAll)(flag);
  if (!IsOurs()) return result;
  ErrnoGuard errno_guard;
  const LockGuard guard(lock);
  if (has_recorded && enabled_kinds == 0) TakeBack();
  return result;
}

CUptiResult CUPTIAPI FinalizeCupti() {
  if (!IsOurs()) return Real<decltype(cuptiFinalize)>(kFinalize)();
  ErrnoGuard errno_guard;
  const LockGuard guard(lock);
  ForgetGuest();
  return CUPTI_SUCCESS;
}

const WrappedSymbol kSymbols[] = {
    {"cuptiSubscribe", reinterpret_cast<void*>(Subscribe), &targets[kSubscribe]},
    {"cuptiUnsubscribe", reinterpret_cast<void*>(Unsubscribe), &targets[kUnsubscribe]},
    {"cuptiEnableCallback", reinterpret_cast<void*>(EnableCallback), &targets[kEnableCallback]},
    {"cuptiEnableDomain", reinterpret_cast<void*>(EnableDomain), &targets[kEnableDomain]},
    {"cuptiActivityRegisterCallbacks", reinterpret_cast<void*>(RegisterCallbacks), &targets[kRegisterCallbacks]},
    {"cuptiActivityRegisterTimestampCallback", reinterpret_cast<void*>(RegisterClock), &targets[kRegisterClock]},
    {"cuptiActivityEnable", reinterpret_cast<void*>(Enable), &targets[kEnable]},
    {"cuptiActivityDisable", reinterpret_cast<void*>(Disable), &targets[kDisable]},
    {"cuptiActivityFlushAll", reinterpret_cast<void*>(FlushAll), &targets[kFlushAll]},
    {"cuptiFinalize", reinterpret_cast<void*>(FinalizeCupti), &targets[kFinalize]},
};

// Of several copies of libcupti the one that we use, and before we have one, the first: that is the one we take.
void See(const LoadedModule& module) {
  void* const subscribe = module.AddressOfExport("cuptiSubscribe");
  if (subscribe == nullptr) return;
  void* const ours = reinterpret_cast<void*>(Cupti().cuptiSubscribe);
  if (ours != nullptr ? subscribe != ours : targets[kSubscribe].real != nullptr) return;
  for (const WrappedSymbol& symbol : kSymbols) symbol.target->real = module.AddressOfExport(symbol.symbol);
}

}  // namespace

void StartGuestProfiler() {
  if (!Config().yields_to_profiler || !Config().wants_cuda) return;
  for (const WrappedSymbol& symbol : kSymbols) AddWrapped(symbol);
  WatchModules({.see = See, .seen_all = nullptr, .forget = nullptr, .is_urgent = [] {
                  return targets[kSubscribe].real != nullptr;
                }});
}

void ResetGuestAfterFork() {
  lock.ResetAfterFork();
  is_lent.store(false, std::memory_order_relaxed);
  callback.store(nullptr, std::memory_order_relaxed);
}

bool IsCuptiLent() { return is_lent.load(std::memory_order_relaxed); }

bool GuestHears(uint32_t domain, uint32_t cbid) {
  if (domain >= kDomains || cbid >= kFunctions) return false;
  if (hears_domain[domain].load(std::memory_order_relaxed)) return true;
  return (hears_function[domain][cbid / 64].load(std::memory_order_relaxed) >> cbid % 64 & 1) != 0;
}

void TellGuest(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  const CUpti_CallbackFunc function = callback.load(std::memory_order_acquire);
  if (__builtin_expect(function != nullptr, 0) && GuestHears(domain, cbid)) function(userdata, domain, cbid, data);
}

void CUPTIAPI RequestBuffer(uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  if (!IsCuptiLent()) return OnBufferRequested(buffer, size, max_records);
  request.load(std::memory_order_acquire)(buffer, size, max_records);
}

void CUPTIAPI CompleteBuffer(CUcontext context, uint32_t stream, uint8_t* buffer, std::size_t size, std::size_t valid) {
  if (complete.load(std::memory_order_acquire) == nullptr || IsOurBuffer(buffer)) {
    return OnBufferCompleted(context, stream, buffer, size, valid);
  }
  complete.load(std::memory_order_acquire)(context, stream, buffer, size, valid);
}

}  // namespace gprof::tracer
