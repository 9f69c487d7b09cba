// The CUDA driver, loaded when it is needed: gprof-cli is built without its headers and runs where it is missing.
// Handles are opaque, and results are 0 where all is well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace gprof {

struct KernelNode {  // CUDA_KERNEL_NODE_PARAMS_v2
  void* function = nullptr;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, shared_bytes = 0;
  void **parameters = nullptr, **extra = nullptr;
  void *kernel = nullptr, *context = nullptr;
};

// name, symbol of the driver, parameters
#define GPROF_CUDA_FUNCTIONS(X)                                                                                \
  X(init, "cuInit", (unsigned))                                                                                \
  X(device_get, "cuDeviceGet", (int*, int))                                                                    \
  X(device_name, "cuDeviceGetName", (char*, int, int))                                                         \
  X(primary_context, "cuDevicePrimaryCtxRetain", (void**, int))                                                \
  X(set_context, "cuCtxSetCurrent", (void*))                                                                   \
  X(load_module, "cuModuleLoadData", (void**, const void*))                                                    \
  X(get_function, "cuModuleGetFunction", (void**, void*, const char*))                                         \
  X(launch, "cuLaunchKernel",                                                                                  \
    (void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**))      \
  X(create_stream, "cuStreamCreate", (void**, unsigned))                                                       \
  X(wait_for_stream, "cuStreamSynchronize", (void*))                                                           \
  X(create_event, "cuEventCreate", (void**, unsigned))                                                         \
  X(record_event, "cuEventRecord", (void*, void*))                                                             \
  X(allocate, "cuMemAlloc_v2", (uint64_t*, std::size_t))                                                       \
  X(allocate_pinned, "cuMemHostAlloc", (void**, std::size_t, unsigned))                                        \
  X(allocate_async, "cuMemAllocAsync", (uint64_t*, std::size_t, void*))                                        \
  X(free_async, "cuMemFreeAsync", (uint64_t, void*))                                                           \
  X(copy_async, "cuMemcpyHtoDAsync_v2", (uint64_t, const void*, std::size_t, void*))                           \
  X(fill_async, "cuMemsetD8Async", (uint64_t, unsigned char, std::size_t, void*))                              \
  X(create_graph, "cuGraphCreate", (void**, unsigned))                                                         \
  X(add_kernel_node, "cuGraphAddKernelNode_v2", (void**, void*, void* const*, std::size_t, const KernelNode*)) \
  X(instantiate_graph, "cuGraphInstantiateWithFlags", (void**, void*, unsigned long long))                     \
  X(launch_graph, "cuGraphLaunch", (void*, void*))                                                             \
  X(start_profiler, "cuProfilerStart", ())                                                                     \
  X(stop_profiler, "cuProfilerStop", ())

struct CudaDriver {
#define GPROF_CUDA_MEMBER(name, symbol, parameters) int(*name) parameters = nullptr;
  GPROF_CUDA_FUNCTIONS(GPROF_CUDA_MEMBER)
#undef GPROF_CUDA_MEMBER
};

// Throws Error where there is no driver, or one without a function that is needed.
CudaDriver LoadCudaDriver();
// Throws Error for a result other than 0. `what`: "cuInit".
void CheckCuda(int result, const char* what);

}  // namespace gprof
