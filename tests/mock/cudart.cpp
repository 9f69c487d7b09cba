// Double of libcudart: a runtime API call frame around calls of the driver, which it opens as the real one does.
#include "cudart_call.h"

// NVIDIA's header packages come without cudaProfiler.h and cuda_profiler_api.h.
extern "C" CUresult cuProfilerStart();
extern "C" CUresult cuProfilerStop();

namespace mock {

Runtime& TheRuntime() {
  static Runtime& runtime = *new Runtime;
  return runtime;
}

namespace {
thread_local int current_device = 0;
thread_local bool has_context = false;
thread_local cudaError_t last_error = cudaSuccess;
}  // namespace

void SetLastError(cudaError_t error) { last_error = error; }

cudaError_t FromDriver(CUresult result) {
  switch (result) {
    case CUDA_ERROR_NOT_INITIALIZED:
      return cudaErrorInitializationError;
    case CUDA_ERROR_DEINITIALIZED:
      return cudaErrorCudartUnloading;
    default:
      return static_cast<cudaError_t>(result);  // the two share most numbers
  }
}

namespace {

void Load() {
  Runtime& r = TheRuntime();
  r.libcuda = dlopen("libcuda.so.1", RTLD_NOW);
  if (r.libcuda == nullptr) return;
  const void* table = nullptr;
  auto* get_table = DRIVER(cuGetExportTable);
  if (get_table == nullptr || get_table(&table, &kHubId) != CUDA_SUCCESS) return;
  r.hub = static_cast<const Hub*>(table);
  r.state = FromDriver(DRIVER(cuInit)(0));
}

// The primary context of a device, retained once.
CUresult ContextOf(int device, CUcontext* context) {
  Runtime& r = TheRuntime();
  std::lock_guard<std::mutex> lock(r.context_mutex);
  CUcontext& known = r.contexts[device];
  const CUresult result = known != nullptr ? CUDA_SUCCESS : DRIVER(cuDevicePrimaryCtxRetain)(&known, device);
  *context = known;
  return result;
}

}  // namespace

cudaError_t Prepare() {
  std::call_once(TheRuntime().once, Load);
  return TheRuntime().state;
}

cudaError_t MakeContextCurrent() {
  if (has_context) return cudaSuccess;
  CUcontext context = nullptr;
  CUresult result = ContextOf(current_device, &context);
  if (result == CUDA_SUCCESS) result = DRIVER(cuCtxSetCurrent)(context);
  has_context = result == CUDA_SUCCESS;
  return FromDriver(result);
}

namespace {

const char* KernelName(const void* function) {
  Runtime& r = TheRuntime();
  std::lock_guard<std::mutex> lock(r.mutex);
  const auto it = r.kernels.find(function);
  return it != r.kernels.end() ? it->second : nullptr;
}

// Modules are loaded lazily: the first launch in a context loads the one that all kernels of the program share.
cudaError_t FindFunction(const void* host, CUfunction* out) {
  const char* name = KernelName(host);
  if (name == nullptr) return cudaErrorInvalidDeviceFunction;
  Runtime& r = TheRuntime();
  CUcontext context = nullptr;
  DRIVER(cuCtxGetCurrent)(&context);
  std::lock_guard<std::mutex> lock(r.mutex);
  CUfunction& function = r.functions[{host, context}];
  if (function == nullptr) {
    CUmodule& module = r.modules[context];
    if (module == nullptr) DRIVER(cuModuleLoadData)(&module, "fatbin with .debug_line");
    const CUresult result = DRIVER(cuModuleGetFunction)(&function, module, name);
    if (result != CUDA_SUCCESS) return FromDriver(result);
  }
  *out = function;
  return cudaSuccess;
}

cudaError_t Launch(const void* function, dim3 grid, dim3 block, void** args, size_t shared, cudaStream_t stream) {
  CUfunction f = nullptr;
  const cudaError_t found = FindFunction(function, &f);
  if (found != cudaSuccess) return found;
  return FromDriver(DRIVER(cuLaunchKernel)(f, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                           static_cast<unsigned int>(shared), stream, args, nullptr));
}

cudaError_t Copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyHostToDevice) return FromDriver(DRIVER(cuMemcpyHtoD)(Address(to), from, bytes));
  if (kind == cudaMemcpyDeviceToHost) return FromDriver(DRIVER(cuMemcpyDtoH)(to, Address(from), bytes));
  if (kind == cudaMemcpyDeviceToDevice) return FromDriver(DRIVER(cuMemcpyDtoD)(Address(to), Address(from), bytes));
  return cudaErrorInvalidMemcpyDirection;
}

cudaError_t CopyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t s) {
  if (kind == cudaMemcpyHostToDevice) return FromDriver(DRIVER(cuMemcpyHtoDAsync)(Address(to), from, bytes, s));
  if (kind == cudaMemcpyDeviceToHost) return FromDriver(DRIVER(cuMemcpyDtoHAsync)(to, Address(from), bytes, s));
  if (kind == cudaMemcpyDeviceToDevice) {
    return FromDriver(DRIVER(cuMemcpyDtoDAsync)(Address(to), Address(from), bytes, s));
  }
  return cudaErrorInvalidMemcpyDirection;
}

}  // namespace
}  // namespace mock

using namespace mock;  // NOLINT: the functions below are C symbols in the global namespace

extern "C" {

// What the code that nvcc makes calls before main, with a table entry for each kernel.
void** __cudaRegisterFatBinary(void* binary) { return new void*(binary); }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void** handle) { delete handle; }
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
  Runtime& r = TheRuntime();
  std::lock_guard<std::mutex> lock(r.mutex);
  r.kernels[host] = name;
}

// ---- devices and errors ----

cudaError_t cudaGetDeviceCount(int* count) {
  cudaGetDeviceCount_v3020_params p{count};
  return Call(
      MOCK_RUNTIME_ID(cudaGetDeviceCount, v3020), &p, [&] { return FromDriver(DRIVER(cuDeviceGetCount)(count)); },
      false);
}

cudaError_t cudaGetDevice(int* device) {
  cudaGetDevice_v3020_params p{device};
  return Call(
      MOCK_RUNTIME_ID(cudaGetDevice, v3020), &p,
      [&] {
        *device = current_device;
        return cudaSuccess;
      },
      false);
}

cudaError_t cudaSetDevice(int device) {
  cudaSetDevice_v3020_params p{device};
  return Call(
      MOCK_RUNTIME_ID(cudaSetDevice, v3020), &p,
      [&] {
        int count = 0;
        DRIVER(cuDeviceGetCount)(&count);
        if (device < 0 || device >= count) return cudaErrorInvalidDevice;
        if (device != current_device) has_context = false;
        current_device = device;
        return MakeContextCurrent();
      },
      false);
}

cudaError_t cudaGetLastError(void) {
  return Call(
      MOCK_RUNTIME_ID(cudaGetLastError, v3020), nullptr,
      [&] {
        const cudaError_t error = last_error;
        last_error = cudaSuccess;
        return error;
      },
      false);
}

cudaError_t cudaPeekAtLastError(void) {
  return Call(
      MOCK_RUNTIME_ID(cudaPeekAtLastError, v3020), nullptr, [&] { return last_error; }, false);
}

cudaError_t cudaDeviceSynchronize(void) {
  return Call(MOCK_RUNTIME_ID(cudaDeviceSynchronize, v3020), nullptr,
              [&] { return FromDriver(DRIVER(cuCtxSynchronize)()); });
}

cudaError_t cudaDeviceReset(void) {
  return Call(MOCK_RUNTIME_ID(cudaDeviceReset, v3020), nullptr, [&] {
    has_context = false;
    {
      std::lock_guard<std::mutex> lock(TheRuntime().context_mutex);
      TheRuntime().contexts.erase(current_device);
    }
    return FromDriver(DRIVER(cuDevicePrimaryCtxReset)(current_device));
  });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = MOCK_CUDA_VERSION;
  return cudaSuccess;
}

cudaError_t cudaProfilerStart(void) {
  return Call(MOCK_RUNTIME_ID(cudaProfilerStart, v4000), nullptr,
              [&] { return FromDriver(DRIVER(cuProfilerStart)()); });
}

cudaError_t cudaProfilerStop(void) {
  return Call(MOCK_RUNTIME_ID(cudaProfilerStop, v4000), nullptr, [&] { return FromDriver(DRIVER(cuProfilerStop)()); });
}

// ---- memory ----

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  cudaMalloc_v3020_params p{pointer, bytes};
  return Call(MOCK_RUNTIME_ID(cudaMalloc, v3020), &p,
              [&] { return FromDriver(DRIVER(cuMemAlloc)(reinterpret_cast<CUdeviceptr*>(pointer), bytes)); });
}

cudaError_t cudaFree(void* pointer) {
  cudaFree_v3020_params p{pointer};
  return Call(MOCK_RUNTIME_ID(cudaFree, v3020), &p,
              [&] { return pointer == nullptr ? cudaSuccess : FromDriver(DRIVER(cuMemFree)(Address(pointer))); });
}

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  cudaMallocAsync_v11020_params p{pointer, bytes, stream};
  return Call(MOCK_RUNTIME_ID(cudaMallocAsync, v11020), &p, [&] {
    return FromDriver(DRIVER(cuMemAllocAsync)(reinterpret_cast<CUdeviceptr*>(pointer), bytes, stream));
  });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  cudaFreeAsync_v11020_params p{pointer, stream};
  return Call(MOCK_RUNTIME_ID(cudaFreeAsync, v11020), &p,
              [&] { return FromDriver(DRIVER(cuMemFreeAsync)(Address(pointer), stream)); });
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  cudaMallocHost_v3020_params p{pointer, bytes};
  return Call(MOCK_RUNTIME_ID(cudaMallocHost, v3020), &p,
              [&] { return FromDriver(DRIVER(cuMemHostAlloc)(pointer, bytes, 0)); });
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  cudaHostAlloc_v3020_params p{pointer, bytes, flags};
  return Call(MOCK_RUNTIME_ID(cudaHostAlloc, v3020), &p,
              [&] { return FromDriver(DRIVER(cuMemHostAlloc)(pointer, bytes, flags)); });
}

cudaError_t cudaFreeHost(void* pointer) {
  cudaFreeHost_v3020_params p{pointer};
  return Call(MOCK_RUNTIME_ID(cudaFreeHost, v3020), &p, [&] { return FromDriver(DRIVER(cuMemFreeHost)(pointer)); });
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy_v3020_params p{to, from, bytes, kind};
  return Call(MOCK_RUNTIME_ID(cudaMemcpy, v3020), &p, [&] { return Copy(to, from, bytes, kind); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  cudaMemcpyAsync_v3020_params p{to, from, bytes, kind, stream};
  return Call(MOCK_RUNTIME_ID(cudaMemcpyAsync, v3020), &p, [&] { return CopyAsync(to, from, bytes, kind, stream); });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream) {
  cudaMemcpyPeerAsync_v4000_params p{to, to_device, from, from_device, bytes, stream};
  return Call(MOCK_RUNTIME_ID(cudaMemcpyPeerAsync, v4000), &p, [&] {
    CUcontext to_context = nullptr, from_context = nullptr;
    CUresult result = ContextOf(to_device, &to_context);
    if (result == CUDA_SUCCESS) result = ContextOf(from_device, &from_context);
    if (result != CUDA_SUCCESS) return FromDriver(result);
    return FromDriver(DRIVER(cuMemcpyPeerAsync)(Address(to), to_context, Address(from), from_context, bytes, stream));
  });
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  cudaMemset_v3020_params p{to, value, bytes};
  return Call(MOCK_RUNTIME_ID(cudaMemset, v3020), &p,
              [&] { return FromDriver(DRIVER(cuMemsetD8)(Address(to), static_cast<unsigned char>(value), bytes)); });
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  cudaMemsetAsync_v3020_params p{to, value, bytes, stream};
  return Call(MOCK_RUNTIME_ID(cudaMemsetAsync, v3020), &p, [&] {
    return FromDriver(DRIVER(cuMemsetD8Async)(Address(to), static_cast<unsigned char>(value), bytes, stream));
  });
}

// ---- launches, streams, events ----

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** args, size_t shared,
                             cudaStream_t stream) {
  cudaLaunchKernel_v7000_params p{function, grid, block, args, shared, stream};
  return Call(
      MOCK_RUNTIME_ID(cudaLaunchKernel, v7000), &p, [&] { return Launch(function, grid, block, args, shared, stream); },
      true, KernelName(function));
}

#if MOCK_CUDA_VERSION >= 13000
// What nvcc 13 makes of <<<>>>: a handle for the kernel once, then launches of the handle.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(function));
  return KernelName(function) != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args, size_t shared,
                               cudaStream_t stream) {
  cudaLaunchKernel_v7000_params p{kernel, grid, block, args, shared, stream};
  return Call(
      MOCK_RUNTIME_ID(__cudaLaunchKernel, v13000), &p,
      [&] { return Launch(kernel, grid, block, args, shared, stream); }, true, KernelName(kernel));
}
#endif

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  cudaStreamCreate_v3020_params p{stream};
  return Call(MOCK_RUNTIME_ID(cudaStreamCreate, v3020), &p,
              [&] { return FromDriver(DRIVER(cuStreamCreate)(stream, 0)); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  cudaStreamCreateWithFlags_v5000_params p{stream, flags};
  return Call(MOCK_RUNTIME_ID(cudaStreamCreateWithFlags, v5000), &p,
              [&] { return FromDriver(DRIVER(cuStreamCreate)(stream, flags)); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  cudaStreamCreateWithPriority_v5050_params p{stream, flags, priority};
  return Call(MOCK_RUNTIME_ID(cudaStreamCreateWithPriority, v5050), &p,
              [&] { return FromDriver(DRIVER(cuStreamCreateWithPriority)(stream, flags, priority)); });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  cudaStreamDestroy_v5050_params p{stream};
  return Call(MOCK_RUNTIME_ID(cudaStreamDestroy, v5050), &p,
              [&] { return FromDriver(DRIVER(cuStreamDestroy)(stream)); });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  cudaStreamSynchronize_v3020_params p{stream};
  return Call(MOCK_RUNTIME_ID(cudaStreamSynchronize, v3020), &p,
              [&] { return FromDriver(DRIVER(cuStreamSynchronize)(stream)); });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  cudaStreamQuery_v3020_params p{stream};
  return Call(MOCK_RUNTIME_ID(cudaStreamQuery, v3020), &p, [&] { return FromDriver(DRIVER(cuStreamQuery)(stream)); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  cudaStreamWaitEvent_v3020_params p{stream, event, flags};
  return Call(MOCK_RUNTIME_ID(cudaStreamWaitEvent, v3020), &p,
              [&] { return FromDriver(DRIVER(cuStreamWaitEvent)(stream, event, flags)); });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  cudaEventCreate_v3020_params p{event};
  return Call(MOCK_RUNTIME_ID(cudaEventCreate, v3020), &p, [&] { return FromDriver(DRIVER(cuEventCreate)(event, 0)); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  cudaEventDestroy_v3020_params p{event};
  return Call(MOCK_RUNTIME_ID(cudaEventDestroy, v3020), &p, [&] { return FromDriver(DRIVER(cuEventDestroy)(event)); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  cudaEventRecord_v3020_params p{event, stream};
  return Call(MOCK_RUNTIME_ID(cudaEventRecord, v3020), &p,
              [&] { return FromDriver(DRIVER(cuEventRecord)(event, stream)); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  cudaEventRecordWithFlags_v11010_params p{event, stream, flags};
  return Call(MOCK_RUNTIME_ID(cudaEventRecordWithFlags, v11010), &p,
              [&] { return FromDriver(DRIVER(cuEventRecordWithFlags)(event, stream, flags)); });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  cudaLaunchHostFunc_v10000_params p{stream, function, data};
  return Call(MOCK_RUNTIME_ID(cudaLaunchHostFunc, v10000), &p,
              [&] { return FromDriver(DRIVER(cuLaunchHostFunc)(stream, function, data)); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  cudaEventSynchronize_v3020_params p{event};
  return Call(MOCK_RUNTIME_ID(cudaEventSynchronize, v3020), &p,
              [&] { return FromDriver(DRIVER(cuEventSynchronize)(event)); });
}

// ---- graphs ----

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
  cudaGraphCreate_v10000_params p{graph, flags};
  return Call(MOCK_RUNTIME_ID(cudaGraphCreate, v10000), &p,
              [&] { return FromDriver(DRIVER(cuGraphCreate)(graph, flags)); });
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   size_t count, const cudaKernelNodeParams* params) {
  cudaGraphAddKernelNode_v10000_params p{node, graph, dependencies, count, params};
  return Call(MOCK_RUNTIME_ID(cudaGraphAddKernelNode, v10000), &p, [&] {
    CUDA_KERNEL_NODE_PARAMS driver{};
    const cudaError_t found = FindFunction(params->func, &driver.func);
    if (found != cudaSuccess) return found;
    driver.gridDimX = params->gridDim.x;
    driver.gridDimY = params->gridDim.y;
    driver.gridDimZ = params->gridDim.z;
    driver.blockDimX = params->blockDim.x;
    driver.blockDimY = params->blockDim.y;
    driver.blockDimZ = params->blockDim.z;
    return FromDriver(DRIVER(cuGraphAddKernelNode)(node, graph, dependencies, count, &driver));
  });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                     size_t count, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  cudaGraphAddMemcpyNode1D_v11010_params p{node, graph, dependencies, count, to, from, bytes, kind};
  return Call(MOCK_RUNTIME_ID(cudaGraphAddMemcpyNode1D, v11010), &p, [&] {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = kind == cudaMemcpyHostToDevice ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = kind == cudaMemcpyDeviceToHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.srcHost = from;
    copy.srcDevice = Address(from);
    copy.dstHost = to;
    copy.dstDevice = Address(to);
    copy.WidthInBytes = bytes;
    copy.Height = copy.Depth = 1;
    return FromDriver(DRIVER(cuGraphAddMemcpyNode)(node, graph, dependencies, count, &copy, nullptr));
  });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   size_t count, const cudaMemsetParams* params) {
  cudaGraphAddMemsetNode_v10000_params p{node, graph, dependencies, count, params};
  return Call(MOCK_RUNTIME_ID(cudaGraphAddMemsetNode, v10000), &p, [&] {
    CUDA_MEMSET_NODE_PARAMS driver{};
    driver.dst = Address(params->dst);
    driver.value = params->value;
    driver.elementSize = params->elementSize;
    driver.width = params->width;
    driver.height = params->height;
    return FromDriver(DRIVER(cuGraphAddMemsetNode)(node, graph, dependencies, count, &driver, nullptr));
  });
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, cudaGraph_t graph, unsigned int value,
                                             unsigned int flags) {
  cudaGraphConditionalHandleCreate_v12030_params p{handle, graph, value, flags};
  return Call(MOCK_RUNTIME_ID(cudaGraphConditionalHandleCreate, v12030), &p, [&] {
    auto* const driver = reinterpret_cast<CUgraphConditionalHandle*>(handle);
    return FromDriver(DRIVER(cuGraphConditionalHandleCreate)(driver, graph, nullptr, value, flags));
  });
}

// Conditional nodes only.
cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                             const cudaGraphEdgeData* edges, size_t count, cudaGraphNodeParams* params) {
  cudaGraphAddNode_v12030_params p{node, graph, dependencies, edges, count, params};
  return Call(MOCK_RUNTIME_ID(cudaGraphAddNode, v12030), &p, [&] {
    if (params->type != cudaGraphNodeTypeConditional) return cudaErrorNotSupported;
    CUgraphNodeParams driver{};
    driver.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    driver.conditional.handle = params->conditional.handle;
    driver.conditional.size = params->conditional.size;
    const CUresult result = DRIVER(cuGraphAddNode)(node, graph, dependencies, nullptr, count, &driver);
    params->conditional.phGraph_out = driver.conditional.phGraph_out;
    return FromDriver(result);
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  cudaGraphInstantiate_v12000_params p{exec, graph, flags};
#if MOCK_CUDA_VERSION < 12000
  return Call(MOCK_RUNTIME_ID(cudaGraphInstantiate, v10000), &p,
#else
  return Call(MOCK_RUNTIME_ID(cudaGraphInstantiate, v12000), &p,
#endif
              [&] { return FromDriver(DRIVER(cuGraphInstantiate)(exec, graph, flags)); });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  cudaGraphLaunch_v10000_params p{exec, stream};
  return Call(MOCK_RUNTIME_ID(cudaGraphLaunch, v10000), &p,
              [&] { return FromDriver(DRIVER(cuGraphLaunch)(exec, stream)); });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  cudaGraphExecDestroy_v10000_params p{exec};
  return Call(MOCK_RUNTIME_ID(cudaGraphExecDestroy, v10000), &p,
              [&] { return FromDriver(DRIVER(cuGraphExecDestroy)(exec)); });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  cudaGraphDestroy_v10000_params p{graph};
  return Call(MOCK_RUNTIME_ID(cudaGraphDestroy, v10000), &p, [&] { return FromDriver(DRIVER(cuGraphDestroy)(graph)); });
}

}  // extern "C"
