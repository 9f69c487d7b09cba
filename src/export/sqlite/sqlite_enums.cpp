// The enumerations that the columns refer to, with the names and labels that Nsight Systems gives them.
#include "export/sqlite/sqlite_export.h"

namespace gprof {
namespace {

struct Value {
  int id;
  std::string_view name, label;
};

struct Enumeration {
  std::string_view table;
  std::vector<Value> values;
};

// Event types and classes: those that a trace of ours has rows of, and their neighbours in the same tables.
const Enumeration kEventTypes{"ENUM_NSYS_EVENT_TYPE",
                              {{0, "Unknown", "Unknown"},
                               {32, "NvtxEvents", "NvtxEvents"},
                               {33, "NvtxCategory", "NvtxCategory"},
                               {34, "NvtxMark", "NvtxMark"},
                               {35, "NvtxPushRange", "NvtxPushRange"},
                               {36, "NvtxPopRange", "NvtxPopRange"},
                               {37, "NvtxStartRange", "NvtxStartRange"},
                               {38, "NvtxEndRange", "NvtxEndRange"},
                               {39, "NvtxThread", "NvtxThread"},
                               {45, "Cuda", "Cuda"},
                               {46, "CudaDevice", "CudaDevice"},
                               {47, "TraceProcess", "TraceProcess"},
                               {49, "Diagnostic", "Diagnostic"},
                               {59, "NvtxPushPopRange", "NvtxPushPopRange"},
                               {60, "NvtxStartEndRange", "NvtxStartEndRange"},
                               {70, "NvtxtPushPopRange", "NvtxtPushPopRange"},
                               {71, "NvtxtStartEndRange", "NvtxtStartEndRange"},
                               {75, "NvtxDomainCreate", "NvtxDomainCreate"},
                               {76, "NvtxDomainDestroy", "NvtxDomainDestroy"},
                               {79, "CudaDeviceKernel", "CudaDeviceKernel"},
                               {80, "CudaDeviceMemory", "CudaDeviceMemory"},
                               {97, "NvtxNameCudaDevice", "NvtxNameCudaDevice"},
                               {98, "NvtxNameCudaContext", "NvtxNameCudaContext"},
                               {99, "NvtxNameCudaStream", "NvtxNameCudaStream"},
                               {106, "CudaSyncEvent", "CudaSyncEvent"},
                               {113, "CudaGraphNodeCreation", "CudaGraphNodeCreation"},
                               {117, "CudaDeviceMemoryUsage", "CudaDeviceMemoryUsage"},
                               {119, "CudaUvmCpuPageFaultEvent", "CudaUvmCpuPageFaultEvent"},
                               {120, "CudaUvmGpuPageFaultEvent", "CudaUvmGpuPageFaultEvent"},
                               {127, "CudaEventRecord", "CudaEventRecord"},
                               {129, "CudaDeviceMemoryPool", "CudaDeviceMemoryPool"},
                               {130, "CudaDeviceGraph", "CudaDeviceGraph"},
                               {142, "CudaDeviceMemcpy", "CudaDeviceMemcpy"},
                               {152, "CudaApi", "CudaApi"},
                               {153, "Overhead", "Overhead"},
                               {154, "CudaOverhead", "CudaOverhead"}}};

const Enumeration kEventClasses{"ENUM_NSYS_EVENT_CLASS",
                                {{0, "TRACE_PROCESS_EVENT_CUDA_RUNTIME", "CUDA runtime"},
                                 {1, "TRACE_PROCESS_EVENT_CUDA_DRIVER", "CUDA driver"},
                                 {26, "TRACE_PROCESS_EVENT_CUDA_API", "CUDA API"},
                                 {27, "TRACE_PROCESS_EVENT_OS_RUNTIME", "OSRT runtime"},
                                 {77, "TRACE_PROCESS_EVENT_CUDA_GRAPH_NODE_CREATION", "CUDA graph node creation"},
                                 {102, "TRACE_PROCESS_EVENT_CUDA_JIT", "CUDA JIT"},
                                 {103, "TRACE_PROCESS_EVENT_CUDA_OVERHEAD", "CUDA overhead"}}};

const Enumeration kEnumerations[] = {
    {"ENUM_CUDA_MEMCPY_OPER",
     {{0, "CUDA_MEMCPY_KIND_UNKNOWN", "Unknown"},
      {1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"},
      {2, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host"},
      {3, "CUDA_MEMCPY_KIND_HTOA", "Host-to-Array"},
      {4, "CUDA_MEMCPY_KIND_ATOH", "Array-to-Host"},
      {5, "CUDA_MEMCPY_KIND_ATOA", "Array-to-Array"},
      {6, "CUDA_MEMCPY_KIND_ATOD", "Array-to-Device"},
      {7, "CUDA_MEMCPY_KIND_DTOA", "Device-to-Array"},
      {8, "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device"},
      {9, "CUDA_MEMCPY_KIND_HTOH", "Host-to-Host"},
      {10, "CUDA_MEMCPY_KIND_PTOP", "Peer-to-Peer"},
      {11, "CUDA_MEMCPY_KIND_UVM_HTOD", "Unified Host-to-Device"},
      {12, "CUDA_MEMCPY_KIND_UVM_DTOH", "Unified Device-to-Host"},
      {13, "CUDA_MEMCPY_KIND_UVM_DTOD", "Unified Device-to-Device"}}},
    {"ENUM_CUDA_MEM_KIND",
     {{0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"},
      {1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"},
      {2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"},
      {3, "CUDA_MEMOPR_MEMORY_KIND_ARRAY", "Array"},
      {4, "CUDA_MEMOPR_MEMORY_KIND_MANAGED", "Managed"},
      {5, "CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC", "Device Static"},
      {6, "CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC", "Managed Static"},
      {7, "CUDA_MEMOPR_MEMORY_KIND_UNKNOWN", "Unknown"}}},
    {"ENUM_CUDA_MEMPOOL_TYPE",
     {{0, "CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID", "Invalid"},
      {1, "CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL", "Local"},
      {2, "CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED", "Imported"}}},
    {"ENUM_CUDA_MEMPOOL_OPER",
     {{0, "CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_INVALID", "Invalid"},
      {1, "CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED", "Created"},
      {2, "CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED", "Destroyed"},
      {3, "CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED", "Trimmed"}}},
    {"ENUM_CUDA_DEV_MEM_EVENT_OPER",
     {{0, "CUDA_DEV_MEM_EVENT_OPR_ALLOCATION", "Allocation"},
      {1, "CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION", "Deallocation"}}},
    {"ENUM_CUDA_KERNEL_LAUNCH_TYPE",
     {{0, "CUDA_KERNEL_LAUNCH_TYPE_UNKNOWN", "Unknown"},
      {1, "CUDA_KERNEL_LAUNCH_TYPE_REGULAR", "Regular"},
      {2, "CUDA_KERNEL_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE", "Coop Single Device"},
      {3, "CUDA_KERNEL_LAUNCH_TYPE_COOPERATIVE_MULTI_DEVICE", "Coop Multi Device"}}},
    {"ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG",
     {{0, "CUDA_SHARED_MEM_LIMIT_DEFAULT", "Default"}, {1, "CUDA_SHARED_MEM_LIMIT_OPTIN", "Opt in"}}},
    // The slip in "prefecth" is theirs: people compare labels.
    {"ENUM_CUDA_UNIF_MEM_MIGRATION",
     {{0, "CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_UNKNOWN", "Unknown"},
      {1, "CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_USER", "User prefetch"},
      {2, "CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE", "Page fault"},
      {3, "CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_PREFETCH", "Speculative prefecth"},
      {4, "CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_EVICTION", "Eviction"},
      {5, "CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_ACCESS_COUNTERS", "Access counters"}}},
    {"ENUM_CUDA_UNIF_MEM_ACCESS_TYPE",
     {{0, "CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_UNKNOWN", "Unknown"},
      {1, "CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_READ", "Read"},
      {2, "CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_WRITE", "Write"},
      {3, "CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_ATOMIC", "Atomic"},
      {4, "CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_PREFETCH", "Prefetch"}}},
    {"ENUM_CUDA_FUNC_CACHE_CONFIG",
     {{0, "CU_FUNC_CACHE_PREFER_NONE", "None"},
      {1, "CU_FUNC_CACHE_PREFER_SHARED", "Shared"},
      {2, "CU_FUNC_CACHE_PREFER_L1", "L1"},
      {3, "CU_FUNC_CACHE_PREFER_EQUAL", "Equal"}}},
    {"ENUM_CUPTI_STREAM_TYPE",
     {{0, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_UNKNOWN", "Unknown stream type"},
      {1, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT", "Default stream"},
      {2, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING", "Non-blocking stream"},
      {3, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL", "Null stream"}}},
    {"ENUM_CUPTI_SYNC_TYPE",
     {{0, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN", "Unknown"},
      {1, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE", "Event sync"},
      {2, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT", "Stream wait sync"},
      {3, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE", "Stream sync"},
      {4, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE", "Context sync"}}},
    {"ENUM_CUPTI_OVERHEAD_TYPE",
     {{0, "OVERHEAD_UNDEFINED", "Undefined"},
      {1, "OVERHEAD_UNKNOWN", "Unknown"},
      {2, "OVERHEAD_DRIVER_COMPILER", "Driver JIT compiler (CUDA)"},
      {3, "OVERHEAD_CUPTI_BUFFER_FLUSH", "Buffer flush (Profiler)"},
      {4, "OVERHEAD_CUPTI_INSTRUMENTATION", "Instrumentation (Profiler)"},
      {5, "OVERHEAD_CUPTI_RESOURCE", "Resource creation/destruction (Profiler)"},
      {6, "OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING", "Runtime module loading (CUDA)"},
      {7, "OVERHEAD_LAZY_FUNCTION_LOADING", "Lazy function loading (CUDA)"},
      {8, "OVERHEAD_COMMAND_BUFFER_FULL", "Command buffer full (CUDA)"}}},
    {"ENUM_STACK_UNWIND_METHOD", {{0, "Unknown", "Unknown"}}},
    {"ENUM_SAMPLING_THREAD_STATE",
     {{0, "Unknown", "Unknown"},
      {1, "Running", "Running"},
      {2, "Interruptible", "Interruptible"},
      {3, "Uninterruptible", "Uninterruptible"},
      {4, "Stopped", "Stopped"},
      {5, "Terminated", "Terminated"},
      {6, "Unscheduled", "Unscheduled"},
      {7, "Waiting", "Waiting"},
      {8, "OSRuntime", "OS runtime"},
      {9, "Initialized", "Initialized"},
      {10, "Transition", "Transition"}}},
    {"ENUM_DIAGNOSTIC_SEVERITY_LEVEL",
     {{0, "UnknownLevel", "Unknown"}, {1, "Info", "Info"}, {2, "Warning", "Warning"}, {3, "Error", "Error"}}},
    {"ENUM_DIAGNOSTIC_SOURCE_TYPE",
     {{0, "UnknownSource", "Unknown source"},
      {1, "Injection", "Injection"},
      {2, "Daemon", "Daemon"},
      {3, "Analysis", "Analysis"}}},
    {"ENUM_DIAGNOSTIC_TIMESTAMP_SOURCE",
     {{0, "UnknownTimestamp", "Unknown timestamp"},
      {1, "TargetTimestamp", "Target timestamp"},
      {2, "HostTimestamp", "Host timestamp"}}},
};

void Write(SqliteDatabase& database, const Enumeration& enumeration) {
  SqliteTable table(database, enumeration.table, "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT");
  for (const Value& value : enumeration.values) table.Add(value.id, value.name, value.label);
}

}  // namespace

void WriteSqliteEnums(SqliteDatabase& database) {
  Write(database, kEventTypes);
  Write(database, kEventClasses);
  for (const Enumeration& enumeration : kEnumerations) Write(database, enumeration);
}

}  // namespace gprof
