// What the files of the libcudart double share: the frame around every runtime function, and the way to the driver.
#pragma once

#include <cuda_runtime_api.h>
#include <cupti_runtime_cbid.h>
#include <dlfcn.h>
#include <generated_cuda_runtime_api_meta.h>

#include <map>
#include <mutex>

#include "hub.h"

// The id of a runtime function carries the version of its interface; its name in callbacks does not.
#define MOCK_RUNTIME_ID(name, version) CUPTI_RUNTIME_TRACE_CBID_##name##_##version, #name

#define MOCK_STRING(name) #name
#define MOCK_SYMBOL(name) MOCK_STRING(name)
// Calls a driver function by the name that cuda.h gives it (cuMemAlloc is cuMemAlloc_v2).
#define DRIVER(name) reinterpret_cast<decltype(&name)>(dlsym(mock::TheRuntime().libcuda, MOCK_SYMBOL(name)))

namespace mock {

struct Runtime {
  std::once_flag once;
  std::mutex mutex, context_mutex;
  void* libcuda = nullptr;
  const Hub* hub = nullptr;
  cudaError_t state = cudaErrorInsufficientDriver;
  std::map<const void*, const char*> kernels;
  std::map<std::pair<const void*, CUcontext>, CUfunction> functions;
  std::map<CUcontext, CUmodule> modules;
  std::map<int, CUcontext> contexts;
};

Runtime& TheRuntime();
cudaError_t FromDriver(CUresult result);
// The driver is initialised before the first call is announced, so that a tool sees that call whole.
cudaError_t Prepare();
cudaError_t MakeContextCurrent();
void SetLastError(cudaError_t error);

template <class Body>
cudaError_t Call(uint32_t cbid, const char* name, const void* params, Body body, bool needs_context = true,
                 const char* symbol = nullptr) {
  cudaError_t result = Prepare();
  if (result != cudaSuccess) {
    SetLastError(result);
    return result;
  }
  const Hub* hub = TheRuntime().hub;
  Frame frame{};
  frame.domain = kRuntime;
  frame.cbid = cbid;
  frame.function = name;
  frame.params = params;
  frame.symbol = symbol;
  hub->enter(&frame);
  result = needs_context ? MakeContextCurrent() : cudaSuccess;
  if (result == cudaSuccess) result = body();
  hub->exit(&frame, &result, static_cast<uint32_t>(result));
  if (result != cudaSuccess && result != cudaErrorNotReady) SetLastError(result);
  return result;
}

inline CUdeviceptr Address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace mock
