// From what the virtual device and the API frames say to callbacks and activity records.
#include <pthread.h>
#include <sys/syscall.h>

#include "cupti_pcs.h"
#include "cupti_range.h"
#include "cupti_session.h"

namespace mock {
namespace {

uint32_t ThreadId() {
  // By default CUPTI gives pthread_self, cut to 32 bits.
  if (TheSession().uses_system_thread_ids) return static_cast<uint32_t>(syscall(SYS_gettid));
  return static_cast<uint32_t>(pthread_self());
}

ApiWish WantsApi(uint32_t domain, uint32_t cbid) {
  const Session& s = TheSession();
  if (s.is_dead || cbid > (domain == kDriver ? kLastDriverId : kLastRuntimeId)) return {};
  const uint32_t kind = domain == kDriver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
  return {.callback = s.is_subscribed && cbid < 1024 && s.callbacks[domain][cbid] != 0, .record = IsOn(kind)};
}

uint32_t NextCorrelation() {
  Session& s = TheSession();
  static const bool has_start = [&] {
    s.next_correlation = static_cast<uint32_t>(EnvNumber("MOCK_CORRELATION_START", 1));
    return true;
  }();
  static_cast<void>(has_start);
  uint32_t id = s.next_correlation++;
  return id != 0 ? id : s.next_correlation++;  // 0 means "no correlation"
}

// What is made of a graph meanwhile is not what runs later.
void CheckGraphCall([[maybe_unused]] const Frame& frame) {
#if MOCK_CUDA_VERSION >= 12080
  if (frame.domain == kDriver && frame.cbid == CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags &&
      AreKernelsMeasured())
    Violation("a graph is instantiated while the range profiler measures kernels");
#endif
}

void Api(Frame* frame, bool is_exit, ApiWish wish, void* return_value, uint32_t result) {
  const Hub* hub = TheSession().hub;
  ContextInfo context{};
  hub->context_info(nullptr, &context);
  CUpti_CallbackData data{};
  data.callbackSite = is_exit ? CUPTI_API_EXIT : CUPTI_API_ENTER;
  data.functionName = frame->function;
  data.functionParams = frame->params;
  data.functionReturnValue = is_exit ? return_value : nullptr;
  data.symbolName = frame->symbol;
  data.context = context.handle;
  data.contextUid = context.id;
  data.correlationData = &frame->correlation_data;
  data.correlationId = frame->correlation;
  if (is_exit) CheckGraphCall(*frame);
  if (wish.callback) CallBack(static_cast<CUpti_CallbackDomain>(frame->domain), frame->cbid, &data);
  if (!is_exit) CheckGraphCall(*frame);
  if (!is_exit || !wish.record) return;
  CUpti_ActivityAPI r{};
  r.cbid = frame->cbid;
  r.start = frame->start_ns;
  r.end = NowNs();
  r.processId = static_cast<uint32_t>(getpid());
  r.threadId = ThreadId();
  r.correlationId = frame->correlation;
  r.returnValue = result;
  EmitRecord(r, frame->domain == kDriver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME);
}

// The streams that every context owns are told as well: seen with libcupti 13.0 on an H200.
void ReportInternalStreams(const ContextInfo& info) {
  constexpr uint32_t kInternalStreams = 7;
  for (uint32_t i = 0; i < kInternalStreams; ++i) {
    CUpti_ActivityStream r{};
    r.contextId = info.id;
    r.streamId = info.null_stream - 1 + i;
    r.flag = r.streamId == info.null_stream ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL
                                            : CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING;
    EmitRecord(r, CUPTI_ACTIVITY_KIND_STREAM);
  }
}

void InitFinished() { Dispatch(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, nullptr); }

void Context(const ContextInfo& info, bool is_created) {
  CUpti_ResourceData data{};
  data.context = info.handle;
  if (!is_created) {
    Dispatch(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, &data);
    return;
  }
  if (IsOn(CUPTI_ACTIVITY_KIND_DEVICE)) ReportDevices();
  if (IsOn(CUPTI_ACTIVITY_KIND_CONTEXT)) {
    CUpti_ActivityContext3 r{};
    r.contextId = info.id;
    r.deviceId = info.device;
    r.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
    r.nullStreamId = static_cast<uint16_t>(info.null_stream);
    EmitRecord(r, CUPTI_ACTIVITY_KIND_CONTEXT);
  }
  if (IsOn(CUPTI_ACTIVITY_KIND_STREAM)) ReportInternalStreams(info);
  Dispatch(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &data);
}

void Stream(const StreamInfo& info, bool is_created, uint32_t correlation) {
  CUpti_ResourceData data{};
  data.context = info.context_handle;
  data.resourceHandle.stream = info.handle;
  if (is_created && IsOn(CUPTI_ACTIVITY_KIND_STREAM)) {
    CUpti_ActivityStream r{};
    r.contextId = info.context;
    r.streamId = info.id;
    r.priority = static_cast<uint32_t>(info.priority);
    r.flag = (info.flags & CU_STREAM_NON_BLOCKING) != 0 ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING
                                                        : CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT;
    r.correlationId = correlation;
    EmitRecord(r, CUPTI_ACTIVITY_KIND_STREAM);
  }
  Dispatch(CUPTI_CB_DOMAIN_RESOURCE,
           is_created ? CUPTI_CBID_RESOURCE_STREAM_CREATED : CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, &data);
}

void EmitOverhead(uint64_t start_ns, uint64_t end_ns, uint32_t correlation) {
  CUpti_ActivityOverhead3 r{};
  r.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION;
  r.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  r.objectId.pt.processId = static_cast<uint32_t>(getpid());
  r.objectId.pt.threadId = ThreadId();
  r.start = start_ns;
  r.end = end_ns;
  r.correlationId = correlation;
  EmitRecord(r, CUPTI_ACTIVITY_KIND_OVERHEAD);
}

void EmitJit(uint64_t start_ns, uint64_t end_ns, uint32_t correlation) {
  CUpti_ActivityJit2 r{};
  r.jitEntryType = CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN;
  r.jitOperationType = CUPTI_ACTIVITY_JIT_OPERATION_COMPILE;
  r.start = start_ns;
  r.end = end_ns;
  r.correlationId = correlation;
  r.processId = static_cast<uint32_t>(getpid());
  r.threadId = ThreadId();
  EmitRecord(r, CUPTI_ACTIVITY_KIND_JIT);
}

void Module(CUcontext context, uint32_t id, const void* image, uint64_t bytes, bool is_loaded, bool is_jit,
            uint64_t start_ns, uint64_t end_ns, uint32_t correlation) {
  CUpti_ModuleResourceData module{id, bytes, static_cast<const char*>(image)};
  CUpti_ResourceData data{};
  data.context = context;
  data.resourceDescriptor = &module;
  if (is_loaded && is_jit && IsOn(CUPTI_ACTIVITY_KIND_JIT)) EmitJit(start_ns, end_ns, correlation);
  if (is_loaded && IsOn(CUPTI_ACTIVITY_KIND_OVERHEAD)) EmitOverhead(start_ns, end_ns, correlation);
  Dispatch(CUPTI_CB_DOMAIN_RESOURCE,
           is_loaded ? CUPTI_CBID_RESOURCE_MODULE_LOADED : CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, &data);
}

void GraphExec(CUcontext context, CUgraph graph, CUgraphExec exec, bool is_created) {
  CUpti_GraphData graph_data{};
  graph_data.graph = graph;
  graph_data.graphExec = exec;
  CUpti_ResourceData data{};
  data.context = context;
  data.resourceDescriptor = &graph_data;
  Dispatch(CUPTI_CB_DOMAIN_RESOURCE,
           is_created ? CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED : CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, &data);
}

void GraphNode(CUcontext context, const NodeInfo& info) {
  CUpti_GraphData graph_data{};
  graph_data.graph = info.graph;
  graph_data.node = info.node;
  graph_data.originalNode = info.original;
  graph_data.nodeType = info.type;
  CUpti_ResourceData data{};
  data.context = context;
  data.resourceDescriptor = &graph_data;
  Dispatch(CUPTI_CB_DOMAIN_RESOURCE,
           info.original != nullptr ? CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED : CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
           &data);
}

template <class Record>
void SetCommon(Record* r, const Op& op) {
  r->start = op.start_ns;
  r->end = op.end_ns;
  r->deviceId = op.device;
  r->contextId = op.context;
  r->streamId = op.stream;
  r->correlationId = op.is_in_body ? 0 : op.correlation;  // as libcupti 13.0 has it
  r->graphId = op.graph;
}

void EmitKernel(const Op& op) {
  const uint32_t kind =
      IsOn(CUPTI_ACTIVITY_KIND_KERNEL) ? CUPTI_ACTIVITY_KIND_KERNEL : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  if (!IsOn(kind) || TheSession().has_no_kernels[op.context % 1024] != 0) return;
  CUpti_ActivityKernel10 r{};
  SetCommon(&r, op);
  r.name = op.name;
  r.gridX = static_cast<int32_t>(op.grid.x);
  r.gridY = static_cast<int32_t>(op.grid.y);
  r.gridZ = static_cast<int32_t>(op.grid.z);
  r.blockX = static_cast<int32_t>(op.block.x);
  r.blockY = static_cast<int32_t>(op.block.y);
  r.blockZ = static_cast<int32_t>(op.block.z);
  r.registersPerThread = 40;
  r.staticSharedMemory = 512;
  r.dynamicSharedMemory = static_cast<int32_t>(op.dynamic_shared_bytes);
  r.localMemoryPerThread = 16;
  r.localMemoryTotal = 4096;
  r.localMemoryTotal_v2 = 4096;
  r.sharedMemoryExecuted = 16384;
  r.completed = op.end_ns;
  r.graphNodeId = op.graph_node;
  r.channelID = 3;
  r.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  EmitRecord(r, kind, op.end_ns, offsetof(CUpti_ActivityKernel10, start));
}

void EmitMemcpy(const Op& op) {
  if (!IsOn(CUPTI_ACTIVITY_KIND_MEMCPY)) return;
  CUpti_ActivityMemcpy6 r{};
  SetCommon(&r, op);
  r.copyKind = op.copy_kind;
  r.srcKind = op.source_memory;
  r.dstKind = op.destination_memory;
  r.flags = op.is_async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
  r.bytes = op.bytes;
  r.graphNodeId = op.graph_node;
  r.channelID = 11;
  r.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
  r.copyCount = 1;
  EmitRecord(r, CUPTI_ACTIVITY_KIND_MEMCPY, op.end_ns, offsetof(CUpti_ActivityMemcpy6, start));
}

void EmitPeerCopy(const Op& op) {
  // Comes with MEMCPY, and MEMCPY2 by itself brings none.
  if (!IsOn(CUPTI_ACTIVITY_KIND_MEMCPY)) return;
  CUpti_ActivityMemcpyPtoP4 r{};
  SetCommon(&r, op);
  r.copyKind = op.copy_kind;
  r.srcKind = op.source_memory;
  r.dstKind = op.destination_memory;
  r.flags = op.is_async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
  r.bytes = op.bytes;
  r.srcDeviceId = op.peer_source_device;
  r.srcContextId = op.peer_source_context;
  r.dstDeviceId = op.peer_destination_device;
  r.dstContextId = op.peer_destination_context;
  r.graphNodeId = op.graph_node;
  EmitRecord(r, CUPTI_ACTIVITY_KIND_MEMCPY2, op.end_ns, offsetof(CUpti_ActivityMemcpyPtoP4, start));
}

void EmitMemset(const Op& op) {
  if (!IsOn(CUPTI_ACTIVITY_KIND_MEMSET)) return;
  CUpti_ActivityMemset4 r{};
  SetCommon(&r, op);
  r.value = op.value;
  r.bytes = op.bytes;
  r.flags = op.is_async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
  r.memoryKind = op.source_memory;
  r.graphNodeId = op.graph_node;
  EmitRecord(r, CUPTI_ACTIVITY_KIND_MEMSET, op.end_ns, offsetof(CUpti_ActivityMemset4, start));
}

void EmitGraph(const Op& op) {
  if (!IsOn(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)) return;
  CUpti_ActivityGraphTrace2 r{};
  SetCommon(&r, op);
  r.endDeviceId = op.device;
  r.endContextId = op.context;
  EmitRecord(r, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, op.end_ns, offsetof(CUpti_ActivityGraphTrace2, start));
}

void EmitMemory(const Op& op) {
  if (!IsOn(CUPTI_ACTIVITY_KIND_MEMORY2)) return;
  CUpti_ActivityMemory4 r{};
  r.memoryOperationType = op.kind == OpKind::kAllocate ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
                                                       : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  r.memoryKind = static_cast<CUpti_ActivityMemoryKind>(op.source_memory);
  r.correlationId = op.correlation;
  r.address = op.address;
  r.bytes = op.bytes;
  r.timestamp = op.start_ns;
  r.processId = static_cast<uint32_t>(getpid());
  r.deviceId = op.device;
  r.contextId = op.context;
  r.streamId = op.is_async ? op.stream : CUPTI_INVALID_STREAM_ID;
  r.isAsync = op.is_async ? 1 : 0;
  if (op.pool != 0) {
    r.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
    r.memoryPoolConfig.address = op.pool;
    r.memoryPoolConfig.pool.size = op.pool_bytes;
    r.memoryPoolConfig.utilizedSize = op.pool_used_bytes;
  }
  EmitRecord(r, CUPTI_ACTIVITY_KIND_MEMORY2);
}

void EmitPool(const Op& op) {
  if (!IsOn(CUPTI_ACTIVITY_KIND_MEMORY_POOL)) return;
  CUpti_ActivityMemoryPool3 r{};
  r.memoryPoolOperationType = static_cast<CUpti_ActivityMemoryPoolOperationType>(op.pool_operation);
  r.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  r.correlationId = op.correlation;
  r.processId = static_cast<uint32_t>(getpid());
  r.deviceId = op.device;
  r.minBytesToKeep = op.pool_keep_bytes;
  r.address = op.pool;
  r.size = op.pool_bytes;
  r.timestamp = op.start_ns;
  r.utilizedSize = op.pool_used_bytes;
  EmitRecord(r, CUPTI_ACTIVITY_KIND_MEMORY_POOL);
}

void EmitManaged(const Op& op) {
  if (!IsOn(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) || !TheSession().managed_kinds[op.managed_kind]) return;
  CUpti_ActivityUnifiedMemoryCounter3 r{};
  r.counterKind = static_cast<CUpti_ActivityUnifiedMemoryCounterKind>(op.managed_kind);
  r.value = op.bytes;
  r.start = op.start_ns;
  r.end = op.end_ns;
  r.address = op.address;
  r.srcId = op.managed_source;
  r.dstId = op.managed_destination;
  r.streamId = 0xABCD;  // means nothing, says cupti_activity.h
  r.processId = static_cast<uint32_t>(getpid());
  r.flags = op.managed_flags;
  EmitRecord(r, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
}

// MOCK_FATAL_AFTER: a background error, after which CUPTI has shut itself down.
void DieIfAsked() {
  Session& s = TheSession();
  const long after = EnvNumber("MOCK_FATAL_AFTER", 0);
  if (s.is_dead || ++s.operations_seen != static_cast<uint64_t>(after)) return;
  CUpti_StateData data{};
  data.notification.result = CUPTI_ERROR_UNKNOWN;
  data.notification.message = "mock: background error";
  Dispatch(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR, &data);
  s.is_dead = true;
}

void OnOp(const Op& op) {
  DieIfAsked();
#if MOCK_CUDA_VERSION >= 12080
  NoteRangeKernel(op);
  NoteSampledKernel(op);
#endif
  switch (op.kind) {
    case OpKind::kKernel:
      EmitKernel(op);
      break;
    case OpKind::kMemcpy:
      EmitMemcpy(op);
      break;
    case OpKind::kPeerCopy:
      EmitPeerCopy(op);
      break;
    case OpKind::kMemset:
      EmitMemset(op);
      break;
    case OpKind::kGraph:
      EmitGraph(op);
      break;
    case OpKind::kAllocate:
    case OpKind::kFree:
      EmitMemory(op);
      break;
    case OpKind::kPool:
      EmitPool(op);
      break;
    case OpKind::kManaged:
      EmitManaged(op);
      break;
  }
}

void OnSync(const SyncInfo& info) {
  if (!IsOn(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) return;
  CUpti_ActivitySynchronization2 r{};
  r.type = static_cast<CUpti_ActivitySynchronizationType>(info.type);
  r.start = info.start_ns;
  r.end = info.end_ns;
  r.correlationId = info.correlation;
  r.contextId = info.context;
  r.streamId = info.stream;
  r.cudaEventId = info.event;
  r.returnValue = info.result;
  EmitRecord(r, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
}

bool WantsGraphNodes() { return !IsOn(CUPTI_ACTIVITY_KIND_GRAPH_TRACE); }

}  // namespace

void ReportDevices() {
  Session& s = TheSession();
  if (s.has_reported_devices) return;
  s.has_reported_devices = true;
  const Hub* hub = s.hub;
  for (int i = 0; i < hub->device_count(); ++i) {
    const DeviceFacts f = hub->device(i);
    CUpti_ActivityDevice5 r{};
    r.id = static_cast<uint32_t>(i);
    r.name = strdup(f.name);  // the tool frees it
    r.uuid = f.uuid;
    r.computeCapabilityMajor = f.major;
    r.computeCapabilityMinor = f.minor;
    r.numMultiprocessors = f.sm_count;
    r.coreClockRate = f.clock_khz;
    r.globalMemorySize = f.memory_bytes;
    r.globalMemoryBandwidth = 3352320000;  // kB/s
    r.l2CacheSize = static_cast<uint32_t>(f.l2_bytes);
    r.numThreadsPerWarp = 32;
    r.maxWarpsPerMultiprocessor = 64;
    r.maxBlocksPerMultiprocessor = 32;
    r.maxThreadsPerBlock = 1024;
    r.maxRegistersPerMultiprocessor = 65536;
    r.maxSharedMemoryPerMultiprocessor = 233472;
    r.maxRegistersPerBlock = 65536;
    r.maxSharedMemoryPerBlock = 49152;
    r.isCudaVisible = 1;
    EmitRecord(r, CUPTI_ACTIVITY_KIND_DEVICE);
  }
}

const Observer& TheCuptiObserver() {
  static const Observer observer = {WantsApi,
                                    NextCorrelation,
                                    Api,
                                    InitFinished,
                                    Context,
                                    Stream,
                                    Module,
                                    GraphExec,
                                    GraphNode,
                                    OnOp,
                                    OnSync,
                                    WantsGraphNodes,
                                    [] { return TheSession().kernel_switches.load(); }};
  return observer;
}

}  // namespace mock
