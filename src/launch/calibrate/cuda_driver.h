// The CUDA driver, loaded when it is needed: gprof-cli is built without its headers and runs where it is missing.
// Handles are opaque, and results are 0 where all is well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "gprof/library_symbols.h"

namespace gprof {

struct KernelNode {  // CUDA_KERNEL_NODE_PARAMS_v2
  void* function = nullptr;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, shared_bytes = 0;
  void **parameters = nullptr, **extra = nullptr;
  void *kernel = nullptr, *context = nullptr;
};

struct CudaDriver {
  LibrarySymbols in;
  int (*init)(unsigned) = in("cuInit");
  int (*device_get)(int*, int) = in("cuDeviceGet");
  int (*device_name)(char*, int, int) = in("cuDeviceGetName");
  int (*primary_context)(void**, int) = in("cuDevicePrimaryCtxRetain");
  int (*set_context)(void*) = in("cuCtxSetCurrent");
  int (*load_module)(void**, const void*) = in("cuModuleLoadData");
  int (*get_function)(void**, void*, const char*) = in("cuModuleGetFunction");
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                void**) = in("cuLaunchKernel");
  int (*create_stream)(void**, unsigned) = in("cuStreamCreate");
  int (*wait_for_stream)(void*) = in("cuStreamSynchronize");
  int (*create_event)(void**, unsigned) = in("cuEventCreate");
  int (*record_event)(void*, void*) = in("cuEventRecord");
  int (*allocate)(uint64_t*, std::size_t) = in("cuMemAlloc_v2");
  int (*allocate_pinned)(void**, std::size_t, unsigned) = in("cuMemHostAlloc");
  int (*allocate_async)(uint64_t*, std::size_t, void*) = in("cuMemAllocAsync");
  int (*free_async)(uint64_t, void*) = in("cuMemFreeAsync");
  int (*copy_async)(uint64_t, const void*, std::size_t, void*) = in("cuMemcpyHtoDAsync_v2");
  int (*fill_async)(uint64_t, unsigned char, std::size_t, void*) = in("cuMemsetD8Async");
  int (*create_graph)(void**, unsigned) = in("cuGraphCreate");
  // Graphs are older than the second version, whose structure only has more at its end.
  int (*add_kernel_node)(void**, void*, void* const*, std::size_t,
                         const KernelNode*) = in.OneOf("cuGraphAddKernelNode_v2", "cuGraphAddKernelNode");
  int (*instantiate_graph)(void**, void*, unsigned long long) = in("cuGraphInstantiateWithFlags");
  int (*launch_graph)(void*, void*) = in("cuGraphLaunch");
  int (*start_profiler)() = in("cuProfilerStart");
  int (*stop_profiler)() = in("cuProfilerStop");
};

// Throws Error where there is no driver, or one without a function that is needed.
CudaDriver LoadCudaDriver();
// Throws Error for a result other than 0. `what`: "cuInit".
void CheckCuda(int result, const char* what);

}  // namespace gprof
