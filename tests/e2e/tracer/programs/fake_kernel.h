// Tells the runtime about a kernel as the code that nvcc makes would, so that no nvcc is needed.
#pragma once

#include <cuda_runtime_api.h>

extern "C" void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name, int limit,
                                       uint3*, uint3*, dim3*, dim3*, int*);

#ifdef TEST_LAUNCHES_HANDLES
extern "C" cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function);
extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args, size_t shared,
                                          cudaStream_t stream);
#endif

struct FakeKernel {
  explicit FakeKernel(const char* mangled_name) : name(mangled_name) {
    __cudaRegisterFunction(nullptr, reinterpret_cast<const char*>(this), nullptr, name, -1, nullptr, nullptr, nullptr,
                           nullptr, nullptr);
  }
  cudaError_t Launch(unsigned blocks, unsigned threads, cudaStream_t stream = nullptr, size_t shared = 0) const {
#ifdef TEST_LAUNCHES_HANDLES
    // As the code of nvcc 13 does, which never calls cudaLaunchKernel.
    cudaKernel_t kernel = nullptr;
    const cudaError_t found = __cudaGetKernel(&kernel, this);
    return found != cudaSuccess ? found
                                : __cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), nullptr, shared, stream);
#else
    return cudaLaunchKernel(this, dim3(blocks), dim3(threads), nullptr, shared, stream);
#endif
  }
  const char* name;
};
