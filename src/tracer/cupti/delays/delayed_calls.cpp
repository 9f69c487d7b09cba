#include "tracer/cupti/delays/delayed_calls.h"

#include <cstring>

#include "tracer/capture/delay_windows.h"
#include "tracer/cupti/calls/call_names.h"
#include "tracer/cupti/calls/callback_listener.h"
#include "tracer/cupti/calls/callbacks.h"
#include "tracer/cupti/delays/spin_kernel.h"
#include "tracer/cupti/library/cupti_api.h"
#include "tracer/store/thread_log.h"
#include "tracer/system/settings.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kMaxCbids = 2048;
constexpr CUpti_CallbackDomain kApiDomains[] = {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API};

// The things of the plan that a function is an instance of, a bit each.
uint16_t things_of[2][kMaxCbids] = {};
static_assert(trace::delay_request::kMostThings <= 16);

// Within what this file calls of the driver.
thread_local bool is_ours = false;

bool Has(const char* name, const char* word) { return std::strstr(name, word) != nullptr; }

bool IsOf(const DelayedThing& thing, const char* name, std::size_t size) {
  switch (thing.what) {
    case Delayed::kLaunches:
      return Has(name, "LaunchKernel") || Has(name, "LaunchCooperative") || Has(name, "GraphLaunch");
    case Delayed::kSync:
      return Has(name, "Synchronize");
    case Delayed::kCopies:
      return !Has(name, "Graph") && (Has(name, "Memcpy") || Has(name, "Memset"));
    case Delayed::kApi:
      return MatchesPattern(thing.pattern, name, size);
    default:
      return false;
  }
}

void NoteFunction(CUpti_CallbackDomain domain, uint32_t cbid, const char* name) {
  const DelayPlan& plan = *TheDelayPlan();
  const char* const shown = ShownName(name);
  const std::size_t size = PlainLength(shown);
  for (uint32_t thing = 0; thing < plan.count; ++thing) {
    if (!IsOf(plan.things[thing], shown, size)) continue;
    things_of[domain == CUPTI_CB_DOMAIN_RUNTIME_API ? 0 : 1][cbid] |= static_cast<uint16_t>(1u << thing);
  }
}

void NoteFunctions() {
  std::memset(things_of, 0, sizeof things_of);
  if (TheDelayPlan() == nullptr) return;
  for (const CUpti_CallbackDomain domain : kApiDomains) {
    for (uint32_t cbid = 1; cbid < kMaxCbids; ++cbid) {
      const char* name = nullptr;
      const CUptiResult result = Cupti().cuptiGetCallbackName(domain, cbid, &name);
      if (result == CUPTI_SUCCESS && name != nullptr && *name != 0) NoteFunction(domain, cbid, name);
    }
  }
}

// The runtime is built on the driver: a driver call within a runtime call is that call seen from below.
bool IsNested(CUpti_CallbackDomain domain) {
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API || own_log == nullptr) return false;
  const OpenCall& open = own_log->open_call;
  return IsOfThisCapture(open.start.load(std::memory_order_relaxed)) && open.domain == CUPTI_CB_DOMAIN_RUNTIME_API;
}

// The callbacks themselves are on, as calls are recorded.
void Subscribe(CUpti_SubscriberHandle) { NoteFunctions(); }

// False: no launch of a kernel.
bool StreamOfLaunch(CUpti_CallbackId cbid, const CUpti_CallbackData* info, CUstream* stream) {
  const auto of_thread = [stream] { *stream = *stream == nullptr ? CU_STREAM_PER_THREAD : *stream; };
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
      *stream = static_cast<const cuLaunchKernel_params*>(info->functionParams)->hStream;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
      *stream = static_cast<const cuLaunchKernelEx_params*>(info->functionParams)->config->hStream;
      break;
    default:
      return false;
  }
  const bool is_per_thread = cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz ||
                             cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz ||
                             cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz;
  if (is_per_thread) of_thread();
  return true;
}

bool IsKernelOf(const DelayedThing& thing, const char* symbol) {
  if (symbol == nullptr) return false;
  const uint64_t hash = trace::delay_request::HashOfSymbol(symbol);
  for (uint32_t i = 0; i < thing.symbol_count; ++i) {
    if (thing.symbols[i] == hash) return true;
  }
  return false;
}

void DelayKernel(CUpti_CallbackId cbid, const CUpti_CallbackData* info, const DelayNow& now) {
  CUstream stream = nullptr;
  if (!StreamOfLaunch(cbid, info, &stream) || !IsKernelOf(*now.thing, info->symbolName)) return;
  ErrnoGuard errno_guard;
  is_ours = true;
  if (LaunchSpinKernel(info->context, stream, now.delay_ns)) CountDelayed();
  is_ours = false;
}

bool TakeCallback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  if (is_ours) return true;
  const DelayNow now = CurrentDelay();
  if (now.thing == nullptr || cbid >= kMaxCbids) return false;
  const bool is_runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  if (!is_runtime && domain != CUPTI_CB_DOMAIN_DRIVER_API) return false;
  const auto* info = static_cast<const CUpti_CallbackData*>(data);
  if (info->callbackSite != CUPTI_API_ENTER) return false;
  if (now.thing->what == Delayed::kKernel) {
    if (!is_runtime) DelayKernel(cbid, info, now);
    return false;
  }
  const DelayPlan* const plan = TheDelayPlan();
  if (plan == nullptr || now.thing < plan->things || now.thing >= plan->things + plan->count) return false;
  const auto bit = static_cast<uint32_t>(now.thing - plan->things);
  if ((things_of[is_runtime ? 0 : 1][cbid] >> bit & 1) != 0 && !IsNested(domain)) WaitHere(now.delay_ns);
  return false;
}

constexpr CallbackListener kListener = {.subscribe = Subscribe, .take = TakeCallback, .driver_goes = [] {}};

}  // namespace

void StartDelayedCalls() {
  if (ReadDelayPlan() != nullptr || (IsAttached() && MayDelay())) callback_listener = &kListener;
}

void SwitchDelayedCalls(bool on) {
  if (IsAttached() && callback_listener == &kListener && Cupti().cuptiGetCallbackName != nullptr && on) NoteFunctions();
}

void ResetDelayedCallsAfterFork() {
  is_ours = false;
  ForgetSpinKernelsAfterFork();
}

}  // namespace gprof::tracer
