// The functions that the libcupti double exports. Result codes are those measured on the real library.
#include <unistd.h>

#include <chrono>
#include <thread>

#include "cupti_session.h"

namespace mock {
namespace {

constexpr const char* kDriverNames[] = {
#include "driver_names.inc"
};
constexpr const char* kRuntimeNames[] = {
#include "runtime_names.inc"
};

uint32_t LastId(CUpti_CallbackDomain domain) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
      return kLastDriverId;
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      return kLastRuntimeId;
    case CUPTI_CB_DOMAIN_RESOURCE:
      return kCuptiVersion >= 24 ? 23 : 20;
    case CUPTI_CB_DOMAIN_SYNCHRONIZE:
      return 2;
    case CUPTI_CB_DOMAIN_STATE:
      return kCuptiVersion >= 20 ? 3 : 0;
    default:
      return 0;
  }
}

// The only subscriber, ever: the handle is the address of the session.
CUpti_SubscriberHandle Handle() { return reinterpret_cast<CUpti_SubscriberHandle>(&TheSession()); }

bool IsLegacy(uint32_t kind) {
  return kind == 6 || kind == 7 || (kind >= 14 && kind <= 16) || kind == 21 || kind == 23 || kind == 24 ||
         (kind >= 28 && kind <= 32) || (kind >= 41 && kind <= 44);
}

CUptiResult CheckKind(uint32_t kind) {
  if (kind == 0 || kind > kLastKind || StrideOf(kind) == 0) {
    return IsLegacy(kind) ? CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED : CUPTI_ERROR_INVALID_KIND;
  }
  if (kind == CUPTI_ACTIVITY_KIND_MODULE || kind == CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE) {
    return CUPTI_ERROR_INVALID_KIND;
  }
  if (IsLegacy(kind)) return CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED;
  if (kind == CUPTI_ACTIVITY_KIND_MEMCPY2) {
    Violation("MEMCPY2 is enabled: with libcupti 13.0, kernels of a graph then fail after copies within a device");
  }
  const bool excludes = (kind == CUPTI_ACTIVITY_KIND_KERNEL && IsOn(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) ||
                        (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && IsOn(CUPTI_ACTIVITY_KIND_KERNEL));
  return excludes ? CUPTI_ERROR_NOT_COMPATIBLE : CUPTI_SUCCESS;
}

void SetKind(uint32_t kind, uint8_t value) {
  Session& s = TheSession();
  const bool was = s.kinds[kind].exchange(value) != 0;
  if (kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || was == (value != 0)) return;
  ++s.kernel_switches;
  for (auto& one : s.has_no_kernels) one = 0;
}

CUptiResult SetKindInContext(const char* function, CUcontext context, CUpti_ActivityKind kind, bool on) {
  const CUptiResult usable = Guard(function);
  if (usable != CUPTI_SUCCESS) return usable;
  ContextInfo info{};
  if (context == nullptr || !TheSession().hub.load()->context_info(context, &info)) return CUPTI_ERROR_INVALID_CONTEXT;
  if (kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) Violation("only kernels are switched in a context");
  TheSession().has_no_kernels[info.id % 1024] = on ? 0 : 1;
  return CUPTI_SUCCESS;
}

uint32_t StrideNow(uint32_t kind) {
  if (kind == kFutureKind && EnvNumber("MOCK_UNKNOWN_KIND", 0) != 0) return kFutureStride;
  return kind <= kLastKind ? StrideOf(kind) : 0;
}

}  // namespace
}  // namespace mock

using namespace mock;  // NOLINT: the functions below are C symbols in the global namespace

extern "C" {

// ---- work with no driver, in forked children and after the teardown ----

CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = static_cast<uint32_t>(EnvNumber("MOCK_CUPTI_VERSION", kCuptiVersion));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  *timestamp = NowNs();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char** name) {
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid <= kLastDriverId)
    *name = kDriverNames[cbid];
  else if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid <= kLastRuntimeId)
    *name = kRuntimeNames[cbid];
  else
    return CUPTI_ERROR_INVALID_PARAMETER;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  switch (result) {
#define MOCK_RESULT(name) \
  case name:              \
    *text = #name;        \
    break;
    MOCK_RESULT(CUPTI_SUCCESS)
    MOCK_RESULT(CUPTI_ERROR_INVALID_PARAMETER)
    MOCK_RESULT(CUPTI_ERROR_INVALID_CONTEXT)
    MOCK_RESULT(CUPTI_ERROR_MAX_LIMIT_REACHED)
    MOCK_RESULT(CUPTI_ERROR_NOT_COMPATIBLE)
    MOCK_RESULT(CUPTI_ERROR_NOT_INITIALIZED)
    MOCK_RESULT(CUPTI_ERROR_INVALID_KIND)
    MOCK_RESULT(CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED)
    MOCK_RESULT(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
    MOCK_RESULT(CUPTI_ERROR_UNKNOWN)
#undef MOCK_RESULT
    default:
      return CUPTI_ERROR_INVALID_PARAMETER;
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  auto* at = reinterpret_cast<uint8_t*>(*record);
  uint32_t kind = 0;
  if (at == nullptr) {
    at = buffer;
  } else {
    std::memcpy(&kind, at, sizeof(kind));
    at += StrideNow(kind);
  }
  const auto left = static_cast<size_t>(buffer + valid_bytes - at);
  if (at >= buffer + valid_bytes || left < sizeof(kind)) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  std::memcpy(&kind, at, sizeof(kind));
  const uint32_t stride = StrideNow(kind);
  if (stride == 0) return CUPTI_ERROR_INVALID_KIND;
  if (left < stride) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(at);
  return CUPTI_SUCCESS;
}

// ---- callbacks ----

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userdata) {
  const CUptiResult usable = Guard("cuptiSubscribe");
  if (usable != CUPTI_SUCCESS) return usable;
  if (subscriber == nullptr || callback == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  Session& s = TheSession();
  if (s.is_subscribed || EnvNumber("MOCK_OCCUPIED", 0) != 0) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  if (const long slow_ms = EnvNumber("MOCK_SUBSCRIBE_MS", 0)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(slow_ms));
    Guard("the end of cuptiSubscribe");
  }
  if (!AttachObserver()) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  s.callback = callback;
  s.userdata = userdata;
  s.is_subscribed = true;
  *subscriber = Handle();
  return CUPTI_SUCCESS;
}

// The library is of no use to anybody in the process after this, whoever called it.
CUptiResult cuptiFinalize(void) {
  const CUptiResult usable = Guard("cuptiFinalize");
  if (usable != CUPTI_SUCCESS) return usable;
  Finalize();
  return CUPTI_SUCCESS;
}

#if MOCK_CUDA_VERSION >= 13000
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userdata,
                              CUpti_SubscriberParams* params) {
  const CUptiResult result = cuptiSubscribe(subscriber, callback, userdata);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && params != nullptr && params->oldSubscriberName) {
    std::snprintf(params->oldSubscriberName, params->oldSubscriberSize, "mock-tool");
  }
  return result;
}
#endif

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  if (subscriber == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const CUptiResult usable = Guard("cuptiUnsubscribe");
  if (usable != CUPTI_SUCCESS) return usable;
  Session& s = TheSession();
  if (subscriber != Handle() || !s.is_subscribed) return CUPTI_ERROR_INVALID_PARAMETER;
  s.is_subscribed = false;
  for (auto& domain : s.callbacks) {
    for (auto& one : domain) one = 0;
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                CUpti_CallbackId cbid) {
  if (subscriber == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const CUptiResult usable = Guard("cuptiEnableCallback");
  if (usable != CUPTI_SUCCESS) return usable;
  if (subscriber != Handle() || cbid == 0 || cbid > LastId(domain)) return CUPTI_ERROR_INVALID_PARAMETER;
  // Who switches a callback off may be preempted within it, here for launches.
  static const long off_ms = EnvNumber("MOCK_OFF_MS", 0);
  const bool is_launch =
      domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
  const bool is_preempted = enable == 0 && is_launch && off_ms > 0;
  if (is_preempted) usleep(static_cast<useconds_t>(off_ms * 1000));
  TheSession().callbacks[domain][cbid] = enable != 0 ? 1 : 0;
  if (is_preempted) usleep(static_cast<useconds_t>(off_ms * 1000));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain) {
  if (subscriber == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const CUptiResult usable = Guard("cuptiEnableDomain");
  if (usable != CUPTI_SUCCESS) return usable;
  if (subscriber != Handle() || LastId(domain) == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  for (uint32_t id = 1; id <= LastId(domain); ++id) TheSession().callbacks[domain][id] = enable != 0 ? 1 : 0;
  return CUPTI_SUCCESS;
}

// ---- activity ----

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  const CUptiResult usable = Guard("cuptiActivityRegisterCallbacks");
  if (usable != CUPTI_SUCCESS) return usable;
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  std::lock_guard<std::mutex> lock(TheSession().mutex);
  TheSession().request = request;
  TheSession().complete = complete;
  StartWorker(TheSession());
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t* size, void* value) {
  const CUptiResult usable = Guard("cuptiActivitySetAttribute");
  if (usable != CUPTI_SUCCESS) return usable;
  if (size == nullptr || value == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  Session& s = TheSession();
  const auto id = static_cast<uint32_t>(attribute);
  constexpr uint32_t kLastAttribute = kCuptiVersion >= 27 ? 10 : kCuptiVersion >= 21 ? 9 : 8;
  if (id > kLastAttribute) return CUPTI_ERROR_INVALID_PARAMETER;
  if (id == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) s.is_zeroed_out = *static_cast<uint8_t*>(value) != 0;
  if (id == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) {
    if (s.request != nullptr) Violation("PER_THREAD_ACTIVITY_BUFFER must be set before the buffer callbacks");
    s.is_per_thread = *static_cast<uint8_t*>(value) != 0;
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const CUptiResult usable = Guard("cuptiActivityEnable");
  if (usable != CUPTI_SUCCESS) return usable;
  const CUptiResult checked = CheckKind(static_cast<uint32_t>(kind));
  if (checked != CUPTI_SUCCESS) return checked;
  AttachObserver();
  SetKind(kind, 1);
  const Hub* hub = TheSession().hub;
  if (kind == CUPTI_ACTIVITY_KIND_DEVICE && hub->is_initialized()) ReportDevices();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig* config,
                                                       uint32_t count) {
  const CUptiResult usable = Guard("cuptiActivityConfigureUnifiedMemoryCounter");
  if (usable != CUPTI_SUCCESS) return usable;
  if (config == nullptr || count == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  // "The API should be called after CUDA driver initialization."
  if (!TheSession().hub.load()->is_initialized()) return CUPTI_ERROR_NOT_INITIALIZED;
  const auto last = static_cast<uint32_t>(EnvNumber("MOCK_LAST_MANAGED_KIND", 8));
  for (uint32_t i = 0; i < count; ++i) {
    if (config[i].kind == 0 || static_cast<uint32_t>(config[i].kind) > last) return CUPTI_ERROR_INVALID_PARAMETER;
  }
  for (uint32_t i = 0; i < count; ++i) TheSession().managed_kinds[config[i].kind] = config[i].enable != 0 ? 1 : 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  const CUptiResult usable = Guard("cuptiActivityDisable");
  if (usable != CUPTI_SUCCESS) return usable;
  if (kind <= 0 || static_cast<uint32_t>(kind) > kLastKind) return CUPTI_ERROR_INVALID_KIND;
  if (EnvNumber("MOCK_KINDS_STAY", 0) != 0 && TheSession().operations_seen != 0)
    Violation("a kind is disabled while the program works: libcupti 13.0 then corrupts its heap now and then");
  SetKind(kind, 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind) {
  return SetKindInContext("cuptiActivityEnableContext", context, kind, true);
}

CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind) {
  return SetKindInContext("cuptiActivityDisableContext", context, kind, false);
}

CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  const CUptiResult usable = Guard("cuptiActivityFlushAll");
  if (usable != CUPTI_SUCCESS) return usable;
  if (Flags().is_in_resource_callback) Violation("cuptiActivityFlushAll inside a resource callback");
  if (TheSession().complete != nullptr) Flush((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  const CUptiResult usable = Guard("cuptiActivityGetNumDroppedRecords");
  if (usable != CUPTI_SUCCESS) return usable;
  std::lock_guard<std::mutex> lock(TheSession().mutex);
  *dropped = TheSession().dropped;
  TheSession().dropped = 0;  // each drop is told once
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  const CUptiResult usable = Guard("cuptiSetThreadIdType");
  if (usable != CUPTI_SUCCESS) return usable;
  TheSession().uses_system_thread_ids = type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
  return CUPTI_SUCCESS;
}

// ---- ids ----

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t, uint32_t* id) {
  const CUptiResult usable = Guard("cuptiGetStreamIdEx");
  if (usable != CUPTI_SUCCESS) return usable;
  StreamInfo info{};
  if (!TheSession().hub.load()->stream_info(context, stream, &info)) return CUPTI_ERROR_INVALID_CONTEXT;
  *id = info.id;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t* id) {
  const CUptiResult usable = Guard("cuptiGetContextId");
  if (usable != CUPTI_SUCCESS) return usable;
  ContextInfo info{};
  if (!TheSession().hub.load()->context_info(context, &info)) return CUPTI_ERROR_INVALID_CONTEXT;
  *id = info.id;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* id) {
  const CUptiResult usable = Guard("cuptiGetDeviceId");
  if (usable != CUPTI_SUCCESS) return usable;
  ContextInfo info{};
  if (!TheSession().hub.load()->context_info(context, &info)) return CUPTI_ERROR_INVALID_CONTEXT;
  *id = info.device;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t* id) {
  const CUptiResult usable = Guard("cuptiGetGraphId");
  if (usable != CUPTI_SUCCESS) return usable;
  TheSession().hub.load()->graph_ids(graph, nullptr, nullptr, id, nullptr);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id) {
  const CUptiResult usable = Guard("cuptiGetGraphNodeId");
  if (usable != CUPTI_SUCCESS) return usable;
  if (node == nullptr || id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  TheSession().hub.load()->graph_ids(nullptr, nullptr, node, nullptr, id);
  return CUPTI_SUCCESS;
}

#if MOCK_CUDA_VERSION >= 12030
CUptiResult cuptiGetGraphExecId(CUgraphExec exec, uint32_t* id) {
  const CUptiResult usable = Guard("cuptiGetGraphExecId");
  if (usable != CUPTI_SUCCESS) return usable;
  TheSession().hub.load()->graph_ids(nullptr, exec, nullptr, id, nullptr);
  return CUPTI_SUCCESS;
}
#endif

}  // extern "C"
