// The driver functions of the libcuda double, without graphs: devices, contexts, modules, launches, streams, events.
#include <dlfcn.h>

#include <algorithm>

#include "cuda_call.h"

namespace mock {
namespace {

CUresult GetAttribute(int* value, CUdevice_attribute attribute, int device) {
  const DeviceFacts f = FactsOf(device);
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = static_cast<int>(f.major);
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = static_cast<int>(f.minor);
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = static_cast<int>(f.sm_count);
      break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      *value = static_cast<int>(f.clock_khz);
      break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      *value = static_cast<int>(f.memory_clock_khz);
      break;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      *value = static_cast<int>(f.bus_bits);
      break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      *value = static_cast<int>(f.l2_bytes);
      break;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
      *value = 1;
      break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      *value = 32;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = 1024;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      *value = 2048;
      break;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      *value = 0x1a + device;
      break;
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
      *value = 0;
      break;
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
      *value = 0;
      break;
    default:
      *value = 0;
      break;
  }
  return CUDA_SUCCESS;
}

bool IsDevice(CUdevice device) { return device >= 0 && device < TheModel().device_count; }

// Waits for everything in the stream, then says so as a synchronisation record.
CUresult SynchronizeStream(CUstream stream) {
  const uint64_t start_ns = NowNs();
  WaitUntilNs(stream->ready_ns);
  WaitForHostFunctions(stream);
  ReportSync(3, start_ns, stream->id, 0xFFFFFFFFu, CUDA_SUCCESS);
  return CUDA_SUCCESS;
}

CUresult RecordEvent(CUevent event, CUstream stream) {
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  event->ready_ns = std::max<uint64_t>(ResolveStream(stream)->ready_ns, NowNs());
  event->is_recorded = true;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace mock

using namespace mock;  // NOLINT: the functions below are C symbols in the global namespace

extern "C" {

CUresult cuInit(unsigned int flags) {
  const CUresult result = Initialize();
  if (result != CUDA_SUCCESS) return result;
  cuInit_params p{flags};
  return Call(Use::kQuery, MOCK_DRIVER_ID(cuInit), &p, [] { return CUDA_SUCCESS; });
}

// Needs no cuInit and is the only function allowed inside InitializeInjection.
CUresult cuDriverGetVersion(int* version) {
  *version = TheHub().driver_version;
  return CUDA_SUCCESS;
}

CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  if (std::memcmp(id->bytes, kHubId.bytes, sizeof(kHubId.bytes)) != 0) return CUDA_ERROR_INVALID_VALUE;
  *table = &TheHub();
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  *name = error == CUDA_SUCCESS           ? "CUDA_SUCCESS"
          : error == CUDA_ERROR_NO_DEVICE ? "CUDA_ERROR_NO_DEVICE"
                                          : "CUDA_ERROR";
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status) {
  cuGetProcAddress_v2_params p{symbol, function, version, flags, status};
  return Call(Use::kQuery, MOCK_DRIVER_ID(cuGetProcAddress_v2), &p, [&] {
    // The newest variant first, as the driver does for a recent version; its own, whatever comes before it.
    Dl_info own;
    dladdr(reinterpret_cast<void*>(&IsDevice), &own);
    void* const library = dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    for (const char* suffix : {"_v4", "_v2", ""}) {
      *function = dlsym(library, (std::string(symbol) + suffix).c_str());
      if (*function != nullptr) break;
    }
    if (status != nullptr) *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
  });
}

// ---- devices ----

CUresult cuDeviceGetCount(int* count) {
  cuDeviceGetCount_params p{count};
  return Call(Use::kQuery, MOCK_DRIVER_ID(cuDeviceGetCount), &p, [&] {
    *count = TheModel().device_count;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  cuDeviceGet_params p{device, ordinal};
  return Call(Use::kQuery, MOCK_DRIVER_ID(cuDeviceGet), &p, [&] {
    *device = ordinal;
    return IsDevice(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
  });
}

CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
  cuDeviceGetName_params p{name, size, device};
  return Call(Use::kQuery, MOCK_DRIVER_ID(cuDeviceGetName), &p, [&] {
    std::snprintf(name, static_cast<size_t>(size), "%s", FactsOf(device).name);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  cuDeviceGetUuid_v2_params p{uuid, device};
  return Call(Use::kQuery, MOCK_DRIVER_ID(cuDeviceGetUuid_v2), &p, [&] {
    *uuid = FactsOf(device).uuid;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  cuDeviceGetAttribute_params p{value, attribute, device};
  return Call(Use::kQuery, MOCK_DRIVER_ID(cuDeviceGetAttribute), &p,
              [&] { return IsDevice(device) ? GetAttribute(value, attribute, device) : CUDA_ERROR_INVALID_DEVICE; });
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  cuDeviceTotalMem_v2_params p{bytes, device};
  return Call(Use::kQuery, MOCK_DRIVER_ID(cuDeviceTotalMem_v2), &p, [&] {
    *bytes = FactsOf(device).memory_bytes;
    return CUDA_SUCCESS;
  });
}

// ---- contexts ----

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  cuDevicePrimaryCtxRetain_params p{context, device};
  return Call(Use::kWork, MOCK_DRIVER_ID(cuDevicePrimaryCtxRetain), &p, [&] {
    if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
    static std::mutex& creating = *new std::mutex;
    std::lock_guard<std::mutex> lock(creating);
    CUcontext& primary = TheModel().primary[static_cast<size_t>(device)];
    if (primary == nullptr) primary = CreateContext(static_cast<uint32_t>(device), true);
    ++TheModel().primary_references[static_cast<size_t>(device)];
    *context = primary;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  cuDevicePrimaryCtxReset_v2_params p{device};
  return Call(Use::kWork, MOCK_DRIVER_ID(cuDevicePrimaryCtxReset_v2), &p, [&] {
    if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
    CUcontext& primary = TheModel().primary[static_cast<size_t>(device)];
    if (primary != nullptr) DestroyContext(primary);
    primary = nullptr;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams* params, unsigned int flags, CUdevice device) {
  cuCtxCreate_v4_params p{context, params, flags, device};
  return Call(Use::kWork, MOCK_DRIVER_ID(cuCtxCreate_v4), &p, [&] {
    if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
    *context = CreateContext(static_cast<uint32_t>(device), false);
    ThisThread().contexts.push_back(*context);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxDestroy(CUcontext context) {
  cuCtxDestroy_v2_params p{context};
  return Call(Use::kWork, MOCK_DRIVER_ID(cuCtxDestroy_v2), &p, [&] {
    DestroyContext(context);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  cuCtxSetCurrent_params p{context};
  return Call(Use::kQuery, MOCK_DRIVER_ID(cuCtxSetCurrent), &p, [&] {
    auto& stack = ThisThread().contexts;
    if (stack.empty()) stack.push_back(context);
    stack.back() = context;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  cuCtxGetCurrent_params p{context};
  return Call(Use::kQuery, MOCK_DRIVER_ID(cuCtxGetCurrent), &p, [&] {
    *context = CurrentContext();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPushCurrent(CUcontext context) {
  cuCtxPushCurrent_v2_params p{context};
  return Call(Use::kQuery, MOCK_DRIVER_ID(cuCtxPushCurrent_v2), &p, [&] {
    ThisThread().contexts.push_back(context);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  cuCtxPopCurrent_v2_params p{context};
  return Call(Use::kQuery, MOCK_DRIVER_ID(cuCtxPopCurrent_v2), &p, [&] {
    auto& stack = ThisThread().contexts;
    if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    *context = stack.back();
    stack.pop_back();
    return CUDA_SUCCESS;
  });
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  thread_local CUstreamCaptureMode now = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::swap(now, *mode);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  cuCtxGetDevice_params p{device};
  return CallInContext(Use::kQuery, MOCK_DRIVER_ID(cuCtxGetDevice), &p, [&] {
    *device = static_cast<CUdevice>(CurrentContext()->device);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSynchronize(void) {
  return CallInContext(Use::kQuery, MOCK_DRIVER_ID(cuCtxSynchronize), nullptr, [&] {
    const uint64_t start_ns = NowNs();
    const CUcontext context = CurrentContext();
    const uint64_t ready_ns = ReadyNs(context);
    static const auto longer_ns = static_cast<uint64_t>(EnvNumber("MOCK_CONTEXT_WAIT_US", 0)) * 1000;
    WaitUntilNs(std::max(ready_ns, start_ns) + longer_ns);
    WaitForHostFunctions(context->null_stream);
    for (CUstream s : context->streams) WaitForHostFunctions(s);
    ReportSync(4, start_ns, 0xFFFFFFFFu, 0xFFFFFFFFu, CUDA_SUCCESS);
    return CUDA_SUCCESS;
  });
}

// ---- modules and launches ----

// An image that begins as PTX does is compiled "just in time"; anything else is loaded as it is.
CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  cuModuleLoadData_params p{module, image};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuModuleLoadData), &p, [&] {
    const uint64_t start_ns = NowNs();
    auto* loaded = new CUmod_st;
    loaded->id = TheModel().next_module++;
    loaded->context = CurrentContext();
    *module = loaded;
    if (const Observer* o = TheObserver()) {
      const char* text = static_cast<const char*>(image);
      CallbackScope scope;
      o->module(loaded->context, loaded->id, image, std::strlen(text), true, std::strncmp(text, ".version", 8) == 0,
                start_ns, NowNs(), CurrentCorrelation());
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleUnload(CUmodule module) {
  cuModuleUnload_params p{module};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuModuleUnload), &p, [&] {
    if (const Observer* o = TheObserver()) {
      CallbackScope scope;
      o->module(module->context, module->id, nullptr, 0, false, false, 0, 0, CurrentCorrelation());
    }
    delete module;  // functions stay: records still name them, and the real library keeps those names too
    return CUDA_SUCCESS;
  });
}

// Every name exists, except those that begin with "missing".
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  cuModuleGetFunction_params p{function, module, name};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuModuleGetFunction), &p, [&] {
    if (std::strncmp(name, "missing", 7) == 0) return CUDA_ERROR_NOT_FOUND;
    *function = new CUfunc_st{name};
    module->functions.push_back(*function);
    return CUDA_SUCCESS;
  });
}

CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
                        unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void** params,
                        void** extra) {
  cuLaunchKernel_params p{f, gx, gy, gz, bx, by, bz, shared, stream, params, extra};
  return CallInContext(
      Use::kWork, MOCK_DRIVER_ID(cuLaunchKernel), &p,
      [&] {
        if (f == nullptr || gx == 0 || bx * by * bz == 0 || bx * by * bz > 1024) return CUDA_ERROR_INVALID_VALUE;
        Op op;
        op.name = f->name.c_str();
        op.grid = {gx, gy, gz};
        op.block = {bx, by, bz};
        op.dynamic_shared_bytes = shared;
        op.is_async = true;
        Enqueue(op, ResolveStream(stream), KernelNs(op.grid));
        return CUDA_SUCCESS;
      },
      f != nullptr ? f->name.c_str() : nullptr);
}

// ---- streams and events ----

CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  cuStreamCreate_params p{stream, flags};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuStreamCreate), &p, [&] {
    *stream = CreateStream(CurrentContext(), flags, 0);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
  cuStreamCreateWithPriority_params p{stream, flags, priority};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuStreamCreateWithPriority), &p, [&] {
    *stream = CreateStream(CurrentContext(), flags, priority);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamDestroy(CUstream stream) {
  cuStreamDestroy_v2_params p{stream};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuStreamDestroy_v2), &p, [&] {
    DestroyStream(stream);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamSynchronize(CUstream stream) {
  cuStreamSynchronize_params p{stream};
  return CallInContext(Use::kQuery, MOCK_DRIVER_ID(cuStreamSynchronize), &p,
                       [&] { return SynchronizeStream(ResolveStream(stream)); });
}

CUresult cuStreamQuery(CUstream stream) {
  cuStreamQuery_params p{stream};
  return CallInContext(Use::kQuery, MOCK_DRIVER_ID(cuStreamQuery), &p,
                       [&] { return ResolveStream(stream)->ready_ns > NowNs() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS; });
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  cuStreamWaitEvent_params p{stream, event, flags};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuStreamWaitEvent), &p, [&] {
    const CUstream s = ResolveStream(stream);
    const uint64_t start_ns = NowNs();
    s->ready_ns = std::max(s->ready_ns, event->ready_ns);
    ReportSync(2, start_ns, s->id, event->id, CUDA_SUCCESS);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  cuEventCreate_params p{event, flags};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuEventCreate), &p, [&] {
    *event = new CUevent_st;
    (*event)->id = TheModel().next_event++;
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy(CUevent event) {
  cuEventDestroy_v2_params p{event};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuEventDestroy_v2), &p, [&] {
    delete event;
    return CUDA_SUCCESS;
  });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  cuEventRecord_params p{event, stream};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuEventRecord), &p, [&] { return RecordEvent(event, stream); });
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags) {
  cuEventRecordWithFlags_params p{event, stream, flags};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuEventRecordWithFlags), &p,
                       [&] { return RecordEvent(event, stream); });
}

CUresult cuEventSynchronize(CUevent event) {
  cuEventSynchronize_params p{event};
  return CallInContext(Use::kQuery, MOCK_DRIVER_ID(cuEventSynchronize), &p, [&] {
    const uint64_t start_ns = NowNs();
    WaitUntilNs(event->ready_ns);
    ReportSync(1, start_ns, 0xFFFFFFFFu, event->id, CUDA_SUCCESS);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventQuery(CUevent event) {
  cuEventQuery_params p{event};
  return CallInContext(Use::kQuery, MOCK_DRIVER_ID(cuEventQuery), &p,
                       [&] { return event->ready_ns > NowNs() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS; });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  cuEventElapsedTime_v2_params p{milliseconds, start, end};
  return CallInContext(Use::kQuery, MOCK_DRIVER_ID(cuEventElapsedTime_v2), &p, [&] {
    if (!start->is_recorded || !end->is_recorded) return CUDA_ERROR_INVALID_HANDLE;
    *milliseconds = static_cast<float>(end->ready_ns - start->ready_ns) * 1e-6f;
    return CUDA_SUCCESS;
  });
}

CUresult cuProfilerStart(void) {
  return Call(Use::kQuery, MOCK_DRIVER_ID(cuProfilerStart), nullptr, [] { return CUDA_SUCCESS; });
}

CUresult cuProfilerStop(void) {
  return Call(Use::kQuery, MOCK_DRIVER_ID(cuProfilerStop), nullptr, [] { return CUDA_SUCCESS; });
}

}  // extern "C"
