#include "tracer/cupti/calls/callbacks.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "tracer/capture/capture.h"
#include "tracer/capture/control.h"
#include "tracer/capture/delayed_stacks.h"
#include "tracer/capture/work_count.h"
#include "tracer/core/config.h"
#include "tracer/core/tracer.h"
#include "tracer/cupti/activity/activity_kinds.h"
#include "tracer/cupti/activity/found_contexts.h"
#include "tracer/cupti/activity/kernel_switch.h"
#include "tracer/cupti/activity/pauses.h"
#include "tracer/cupti/activity/stream_ids.h"
#include "tracer/cupti/calls/api_rows.h"
#include "tracer/cupti/calls/call_counts.h"
#include "tracer/cupti/calls/call_duties.h"
#include "tracer/cupti/calls/call_names.h"
#include "tracer/cupti/calls/callback_listener.h"
#include "tracer/cupti/calls/callback_switches.h"
#include "tracer/cupti/calls/graph_level.h"
#include "tracer/cupti/calls/graph_nodes.h"
#include "tracer/cupti/cupti_session.h"
#include "tracer/cupti/guest_profiler.h"
#include "tracer/cupti/library/driver_exit.h"
#include "tracer/store/caller_stack.h"
#include "tracer/store/clock.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/memory/arena.h"
#include "tracer/store/memory/process_key.h"
#include "tracer/store/thread_log.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kMaxCbids = 2048;
constexpr CUpti_CallbackDomain kApiDomains[] = {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API};

struct Function {
  Duty duty = kNothing;
  bool is_wanted = false;
  bool is_of_base = false;  // heard at the base level, too
  CallKind kind = CallKind::kOther;
};
uint64_t stack_stamps[kCallKinds] = {kNever, kNever, kNever, kNever};  // shortest call with a stack of functions
Function functions[2][kMaxCbids];
trace::StringId names[2][kMaxCbids] GPROF_IN_ARENA = {};
CUpti_SubscriberHandle subscriber = nullptr;

// When the callbacks were switched on last. A call that was entered before it is not one that we are in: its exit came
// while nobody listened.
constinit std::atomic<uint64_t> on_since GPROF_IN_ARENA{0};
bool is_base_heard = false;  // whether those of the base level are on

// At the base level a call that took so long is recorded whatever it is; waits and launches of graphs always are.
constexpr uint64_t kLongCallNs = 50'000;
uint64_t long_call_stamps = 0;

// Calls of the profiler API that the thread is in: the runtime's has the driver's within it, and the two are one.
thread_local uint32_t profiler_calls = 0;

uint32_t TableOf(uint32_t domain) { return domain == CUPTI_CB_DOMAIN_RUNTIME_API ? 0 : 1; }
Function* FunctionOf(uint32_t domain, uint32_t cbid) { return &functions[TableOf(domain)][cbid]; }

uint64_t StillOpen(uint64_t start) { return IsOfThisCapture(start) ? start : 0; }

// `is_all`: within a capture.
void OnEnter(uint32_t domain, uint32_t cbid, const CUpti_CallbackData* info, bool is_all) {
  if (__builtin_expect(looks_for_contexts, 0)) FindContext(info->context);
  ThreadLog* log = OwnLog();
  if (log == nullptr) return;
  OpenCall& open = log->open_call;
  const uint64_t open_start = StillOpen(open.start.load(std::memory_order_relaxed));
  // The runtime is built on the driver: a driver call within a runtime call is that call seen from below.
  if (open_start != 0 && domain == CUPTI_CB_DOMAIN_DRIVER_API && open.domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
    ++open.nested;
    return;
  }
  // Any other entry within a call: the one before may still return, or never did (a longjmp, a cancelled thread).
  if (open_start != 0) {
    log->set_aside = {open_start, open.correlation, open.cbid, open.domain, open.stack, open.is_of_base};
  }
  open.is_of_base = !is_all;
  open.stack = is_all ? CallerStack(log) : 0;  // it takes longer than all else that the base level does
  open.correlation = info->correlationId;
  if (is_all) open.in_window = info->correlationId;
  if (__builtin_expect(is_all && open.pauses_before != PausesBefore(), 0)) {
    open.pauses_before = PausesBefore();
    NoteFirstCall(info->correlationId);
  }
  open.cbid = static_cast<uint16_t>(cbid);
  open.domain = static_cast<uint8_t>(domain);
  open.nested = 0;
  open.start.store(Stamp(), std::memory_order_release);
}

SyncRow SyncOf(Duty duty, const CUpti_CallbackData* info, uint64_t start, uint64_t end) {
  SyncRow row{};
  row.header = RowHeaderOf<SyncRow>(RowType::kSync);
  row.correlation = info->correlationId;
  row.start = start;
  row.end = end;
  row.context = info->contextUid;
  uint64_t arguments[2] = {};
  if (info->functionParams != nullptr && duty != kContextSync) {
    std::memcpy(arguments, info->functionParams, duty == kStreamWait ? 16 : 8);
  }
  switch (duty) {
    case kStreamSync:
      row.kind = static_cast<uint8_t>(trace::SyncKind::kStream);
      row.stream = arguments[0];
      row.has_stream = 1;
      break;
    case kStreamWait:
      row.kind = static_cast<uint8_t>(trace::SyncKind::kStreamWaitEvent);
      row.stream = arguments[0];
      row.event = arguments[1];
      row.has_stream = 1;
      break;
    case kEventSync:
      row.kind = static_cast<uint8_t>(trace::SyncKind::kEvent);
      row.event = arguments[0];
      break;
    default:
      row.kind = static_cast<uint8_t>(trace::SyncKind::kContext);
      break;
  }
  return row;
}

void AppendEventRecord(ThreadLog* log, const CUpti_CallbackData* info, uint64_t stamp) {
  if (info->functionParams == nullptr) return;
  uint64_t arguments[2];
  std::memcpy(arguments, info->functionParams, sizeof arguments);
  Append(log, EventRecordRow{RowHeaderOf<EventRecordRow>(RowType::kEventRecord), info->correlationId, stamp,
                             arguments[0], arguments[1], info->contextUid, 0});
}

// A call that returns now. A nested one has no start.
struct Returning {
  uint64_t start = 0;
  uint32_t stack = 0;
  bool is_of_base = false;
};

// It is then no longer open.
Returning TakeCall(ThreadLog* log, uint32_t domain, uint32_t cbid, uint32_t correlation) {
  OpenCall& open = log->open_call;
  const uint64_t start = StillOpen(open.start.load(std::memory_order_relaxed));
  if (start != 0 && domain == open.domain && cbid == open.cbid) {
    open.start.store(0, std::memory_order_release);
    return {start, open.stack, open.is_of_base};
  }
  if (start != 0 && open.nested > 0) {
    --open.nested;
    return {};
  }
  SetAsideCall& aside = log->set_aside;
  if (StillOpen(aside.start) == 0) return {};
  if (aside.correlation != correlation || aside.cbid != cbid || aside.domain != domain) return {};
  return {std::exchange(aside.start, 0), aside.stack, aside.is_of_base};
}

bool AppendWithStack(ThreadLog* log, const ApiRow& row, uint32_t stack) {
  ApiRowWithStack longer{row, stack, 0};
  longer.row.header = RowHeaderOf<ApiRowWithStack>(RowType::kApi);
  longer.row.header.flags = row.header.flags;
  return Append(log, longer);
}

// The child of a fork may end by _exit, as those of Python's multiprocessing do, and other children may be killed as
// soon as their work is done: no handler of ours runs then, and the launcher finds only what CUPTI has delivered. So it
// is asked to deliver when the program has waited for its work: in 20 ms of a process at most, and in a forked one, of
// which many end so, in a hundredth of its time besides. NVIDIA's samples flush in callbacks, too.
constinit std::atomic<uint64_t> flushing_ns{0};
uint64_t prepared_ns = 0;
bool flushes_after_waits = false;
bool is_forked = false;

void FlushAfterWait() {
  constexpr uint64_t kFreeNs = 20'000'000, kShare = 100;
  const uint64_t now = MonotonicNs();
  const uint64_t share_ns = is_forked ? (now - prepared_ns) / kShare : 0;
  if (IsCuptiLent() || flushing_ns.load(std::memory_order_relaxed) > kFreeNs + share_ns) return;
  ErrnoGuard errno_guard;
  Cupti().cuptiActivityFlushAll(0);
  flushing_ns.fetch_add(MonotonicNs() - now, std::memory_order_relaxed);
}

// Innermost frames are those of CUPTI and the driver, which are left out.
constexpr StackLimits kStackLimits = {64, 256u << 10};

// Of functions, where the call took so long.
inline uint32_t StackOfLongCall(ThreadLog* log, const Function& function, uint64_t stamps, uint32_t python) {
  if (__builtin_expect(stamps < stack_stamps[static_cast<uint32_t>(function.kind)], 1)) return python;
#ifdef __x86_64__
  CallerFrame here;
  asm volatile("leaq 0f(%%rip), %0\n0:\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
               : "=&r"(here.pc), "=&r"(here.stack_pointer), "=&r"(here.frame_pointer));
  here.pc += 1;  // as an address behind a call has it
  return NativeStack(log, here, kStackLimits, python);
#else
  return python;
#endif
}

bool IsBaseWorthy(const Function& function, uint64_t stamps) {
  return stamps >= long_call_stamps || IsSync(function.duty) || function.duty == kGraphLaunch;
}

void OnExit(uint32_t domain, uint32_t cbid, const CUpti_CallbackData* info) {
  const uint64_t end = Stamp();
  ThreadLog* log = OwnLog();
  if (log == nullptr) return;
  const auto [start, python, is_of_base] = TakeCall(log, domain, cbid, info->correlationId);
  if (start == 0) return;  // a nested call, or recording began within it
  const Function& function = *FunctionOf(domain, cbid);
  if (__builtin_expect(is_of_base, 0) && !IsBaseWorthy(function, end - start)) return;
  const uint32_t stack = StackOfLongCall(log, function, end - start, python);
  int32_t result = 0;
  if (info->functionReturnValue != nullptr) std::memcpy(&result, info->functionReturnValue, sizeof result);
  ApiRow row{RowHeaderOf<ApiRow>(RowType::kApi), info->correlationId,          start, end, result,
             static_cast<uint16_t>(cbid),        static_cast<uint8_t>(domain), 0};
  row.header.flags = is_of_base ? kOutsideOfWindow : 0;
  stack == 0 ? Append(log, row) : AppendWithStack(log, row, stack);
  if (__builtin_expect(has_delayed_lines, 0)) DelayCallFrom(stack);
  const Duty duty = function.duty;
  if (__builtin_expect(duty == kNothing, 1) || is_of_base) return;
  if (IsSync(duty)) Append(log, SyncOf(duty, info, start, end));
  if (flushes_after_waits && IsSync(duty) && duty != kStreamWait) FlushAfterWait();
  if (duty == kEventRecord && result == 0) AppendEventRecord(log, info, end);
}

void OnProfilerStart() {
  if (Config().capture_start == CaptureStart::kProfilerApi) BeginCapture(trace::CaptureTrigger::kProfilerApi);
}

void OnProfilerStop() {
  if (Config().capture_start == CaptureStart::kProfilerApi && Config().capture_end != CaptureEnd::kNone) {
    EndCapture(trace::CaptureTrigger::kProfilerApi);
  }
}

// The outermost call of the profiler API starts a capture when it returns, and stops one before it begins.
void OnAlwaysOn(Duty duty, const CUpti_CallbackData* info) {
  if (duty == kConditional) return NoteConditionalNode();
  if (info->callbackSite == CUPTI_API_ENTER) {
    if (profiler_calls++ == 0 && duty == kProfilerStop) OnProfilerStop();
    return;
  }
  if (profiler_calls > 0) --profiler_calls;
  if (profiler_calls == 0 && duty == kProfilerStart) OnProfilerStart();
}

bool IsHeardAtBase(uint32_t domain, uint32_t cbid) { return IsBaseRecorded() && FunctionOf(domain, cbid)->is_of_base; }

void RecordCall(Duty duty, uint32_t domain, uint32_t cbid, const CUpti_CallbackData* info) {
  if (info->callbackSite == CUPTI_API_EXIT && IsCounted(FunctionNumber(domain, cbid))) CountCall();
  const bool is_all = IsCapturing();
  if (!(is_all || IsHeardAtBase(domain, cbid)) || !Config().wants_cuda) {
    // The capture was stopped within the call.
    if (info->callbackSite == CUPTI_API_EXIT && own_log != nullptr)
      TakeCall(own_log, domain, cbid, info->correlationId);
    return;
  }
  if (info->callbackSite == CUPTI_API_EXIT) return OnExit(domain, cbid, info);
  if (__builtin_expect(duty == kReset && !IsCuptiLent(), 0)) {
    ErrnoGuard errno_guard;
    Cupti().cuptiActivityFlushAll(0);
  }
  OnEnter(domain, cbid, info, is_all);
}

void NoteEntered(uint32_t domain, uint32_t cbid, CUpti_ApiCallbackSite site) {
  ThreadLog* log = OwnLog();
  if (log == nullptr) return;
  site == CUPTI_API_ENTER ? EnterFunction(log, domain, cbid) : LeaveFunction(log, domain, cbid);
}

void OnApi(uint32_t domain, uint32_t cbid, const CUpti_CallbackData* info) {
  // A guest may hear of functions that we leave out.
  if (cbid >= kMaxCbids || __builtin_expect(!FunctionOf(domain, cbid)->is_wanted, 0)) return;
  NoteEntered(domain, cbid, info->callbackSite);
  const Duty duty = FunctionOf(domain, cbid)->duty;
  if (__builtin_expect(!IsAlwaysOn(duty), 1)) return RecordCall(duty, domain, cbid, info);
  ErrnoGuard errno_guard;
  // A stop is over before its call is recorded, a start begins after it: neither is in the capture itself.
  if (info->callbackSite == CUPTI_API_ENTER) OnAlwaysOn(duty, info);
  RecordCall(duty, domain, cbid, info);
  if (info->callbackSite == CUPTI_API_EXIT) OnAlwaysOn(duty, info);
}

void OnContextCreated(const CUpti_ResourceData& data) {
  KnowContext(data.context);
  uint32_t device = 0;
  const auto ask = Cupti().cuptiGetDeviceId;
  if (ask != nullptr && ask(data.context, &device) == CUPTI_SUCCESS) NoteDevice(device);
}

void OnStreamCreated(const CUpti_ResourceData& data) {
  ThreadLog* log = OwnLog();
  const auto handle = reinterpret_cast<uint64_t>(data.resourceHandle.stream);
  if (log == nullptr || handle == 0 || Cupti().cuptiGetStreamIdEx == nullptr) return;
  uint32_t stream = 0;
  if (Cupti().cuptiGetStreamIdEx(data.context, data.resourceHandle.stream, 0, &stream) != CUPTI_SUCCESS) return;
  uint32_t context = 0;
  if (Cupti().cuptiGetContextId != nullptr) Cupti().cuptiGetContextId(data.context, &context);
  NoteStream(context, handle, stream);
  Append(log, StreamRow{RowHeaderOf<StreamRow>(RowType::kStream), context, Stamp(), handle, stream, 0});
}

void OnResource(CUpti_CallbackId cbid, const CUpti_ResourceData* data) {
  ErrnoGuard errno_guard;
  switch (cbid) {
    case CUPTI_CBID_RESOURCE_CU_INIT_FINISHED:
      FlushBeforeDriverGoes();
      return EnableLateKinds();
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
      FlushBeforeDriverGoes();
      return data != nullptr ? OnContextCreated(*data) : void();
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
      return data != nullptr ? LeaveContext(data->context) : void();
    case CUPTI_CBID_RESOURCE_STREAM_CREATED:
      return data != nullptr ? OnStreamCreated(*data) : void();
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING:
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED:
      return OnGraphInstantiated();
    default:
      if (IsGraphNodeCallback(cbid) && data != nullptr) OnGraphNode(*data);
  }
}

void SetCallThresholds() {
  const uint64_t now = MonotonicNs();
  long_call_stamps = StampClock().ToStamp(now) - StampClock().ToStamp(now - kLongCallNs);
  for (uint32_t kind = 0; kind < kCallKinds; ++kind) {
    const uint64_t ns = Config().api_stack_ns[kind];
    if (ns < now) stack_stamps[kind] = StampClock().ToStamp(now) - StampClock().ToStamp(now - ns);
  }
}

void PrepareFunction(CUpti_CallbackDomain domain, uint32_t cbid, const char* name) {
  const std::size_t n = PlainLength(name);
  Function* function = FunctionOf(domain, cbid);
  function->duty = DutyOf(name, n);
  function->kind = KindOfCall(name);
  function->is_wanted = Config().wants_all_apis || !IsQuery(name, n);
  function->is_of_base = function->is_wanted && IsOfBase(name, n);
  if (!function->is_wanted) return;
  const char* const shown = ShownName(name);
  names[TableOf(domain)][cbid] = Names().Intern(shown, n - static_cast<std::size_t>(shown - name));
  if (IsAlwaysOn(function->duty)) Cupti().cuptiEnableCallback(1, subscriber, domain, cbid);
}

}  // namespace

trace::StringId ApiName(uint8_t domain, uint16_t cbid) {
  return cbid < kMaxCbids ? names[TableOf(domain)][cbid] : trace::StringId{};
}

bool WantsCallback(uint32_t domain, uint32_t cbid) {
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) return true;
  const bool is_api = domain == CUPTI_CB_DOMAIN_RUNTIME_API || domain == CUPTI_CB_DOMAIN_DRIVER_API;
  return is_api && cbid < kMaxCbids && FunctionOf(domain, cbid)->is_wanted;
}

bool IsOfThisCapture(uint64_t start) { return start != 0 && start >= on_since.load(std::memory_order_relaxed); }

void PrepareApiCallbacks(CUpti_SubscriberHandle handle) {
  subscriber = handle;
  SetCallbackSubscriber(handle);
  SetUpCallCounts();
  SetCallThresholds();
  prepared_ns = MonotonicNs();
  is_forked = IsForkWithoutExec();
  flushes_after_waits = is_forked || !IsChildOfLauncher();
  for (const CUpti_CallbackDomain domain : kApiDomains) {
    uint32_t unknown = 0;
    // Numbers have holes; a long run of unknown ones is the end.
    for (uint32_t cbid = 1; cbid < kMaxCbids && unknown < 200; ++cbid) {
      const char* name = nullptr;
      const CUptiResult result = Cupti().cuptiGetCallbackName(domain, cbid, &name);
      if (result != CUPTI_SUCCESS || name == nullptr || *name == 0) {
        ++unknown;
        continue;
      }
      unknown = 0;
      PrepareFunction(domain, cbid, name);
    }
  }
}

bool SetApiCallbacks(bool on) {
  if (subscriber == nullptr) return true;
  if (on && !is_base_heard) on_since.store(Stamp(), std::memory_order_relaxed);
  const bool hears_base = IsBaseRecorded();
  if (!on && hears_base && !is_base_heard) on_since.store(Stamp(), std::memory_order_relaxed);
  is_base_heard = on || hears_base;
  for (const CUpti_CallbackDomain domain : kApiDomains) {
    for (uint32_t cbid = 1; cbid < kMaxCbids; ++cbid) {
      const Function& function = *FunctionOf(domain, cbid);
      if (!function.is_wanted || IsAlwaysOn(function.duty)) continue;
      const bool is_heard = on || (hears_base && function.is_of_base) || GuestHears(domain, cbid) ||
                            (IsListening() && IsCounted(FunctionNumber(domain, cbid)));
      is_heard ? SwitchCallbackOn(domain, cbid) : SwitchCallbackOff(domain, cbid);
    }
  }
  return FinishSwitchingOff();
}

void CUPTIAPI OnCallback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  if (!CuptiIsActive() || !IsRecording()) return;
  TellGuest(domain, cbid, data);
  const CallbackListener* listener = callback_listener;
  if (__builtin_expect(listener != nullptr, 0) && listener->take(domain, cbid, data)) return;
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) return OnResource(cbid, static_cast<const CUpti_ResourceData*>(data));
  if (domain != CUPTI_CB_DOMAIN_RUNTIME_API && domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  OnApi(domain, cbid, static_cast<const CUpti_CallbackData*>(data));
}

}  // namespace gprof::tracer
