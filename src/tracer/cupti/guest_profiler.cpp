#include "tracer/cupti/guest_profiler.h"

#include <dlfcn.h>

#include <atomic>
#include <cstring>

#include "tracer/capture/capture.h"
#include "tracer/core/config.h"
#include "tracer/core/tracer.h"
#include "tracer/cupti/activity/activity_buffers.h"
#include "tracer/cupti/activity/activity_kinds.h"
#include "tracer/cupti/calls/callback_listener.h"
#include "tracer/cupti/calls/callbacks.h"
#include "tracer/cupti/cupti_session.h"
#include "tracer/cupti/guest_lookups.h"
#include "tracer/cupti/library/cupti_api.h"
#include "tracer/imports/import_slots.h"
#include "tracer/store/clock.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/thread_log.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kDomains = 8, kFunctions = 2048, kKinds = 256;

// A number for each function that is led here.
enum Wrapped : uint8_t {
  kSubscribe,
  kSubscribeV2,
  kUnsubscribe,
  kEnableCallback,
  kEnableDomain,
  kEnableAllDomains,
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
uint64_t idle_since_ns = 0;                         // when it had switched off the last of its kinds
constinit std::atomic<bool> is_lent{false};

// A pause of GPU work. It is written when it begins, and again with its end.
struct GpuPauseRow {
  RowHeader header;
  uint32_t number;
  uint64_t start, end;  // stamps; end 0: it lasts
  trace::StringId profiler;
  uint32_t unused;
};
GpuPauseRow pause = {RowHeaderOf<GpuPauseRow>(RowType::kGpuPause), 0, 0, 0, {}, 0};

void NotePause() {
  ThreadLog* const log = OwnLog();
  if (log != nullptr) Append(log, pause);
}

// Of a libcupti that we do not use nothing is known here.
bool IsOurs() {
  return CuptiIsActive() && IsRecording() &&
         targets[kSubscribe].real == reinterpret_cast<void*>(Cupti().cuptiSubscribe);
}

bool IsGuest(CUpti_SubscriberHandle subscriber) { return reinterpret_cast<uint64_t*>(subscriber) == handle; }

uint64_t ClockOfCupti() { return RealtimeNs(); }

struct KnownProfiler {
  const char* file;  // how the name of its module begins
  const char* name;
};
constexpr KnownProfiler kKnownProfilers[] = {{"libtorch", "torch.profiler"},
                                             {"libkineto", "torch.profiler"},
                                             {"libproton", "Triton Proton"},
                                             {"xla_cuda", "JAX profiler"},
                                             {"libjax", "JAX profiler"},
                                             {"_jax", "JAX profiler"},
                                             {"libtensorflow", "TensorFlow profiler"}};

// Whose code a call came from. Asks the loader, whose lock may be held by a thread that waits for ours: before that is
// taken.
trace::StringId ProfilerAt(const void* return_address) {
  Dl_info info;
  if (dladdr(return_address, &info) == 0 || info.dli_fname == nullptr) return {};
  const char* const slash = std::strrchr(info.dli_fname, '/');
  const char* const file = slash != nullptr ? slash + 1 : info.dli_fname;
  for (const KnownProfiler& known : kKnownProfilers) {
    if (std::strncmp(file, known.file, std::strlen(known.file)) == 0) return Names().Intern(known.name);
  }
  return Names().Intern(file);
}

// What CUPTI has for us is delivered first. Work that is under way then is counted as lost.
void Lend(trace::StringId profiler) {
  if (is_lent.load(std::memory_order_relaxed)) return;
  pause.number += 1;
  pause.start = Stamp();
  pause.end = 0;
  pause.profiler = profiler;
  NotePause();
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
  RecordWorkAgain();
  pause.end = Stamp();
  NotePause();
}

CUptiResult SwitchOn(CUpti_ActivityKind kind) {
  const CUptiResult result = Real<decltype(cuptiActivityEnable)>(kEnable)(kind);
  if (result != CUPTI_SUCCESS) return result;
  has_recorded = true;
  if (!is_enabled[kind]) ++enabled_kinds;
  is_enabled[kind] = true;
  return result;
}

void ForgetKinds() {
  for (uint32_t kind = 0; kind < kKinds; ++kind) {
    if (is_enabled[kind] && IsCuptiLent()) Cupti().cuptiActivityDisable(static_cast<CUpti_ActivityKind>(kind));
    is_enabled[kind] = false;
  }
  enabled_kinds = 0;
}

// Callbacks that nobody wants any more cost their calls.
void SilenceDomain(uint32_t domain) {
  for (uint32_t cbid = 1; cbid < kFunctions; ++cbid) {
    if (WantsCallback(domain, cbid) || GuestHears(domain, cbid)) continue;
    Real<decltype(cuptiEnableCallback)>(kEnableCallback)(0, OurSubscriber(), static_cast<CUpti_CallbackDomain>(domain),
                                                         cbid);
  }
}

void ForgetCallbacks() {
  callback.store(nullptr, std::memory_order_release);
  for (uint32_t domain = 0; domain < kDomains; ++domain) {
    for (auto& functions : hears_function[domain]) functions.store(0, std::memory_order_relaxed);
    if (hears_domain[domain].exchange(false, std::memory_order_relaxed)) SilenceDomain(domain);
  }
}

CUptiResult TakeIn(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc function, void* data) {
  ErrnoGuard errno_guard;
  const LockGuard guard(lock);
  if (subscriber == nullptr || function == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (callback.load(std::memory_order_relaxed) != nullptr) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  userdata = data;
  callback.store(function, std::memory_order_release);
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(handle);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI Subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc function, void* data) {
  if (!IsOurs()) return Real<decltype(cuptiSubscribe)>(kSubscribe)(subscriber, function, data);
  return TakeIn(subscriber, function, data);
}

// The last parameter is a struct that CUDA 12 has no name for: what a subscriber calls itself.
CUptiResult CUPTIAPI SubscribeV2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc function, void* data,
                                 void* parameters) {
  using Function = CUptiResult CUPTIAPI(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*, void*);
  if (!IsOurs()) return Real<Function>(kSubscribeV2)(subscriber, function, data, parameters);
  return TakeIn(subscriber, function, data);
}

// Of a profiler that was there before us. Now that it has gone, we begin.
CUptiResult UnsubscribeFirst(CUpti_SubscriberHandle subscriber, const void* return_address) {
  const CUptiResult result = Real<decltype(cuptiUnsubscribe)>(kUnsubscribe)(subscriber);
  const uint64_t refused_at = CuptiRefusedAt();
  if (result != CUPTI_SUCCESS || refused_at == 0 || !IsRecording()) return result;
  ErrnoGuard errno_guard;
  const trace::StringId profiler = ProfilerAt(return_address);
  const LockGuard guard(lock);
  if (CuptiIsActive() || !StartCuptiSession()) return result;
  pause.number += 1;
  pause.start = refused_at;
  pause.end = Stamp();
  pause.profiler = profiler;
  NotePause();
  return result;
}

// Some unsubscribe before they switch off their kinds, some record on without a subscription.
CUptiResult CUPTIAPI Unsubscribe(CUpti_SubscriberHandle subscriber) {
  if (!IsGuest(subscriber)) return UnsubscribeFirst(subscriber, __builtin_return_address(0));
  if (!IsOurs()) return CUPTI_ERROR_NOT_INITIALIZED;
  ErrnoGuard errno_guard;
  const LockGuard guard(lock);
  ForgetCallbacks();
  if (enabled_kinds == 0) TakeBack();
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
  return enable != 0 || !WantsCallback(domain, cbid) ? real(enable, OurSubscriber(), domain, cbid) : CUPTI_SUCCESS;
}

CUptiResult ListenToDomain(bool enable, CUpti_CallbackDomain domain) {
  if (domain >= kDomains) return CUPTI_ERROR_INVALID_PARAMETER;
  hears_domain[domain].store(enable, std::memory_order_relaxed);
  if (enable) return Real<decltype(cuptiEnableDomain)>(kEnableDomain)(1, OurSubscriber(), domain);
  for (auto& functions : hears_function[domain]) functions.store(0, std::memory_order_relaxed);
  SilenceDomain(domain);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI EnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain) {
  if (!IsGuest(subscriber)) return Real<decltype(cuptiEnableDomain)>(kEnableDomain)(enable, subscriber, domain);
  if (!IsOurs()) return CUPTI_ERROR_NOT_INITIALIZED;
  return ListenToDomain(enable != 0, domain);
}

CUptiResult CUPTIAPI EnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber) {
  if (!IsGuest(subscriber)) return Real<decltype(cuptiEnableAllDomains)>(kEnableAllDomains)(enable, subscriber);
  if (!IsOurs()) return CUPTI_ERROR_NOT_INITIALIZED;
  for (const CUpti_CallbackDomain domain :
       {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_SYNCHRONIZE,
        CUPTI_CB_DOMAIN_NVTX}) {
    const CUptiResult result = ListenToDomain(enable != 0, domain);
    if (result != CUPTI_SUCCESS) return result;
  }
  return CUPTI_SUCCESS;
}

// Some switch on kinds first. Those wait until there is somebody to give records to.
CUptiResult CUPTIAPI RegisterCallbacks(CUpti_BuffersCallbackRequestFunc on_request,
                                       CUpti_BuffersCallbackCompleteFunc on_complete) {
  if (!IsOurs()) return Real<decltype(cuptiActivityRegisterCallbacks)>(kRegisterCallbacks)(on_request, on_complete);
  if (on_request == nullptr || on_complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  ErrnoGuard errno_guard;
  const trace::StringId profiler = ProfilerAt(__builtin_return_address(0));
  const LockGuard guard(lock);
  request.store(on_request, std::memory_order_release);
  complete.store(on_complete, std::memory_order_release);
  if (enabled_kinds == 0 || IsCuptiLent()) return CUPTI_SUCCESS;
  Lend(profiler);
  for (uint32_t kind = 0; kind < kKinds; ++kind) {
    if (is_enabled[kind]) SwitchOn(static_cast<CUpti_ActivityKind>(kind));
  }
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI RegisterClock(CUpti_TimestampCallbackFunc clock) {
  const auto real = Real<decltype(cuptiActivityRegisterTimestampCallback)>(kRegisterClock);
  if (!IsOurs() || clock == nullptr) return real(clock);
  ErrnoGuard errno_guard;
  const LockGuard guard(lock);
  guest_clock = clock;
  return IsCuptiLent() ? real(clock) : CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI Enable(CUpti_ActivityKind kind) {
  if (!IsOurs() || kind >= kKinds) return Real<decltype(cuptiActivityEnable)>(kEnable)(kind);
  ErrnoGuard errno_guard;
  const trace::StringId profiler = ProfilerAt(__builtin_return_address(0));
  const LockGuard guard(lock);
  if (request.load(std::memory_order_relaxed) == nullptr) {
    if (!is_enabled[kind]) ++enabled_kinds;
    is_enabled[kind] = true;
    return CUPTI_SUCCESS;
  }
  Lend(profiler);
  return SwitchOn(kind);
}

CUptiResult CUPTIAPI Disable(CUpti_ActivityKind kind) {
  const auto real = Real<decltype(cuptiActivityDisable)>(kDisable);
  if (!IsOurs() || kind >= kKinds) return real(kind);
  ErrnoGuard errno_guard;
  const LockGuard guard(lock);
  if (!is_enabled[kind]) return CUPTI_SUCCESS;  // it may be ours
  is_enabled[kind] = false;
  if (--enabled_kinds == 0) idle_since_ns = MonotonicNs();
  return IsCuptiLent() ? real(kind) : CUPTI_SUCCESS;
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
  ForgetKinds();
  TakeBack();
  ForgetCallbacks();
  guest_clock = nullptr;
  return CUPTI_SUCCESS;
}

const WrappedSymbol kSymbols[] = {
    {"cuptiSubscribe", reinterpret_cast<void*>(Subscribe), &targets[kSubscribe]},
    {"cuptiSubscribe_v2", reinterpret_cast<void*>(SubscribeV2), &targets[kSubscribeV2]},
    {"cuptiUnsubscribe", reinterpret_cast<void*>(Unsubscribe), &targets[kUnsubscribe]},
    {"cuptiEnableCallback", reinterpret_cast<void*>(EnableCallback), &targets[kEnableCallback]},
    {"cuptiEnableDomain", reinterpret_cast<void*>(EnableDomain), &targets[kEnableDomain]},
    {"cuptiEnableAllDomains", reinterpret_cast<void*>(EnableAllDomains), &targets[kEnableAllDomains]},
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

// While kernels are measured, the profiler of CUPTI is in use, which is not lent.
void StartGuestProfiler() {
  if (!Config().yields_to_profiler || !Config().wants_cuda || callback_listener != nullptr) return;
  for (const WrappedSymbol& symbol : kSymbols) AddWrapped(symbol);
  WrapLookups();
  WatchModules({.see = See, .seen_all = nullptr, .forget = nullptr, .is_urgent = [] {
                  return targets[kSubscribe].real != nullptr;
                }});
}

void ResetGuestAfterFork() {
  lock.ResetAfterFork();
  is_lent.store(false, std::memory_order_relaxed);
  callback.store(nullptr, std::memory_order_relaxed);
  pause.number = 0;
}

void ConvertGpuPauseRow(const RowHeader* header, const RowSource& source) {
  const auto& row = *reinterpret_cast<const GpuPauseRow*>(header);
  const uint64_t end_ns = row.end == 0 ? 0 : source.clock.ToNs(row.end);
  source.output->Add(trace::GpuPauseRecord{source.clock.ToNs(row.start), end_ns, row.number, row.profiler},
                     source.cursor);
}

bool IsCuptiLent() { return is_lent.load(std::memory_order_relaxed); }

void TakeBackFromIdleGuest() {
  constexpr uint64_t kPatienceNs = 2'000'000'000;
  const LockGuard guard(lock);
  if (has_recorded && enabled_kinds == 0 && MonotonicNs() - idle_since_ns > kPatienceNs) TakeBack();
}

bool GuestHears(uint32_t domain, uint32_t cbid) {
  if (domain >= kDomains || cbid >= kFunctions) return false;
  if (hears_domain[domain].load(std::memory_order_relaxed)) return true;
  return (hears_function[domain][cbid / 64].load(std::memory_order_relaxed) >> cbid % 64 & 1) != 0;
}

void TellGuest(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  const CUpti_CallbackFunc function = callback.load(std::memory_order_acquire);
  if (__builtin_expect(function != nullptr, 0) && GuestHears(domain, cbid)) function(userdata, domain, cbid, data);
}

void* GuestFunctionFor(void* function) {
  for (const WrappedSymbol& symbol : kSymbols) {
    if (function != nullptr && symbol.target->real == function) return symbol.wrapper;
  }
  return function;
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
