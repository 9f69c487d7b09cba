// Multiplies matrices in every form, by libraries that look like cuBLAS to their callers, and knows what it did.
#include <cuda.h>

#include <cstdlib>
#include <cstring>

#include "facts.h"
#include "fake_cublas.h"

namespace {

CUfunction kernel;

void Launch() { CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr)); }

alignas(16) char memory[4096];
template <class T>
T* At(std::size_t bytes) {
  return reinterpret_cast<T*>(memory + bytes);
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(cuInit(0));
  CUcontext context;
  CHECK(cuCtxCreate(&context, nullptr, 0, 0));
  CUmodule module;
  CHECK(cuModuleLoadData(&module, "cubin"));
  CHECK(cuModuleGetFunction(&kernel, module, "gemm_kernel"));
  FakeCublasLaunchesWith(Launch);
  constexpr int kNot = 0, kTransposed = 1, kFp16 = 2, kBf16 = 14, kCompute32 = 68;
  void* const handle = memory;
  float* const f = At<float>(0);
  const double* const in[] = {nullptr};
  double* const out[] = {nullptr};
  int sum = 0;
  sum += cublasSgemm_v2(nullptr, kNot, kTransposed, 64, 32, 16, f, f, 64, f, 32, f, f, 64);
  sum += cublasSgemm_v2(handle, kTransposed, kNot, 65, 33, 17, f, At<float>(4), 17, f, 17, f, f, 65);
  const int failed = cublasSgemm_v2(handle, kNot, kNot, 0, 33, 17, f, f, 1, f, 17, f, f, 1);
  sum += cublasDgemmBatched(handle, kNot, kNot, 8, 9, 10, nullptr, in, 8, in, 10, nullptr, out, 8, 5);
  sum += cublasSgemmStridedBatched(nullptr, kNot, kNot, 4, 5, 6, f, f, 4, 24, f, 6, 30, f, f, 4, 20, 7);
  sum += cublasGemmEx(handle, kNot, kNot, 128, 256, 512, f, f, kFp16, 128, f, kFp16, 512, f, f, kFp16, 128, kCompute32,
                      -1);
  sum += cublasGemmEx_64(handle, kNot, kNot, 128, 256, int64_t{1} << 31, f, f, kBf16, 128, f, kBf16, 4096, f, f, kBf16,
                         128, kCompute32, -1);
  sum += cublasGemmStridedBatchedEx(handle, kNot, kNot, 11, 12, 13, f, At<char>(2), kFp16, 11, 143, f, kFp16, 13, 156,
                                    f, f, kFp16, 11, 132, 3, kCompute32, -1);
  const FakeMatmul matmul = {kCompute32, kTransposed, kNot};
  const FakeLayout a = {kBf16, 96, 48, 96, 2}, b = {kBf16, 96, 24, 96, 2}, d = {kFp16, 48, 24, 48, 2};
  sum += cublasLtMatmul(handle, &matmul, f, f, &a, f, &b, f, f, &d, f, &d, nullptr, nullptr, 0, nullptr);
  sum += cublasXtSgemm(handle, kTransposed, kNot, 70, 71, 72, f, f, 72, f, 72, f, f, 70);
  const int transposed[] = {kNot, kTransposed}, m[] = {10, 20}, n[] = {30, 40}, k[] = {50, 60}, sizes[] = {2, 3};
  sum += cublasSgemmGroupedBatched(nullptr, transposed, transposed, m, n, k, f, nullptr, k, nullptr, n, f, nullptr, m,
                                   2, sizes);
  CHECK(cuCtxSynchronize());
  facts::Say(R"({"fact":"me","tid":%u,"sum":%d,"failed":%d})", facts::Tid(), sum, failed);
  if (argc > 1 && std::strcmp(argv[1], "die") == 0) std::abort();
  return 0;
}
