// A CUDA program (driver API alone) that knows exactly what it did.
#include <cuda.h>

#include "facts.h"

int main() {
  CHECK(cuInit(0));
  CUcontext context, second;
  CHECK(cuCtxCreate(&context, nullptr, 0, 0));
  CUmodule compiled, jit;
  CHECK(cuModuleLoadData(&compiled, "cubin"));
  CHECK(cuModuleLoadData(&jit, ".version 8.0\n"));
  CUfunction first, other;
  CHECK(cuModuleGetFunction(&first, compiled, "first_kernel"));
  CHECK(cuModuleGetFunction(&other, jit, "jit_kernel"));
  const int missing = cuModuleGetFunction(&other, jit, "missing_kernel");
  CUstream stream;
  CHECK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -3));
  for (unsigned i = 1; i <= 4; ++i) CHECK(cuLaunchKernel(first, i, 2, 3, 32, 4, 1, 1024, stream, nullptr, nullptr));
  CHECK(cuLaunchKernel(other, 9, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr));
  const int bad_launch = cuLaunchKernel(other, 9, 1, 1, 4096, 1, 1, 0, nullptr, nullptr, nullptr);
  CUdeviceptr memory;
  CHECK(cuMemAlloc(&memory, 4096));
  char host[4096] = {};
  CHECK(cuMemcpyHtoD(memory, host, 4096));
  CHECK(cuMemHostRegister(host, sizeof(host), 0));
  CHECK(cuMemcpyDtoHAsync(host, memory, 1234, stream));
  CHECK(cuMemsetD8(memory, 0x5a, 77));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemHostUnregister(host));
  CHECK(cuCtxSynchronize());
  CHECK(cuCtxCreate(&second, nullptr, 0, 1));
  CHECK(cuMemAlloc(&memory, 128));
  CHECK(cuMemsetD8(memory, 1, 128));
  CHECK(cuCtxSynchronize());
  CHECK(cuModuleUnload(compiled));
  CHECK(cuCtxDestroy(second));
  facts::Say(R"({"fact":"me","tid":%u,"missing":%d,"bad_launch":%d})", facts::Tid(), missing, bad_launch);
  return 0;
}
