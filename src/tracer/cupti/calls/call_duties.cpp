#include "tracer/cupti/calls/call_duties.h"

#include <cstring>

namespace gprof::tracer {
namespace {

// A trailing * stands for any ending.
// clang-format off
constexpr const char* kQueries[] = {
    "cudaGetDevice", "cudaSetDevice", "cudaGetLastError", "cudaPeekAtLastError", "cudaGetDeviceCount",
    "cudaGetDeviceProperties*", "cudaGetDeviceFlags", "cudaDeviceGetAttribute", "cudaDeviceGetStreamPriorityRange",
    "cudaDeviceGetPCIBusId", "cudaDeviceCanAccessPeer", "cudaDeviceGetLimit", "cudaDriverGetVersion",
    "cudaRuntimeGetVersion", "cudaEventCreate*", "cudaEventDestroy", "cudaEventQuery", "cudaEventElapsedTime*",
    "cudaStreamQuery", "cudaStreamIsCapturing", "cudaStreamGetCaptureInfo*", "cudaStreamGetPriority", "cudaStreamGetFlags",
    "cudaStreamGetId", "cudaStreamGetDevice", "cudaFuncGetAttributes", "cudaOccupancy*", "cudaPointerGetAttributes",
    "cudaGetDriverEntryPoint*", "cudaGetErrorName", "cudaGetErrorString", "__cudaPushCallConfiguration",
    "__cudaPopCallConfiguration", "cudaGetExportTable", "cudaThreadExchangeStreamCaptureMode",
    "cuGetProcAddress*", "cuGetExportTable", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString",
    "cuDeviceGet*", "cuDeviceCanAccessPeer", "cuDeviceTotalMem*", "cuDeviceComputeCapability",
    "cuDevicePrimaryCtxGetState", "cuCtxGet*", "cuCtxSetCurrent", "cuCtxPushCurrent*", "cuCtxPopCurrent*",
    "cuEventCreate", "cuEventDestroy*", "cuEventQuery", "cuEventElapsedTime*", "cuStreamQuery*", "cuStreamIsCapturing*",
    "cuStreamGet*", "cuFuncGet*", "cuKernelGet*", "cuLibraryGetKernel", "cuPointerGetAttribute*", "cuOccupancy*",
    "cuThreadExchangeStreamCaptureMode"};
// clang-format on

struct DutyRow {
  const char* name;
  Duty duty;
};
constexpr DutyRow kDuties[] = {{"cudaStreamSynchronize", kStreamSync},   {"cuStreamSynchronize", kStreamSync},
                               {"cudaEventSynchronize", kEventSync},     {"cuEventSynchronize", kEventSync},
                               {"cudaDeviceSynchronize", kContextSync},  {"cudaThreadSynchronize", kContextSync},
                               {"cuCtxSynchronize*", kContextSync},      {"cudaStreamWaitEvent*", kStreamWait},
                               {"cuStreamWaitEvent*", kStreamWait},      {"cudaDeviceReset", kReset},
                               {"cuDevicePrimaryCtxReset*", kReset},     {"cuCtxDestroy*", kReset},
                               {"cuDevicePrimaryCtxRelease*", kReset},   {"cudaEventRecord", kEventRecord},
                               {"cuEventRecord", kEventRecord},          {"cudaEventRecordWithFlags", kEventRecord},
                               {"cuEventRecordWithFlags", kEventRecord}, {"cudaProfilerStart", kProfilerStart},
                               {"cuProfilerStart", kProfilerStart},      {"cudaProfilerStop", kProfilerStop},
                               {"cuProfilerStop", kProfilerStop},        {"cudaGraphConditional*", kConditional},
                               {"cuGraphConditional*", kConditional},    {"cudaGraphLaunch", kGraphLaunch},
                               {"cuGraphLaunch", kGraphLaunch}};

bool Matches(const char* name, std::size_t n, const char* pattern) {
  const std::size_t size = std::strlen(pattern);
  if (size > 0 && pattern[size - 1] == '*') return n >= size - 1 && std::strncmp(name, pattern, size - 1) == 0;
  return n == size && std::strncmp(name, pattern, n) == 0;
}

bool Has(const char* name, const char* word) { return std::strstr(name, word) != nullptr; }

}  // namespace

bool IsQuery(const char* name, std::size_t n) {
  for (const char* pattern : kQueries) {
    if (Matches(name, n, pattern)) return true;
  }
  return false;
}

Duty DutyOf(const char* name, std::size_t n) {
  for (const DutyRow& row : kDuties) {
    if (Matches(name, n, row.name)) return row.duty;
  }
  return kNothing;
}

CallKind KindOfCall(const char* name) {
  if (Has(name, "Launch")) return CallKind::kKernel;
  if (Has(name, "Synchronize")) return CallKind::kSync;
  const bool is_memory = Has(name, "Mem") || Has(name, "Malloc") || Has(name, "Free");
  return is_memory ? CallKind::kMemory : CallKind::kOther;
}

bool IsOfBase(const char* name, std::size_t n) {
  const Duty duty = DutyOf(name, n);
  if (duty == kGraphLaunch || (IsSync(duty) && duty != kStreamWait)) return true;
  for (const char* part :
       {"Launch", "Async", "EventRecord", "WaitEvent", "Memset", "Value", "BatchMemOp", "SetParams"}) {
    if (Has(name, part)) return false;
  }
  return !IsQuery(name, n);
}

}  // namespace gprof::tracer
