// Calls of cuSPARSE, cuFFT, cuBLAS and cuSOLVER, each ROUNDS times. usage: gpu_library_calls ROUNDS
// It launches no kernel itself. What it called and what came out is printed as one JSON object; it exits with 3, or
// with 4 where a result is wrong.
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cufft.h>
#include <cusolverDn.h>
#include <cusparse.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "common/cuda_check.h"

namespace {

using gprof::examples::Check;

constexpr int kRows = 1024, kColumns = 32, kSignal = 4096;
constexpr float kOne = 1, kZero = 0;

// Of a library: each has a type of its own, and 0 is success in all of them.
template <class Status>
void Require(Status status, const char* what) {
  if (static_cast<int>(status) == 0) return;
  std::fprintf(stderr, "%s: status %d\n", what, static_cast<int>(status));
  std::exit(1);
}

// On the GPU, and never freed: the program is short.
template <class T>
T* OnGpu(const std::vector<T>& values) {
  T* memory = nullptr;
  Check(cudaMalloc(reinterpret_cast<void**>(&memory), values.size() * sizeof(T)));
  Check(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return memory;
}

float FirstOf(const float* memory) {
  float value = 0;
  Check(cudaMemcpy(&value, memory, sizeof(value), cudaMemcpyDeviceToHost));
  return value;
}

// A sparse matrix with 3 on its diagonal, times ones.
float Sparse(int rounds) {
  std::vector<int> offsets, columns;
  for (int i = 0; i <= kRows; ++i) offsets.push_back(i);
  for (int i = 0; i < kRows; ++i) columns.push_back(i);
  const std::vector<float> threes(kRows, 3), ones(static_cast<std::size_t>(kRows) * kColumns, 1);
  float* const result = OnGpu(ones);
  float* const input = OnGpu(ones);
  cusparseHandle_t handle = nullptr;
  cusparseSpMatDescr_t matrix = nullptr;
  cusparseDnVecDescr_t x = nullptr, y = nullptr;
  cusparseDnMatDescr_t b = nullptr, c = nullptr;
  Require(cusparseCreate(&handle), "cusparseCreate");
  Require(cusparseCreateCsr(&matrix, kRows, kRows, kRows, OnGpu(offsets), OnGpu(columns), OnGpu(threes),
                            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F),
          "cusparseCreateCsr");
  Require(cusparseCreateDnVec(&x, kRows, input, CUDA_R_32F), "cusparseCreateDnVec");
  Require(cusparseCreateDnVec(&y, kRows, result, CUDA_R_32F), "cusparseCreateDnVec");
  Require(cusparseCreateDnMat(&b, kRows, kColumns, kRows, input, CUDA_R_32F, CUSPARSE_ORDER_COL),
          "cusparseCreateDnMat");
  Require(cusparseCreateDnMat(&c, kRows, kColumns, kRows, result, CUDA_R_32F, CUSPARSE_ORDER_COL),
          "cusparseCreateDnMat");
  constexpr auto kAsItIs = CUSPARSE_OPERATION_NON_TRANSPOSE;
  std::size_t of_vector = 0, of_matrix = 0;
  Require(cusparseSpMV_bufferSize(handle, kAsItIs, &kOne, matrix, x, &kZero, y, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT,
                                  &of_vector),
          "cusparseSpMV_bufferSize");
  Require(cusparseSpMM_bufferSize(handle, kAsItIs, kAsItIs, &kOne, matrix, b, &kZero, c, CUDA_R_32F,
                                  CUSPARSE_SPMM_ALG_DEFAULT, &of_matrix),
          "cusparseSpMM_bufferSize");
  char* const buffer = OnGpu(std::vector<char>(of_vector + of_matrix + 16));
  float sum = 0;
  for (int i = 0; i < rounds; ++i) {
    Require(cusparseSpMV(handle, kAsItIs, &kOne, matrix, x, &kZero, y, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, buffer),
            "cusparseSpMV");
    sum += FirstOf(result);
    Require(cusparseSpMM(handle, kAsItIs, kAsItIs, &kOne, matrix, b, &kZero, c, CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT,
                         buffer),
            "cusparseSpMM");
    sum += FirstOf(result);
  }
  return sum / static_cast<float>(2 * rounds);
}

// There and back again: what comes out is what went in, times its length.
float Fourier(int rounds) {
  float* const real = OnGpu(std::vector<float>(kSignal, 1));
  auto* const complex = OnGpu(std::vector<cufftComplex>(kSignal));
  cufftHandle forward = 0, back = 0, both = 0;
  Require(cufftPlan1d(&forward, kSignal, CUFFT_R2C, 1), "cufftPlan1d");
  Require(cufftPlan1d(&back, kSignal, CUFFT_C2R, 1), "cufftPlan1d");
  Require(cufftPlan1d(&both, kSignal, CUFFT_C2C, 1), "cufftPlan1d");
  float sum = 0;
  for (int i = 0; i < rounds; ++i) {
    Check(cudaMemcpy(real, std::vector<float>(kSignal, 1).data(), kSignal * sizeof(float), cudaMemcpyHostToDevice));
    Require(cufftExecR2C(forward, real, complex), "cufftExecR2C");
    Require(cufftExecC2R(back, complex, real), "cufftExecC2R");
    sum += FirstOf(real);
    Require(cufftExecC2C(both, complex, complex, CUFFT_FORWARD), "cufftExecC2C");
  }
  Check(cudaDeviceSynchronize());
  for (const cufftHandle plan : {forward, back, both}) Require(cufftDestroy(plan), "cufftDestroy");
  return sum / static_cast<float>(rounds * kSignal);
}

// Ones times ones; and the factor of a matrix with 4 on its diagonal.
float Dense(int rounds) {
  constexpr int kSize = 256;
  constexpr std::size_t kElements = static_cast<std::size_t>(kSize) * kSize;
  std::vector<float> diagonal(kElements);
  for (std::size_t i = 0; i < kElements; i += kSize + 1) diagonal[i] = 4;
  float* const ones = OnGpu(std::vector<float>(kElements, 1));
  float* const product = OnGpu(diagonal);
  float* const factor = OnGpu(diagonal);
  int* const information = OnGpu(std::vector<int>(1));
  cublasHandle_t blas = nullptr;
  cusolverDnHandle_t solver = nullptr;
  Require(cublasCreate(&blas), "cublasCreate");
  Require(cusolverDnCreate(&solver), "cusolverDnCreate");
  int words = 0;
  Require(cusolverDnSpotrf_bufferSize(solver, CUBLAS_FILL_MODE_LOWER, kSize, factor, kSize, &words),
          "cusolverDnSpotrf_bufferSize");
  float* const buffer = OnGpu(std::vector<float>(static_cast<std::size_t>(words) + 1));
  float sum = 0;
  for (int i = 0; i < rounds; ++i) {
    Require(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, kSize, kSize, kSize, &kOne, ones, kSize, ones, kSize, &kZero,
                        product, kSize),
            "cublasSgemm");
    sum += FirstOf(product) / kSize;
    Check(cudaMemcpy(factor, diagonal.data(), kElements * sizeof(float), cudaMemcpyHostToDevice));
    Require(cusolverDnSpotrf(solver, CUBLAS_FILL_MODE_LOWER, kSize, factor, kSize, buffer, words, information),
            "cusolverDnSpotrf");
    sum += FirstOf(factor) / 2;
  }
  return sum / static_cast<float>(2 * rounds);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
  const float sparse = Sparse(rounds), fourier = Fourier(rounds), dense = Dense(rounds);
  std::printf("{\"rounds\": %d, \"sparse\": %.4f, \"fourier\": %.4f, \"dense\": %.4f}\n", rounds, sparse, fourier,
              dense);
  const bool is_right = std::fabs(sparse - 3) + std::fabs(fourier - 1) + std::fabs(dense - 1) < 0.01F;
  return is_right ? 3 : 4;
}
