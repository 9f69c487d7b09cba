#include <cuda_fp16.h>
#include <mma.h>

#include "grid.h"
#include "kernel_limits.h"

namespace gprof::kernels {
namespace {

constexpr int kWarp = 32;

// ---- global memory: all of a sector, or 4 bytes of it ----

__global__ void CopyKernel(const float* x, float* y) {
  const std::size_t i = ElementOfThread();
  y[i] = x[i];
}
__global__ void StridedCopyKernel(const float* x, float* y, std::size_t count) {
  const std::size_t i = ElementOfThread();
  y[i] = x[i * kWarp % count];
}

constexpr unsigned kCopyBlocks = 32768;
cudaError_t Copy(cudaStream_t stream, const LimitArrays& a) {
  CopyKernel<<<kCopyBlocks, kThreadsPerBlock, 0, stream>>>(a.x, a.y);
  return cudaGetLastError();
}
cudaError_t StridedCopy(cudaStream_t stream, const LimitArrays& a) {
  StridedCopyKernel<<<kCopyBlocks, kThreadsPerBlock, 0, stream>>>(a.x, a.y, a.count);
  return cudaGetLastError();
}

// ---- shared memory: a bank for each thread of a warp, or one for all ----

template <int kPitch>
__device__ float SumOfShared(int rounds) {
  __shared__ float shared[kWarp * kPitch];
  for (int i = static_cast<int>(threadIdx.x); i < kWarp * kPitch; i += static_cast<int>(blockDim.x))
    shared[i] = static_cast<float>(i);
  __syncthreads();
  const int row = static_cast<int>(threadIdx.x) % kWarp, shift = static_cast<int>(threadIdx.x) / kWarp;
  float sum = 0;
  for (int i = 0; i < rounds; ++i) sum += shared[row * kPitch + (i + shift) % kWarp];
  return sum;
}
__global__ void PaddedKernel(float* y, int rounds) { y[ElementOfThread()] = SumOfShared<kWarp + 1>(rounds); }
__global__ void BankConflictKernel(float* y, int rounds) { y[ElementOfThread()] = SumOfShared<kWarp>(rounds); }

unsigned Blocks(const LimitArrays& a, int each) { return static_cast<unsigned>(a.multiprocessors * each); }
cudaError_t Padded(cudaStream_t stream, const LimitArrays& a) {
  PaddedKernel<<<Blocks(a, 8), kThreadsPerBlock, 0, stream>>>(a.y, 4000);
  return cudaGetLastError();
}
cudaError_t BankConflict(cudaStream_t stream, const LimitArrays& a) {
  BankConflictKernel<<<Blocks(a, 8), kThreadsPerBlock, 0, stream>>>(a.y, 4000);
  return cudaGetLastError();
}

// ---- branches: a warp goes one way, or 32 ----

__device__ float SinesOf(float value, int lane, int times) {
  for (int i = 0; i < times; ++i) value = sinf(value) + static_cast<float>(lane);
  return value;
}
__global__ void UniformKernel(float* y, int times) {
  float value = static_cast<float>(threadIdx.x % kWarp);
  for (int lane = 0; lane < kWarp; ++lane) value = SinesOf(value, lane, times);
  y[ElementOfThread()] = value;
}
__global__ void DivergentKernel(float* y, int times) {
  const int own = static_cast<int>(threadIdx.x) % kWarp;
  float value = static_cast<float>(own);
  for (int lane = 0; lane < kWarp; ++lane) {
    if (lane == own) value = SinesOf(value, lane, times);
  }
  y[ElementOfThread()] = value;
}

cudaError_t Uniform(cudaStream_t stream, const LimitArrays& a) {
  UniformKernel<<<Blocks(a, 8), kThreadsPerBlock, 0, stream>>>(a.y, 20);
  return cudaGetLastError();
}
cudaError_t Divergent(cudaStream_t stream, const LimitArrays& a) {
  DivergentKernel<<<Blocks(a, 8), kThreadsPerBlock, 0, stream>>>(a.y, 20);
  return cudaGetLastError();
}

// ---- arithmetic: with FP32, or with FP64 ----

template <class Number>
__device__ Number FourChains(int rounds) {
  const Number factor = static_cast<Number>(1.0001), term = static_cast<Number>(0.5);
  Number a = static_cast<Number>(threadIdx.x), b = term, c = factor, d = term + factor;
  for (int i = 0; i < rounds; ++i) {
    a = a * factor + term;
    b = b * factor + term;
    c = c * factor + term;
    d = d * factor + term;
  }
  return a + b + c + d;
}
__global__ void FloatsKernel(float* y, int rounds) { y[ElementOfThread()] = FourChains<float>(rounds); }
__global__ void DoublesKernel(double* y, int rounds) { y[ElementOfThread()] = FourChains<double>(rounds); }

cudaError_t Floats(cudaStream_t stream, const LimitArrays& a) {
  FloatsKernel<<<Blocks(a, 16), kThreadsPerBlock, 0, stream>>>(a.y, 20000);
  return cudaGetLastError();
}
cudaError_t Doubles(cudaStream_t stream, const LimitArrays& a) {
  DoublesKernel<<<Blocks(a, 16), kThreadsPerBlock, 0, stream>>>(reinterpret_cast<double*>(a.y), 4000);
  return cudaGetLastError();
}

// ---- occupancy: shared memory for many blocks on a multiprocessor, or for one ----

__device__ float SumOfTable(const float* x, float* table, int rounds) {
  constexpr std::size_t kElements = std::size_t{1} << 20;
  table[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < rounds; ++i) {
    const std::size_t at = (blockIdx.x * 64 + threadIdx.x + static_cast<std::size_t>(i) * 64) % kElements;
    sum += table[(threadIdx.x * 7 + static_cast<unsigned>(i)) % 64] * x[at];
  }
  return sum;
}
extern __shared__ float dynamic_table[];
__global__ void SmallTableKernel(const float* x, float* y, int rounds) {
  y[ElementOfThread()] = SumOfTable(x, dynamic_table, rounds);
}
__global__ void LargeTableKernel(const float* x, float* y, int rounds) {
  y[ElementOfThread()] = SumOfTable(x, dynamic_table, rounds);
}

cudaError_t SmallTable(cudaStream_t stream, const LimitArrays& a) {
  SmallTableKernel<<<Blocks(a, 32), 64, 64 * sizeof(float), stream>>>(a.x, a.y, 2000);
  return cudaGetLastError();
}
cudaError_t LargeTable(cudaStream_t stream, const LimitArrays& a) {
  int device = 0, most = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  const cudaError_t error = cudaFuncSetAttribute(LargeTableKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
  if (error != cudaSuccess) return error;
  LargeTableKernel<<<Blocks(a, 4), 64, static_cast<std::size_t>(most), stream>>>(a.x, a.y, 2000);
  return cudaGetLastError();
}

// ---- atomics: one for each 4,096 elements, or one for each ----

constexpr unsigned kCountBlocks = 16384, kRoundsOfBlock = 16;

__global__ void CountBlocksKernel(const float* x, int* counts) {
  int count = 0;
  for (unsigned round = 0; round < kRoundsOfBlock; ++round)
    count += __syncthreads_count(x[round * gridDim.x * blockDim.x + ElementOfThread()] == 0);
  if (threadIdx.x == 0) atomicAdd(&counts[blockIdx.x % 64], count);
}
__global__ void CountThreadsKernel(int* counts) { atomicAdd(&counts[ElementOfThread() % 64], 1); }

cudaError_t CountBlocks(cudaStream_t stream, const LimitArrays& a) {
  int* const counts = reinterpret_cast<int*>(a.y);
  CountBlocksKernel<<<kCountBlocks / kRoundsOfBlock, kThreadsPerBlock, 0, stream>>>(a.x, counts);
  return cudaGetLastError();
}
cudaError_t CountThreads(cudaStream_t stream, const LimitArrays& a) {
  CountThreadsKernel<<<kCountBlocks, kThreadsPerBlock, 0, stream>>>(reinterpret_cast<int*>(a.y));
  return cudaGetLastError();
}

// ---- L2: a part of the data that it holds for many reads, or all of the data for each ----

constexpr unsigned kReadRounds = 32;

// The parts that all blocks are at have a few megabytes together.
constexpr unsigned kReadPart = kThreadsPerBlock * 4;

struct ReadSlice {
  unsigned elements;
  unsigned step;  // from round to round: 0, which the compiler must not know, as it would load once and add 32 times
};

// Past L1, so that what is read again comes from L2 or from DRAM. As many loads whatever the part is.
__device__ float SumOfSlice(const float4* x, ReadSlice slice, unsigned part) {
  const float4* const own = x + static_cast<std::size_t>(blockIdx.x) * slice.elements;
  float sum = 0;
  for (unsigned begin = 0; begin < slice.elements; begin += part) {
    for (unsigned round = 0; round < kReadRounds; ++round) {
#pragma unroll 4
      for (unsigned i = threadIdx.x; i < part; i += kThreadsPerBlock) {
        const float4 value = __ldcg(&own[begin + i + round * slice.step]);
        sum += value.x + value.y + value.z + value.w;
      }
    }
  }
  return sum;
}
__global__ void TiledReadKernel(const float4* x, float* y, ReadSlice slice) {
  y[ElementOfThread()] = SumOfSlice(x, slice, kReadPart);
}
__global__ void ThrashingReadKernel(const float4* x, float* y, ReadSlice slice) {
  y[ElementOfThread()] = SumOfSlice(x, slice, slice.elements);
}

// A block for each slice, of which there are as many as the GPU holds blocks at once.
using ReadKernel = void (*)(const float4*, float*, ReadSlice);
cudaError_t LaunchRead(ReadKernel kernel, cudaStream_t stream, const LimitArrays& a) {
  int blocks = 0;
  const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreadsPerBlock, 0);
  if (error != cudaSuccess) return error;
  const unsigned slices = Blocks(a, blocks);
  const auto elements = static_cast<unsigned>(a.count / 4 / slices / kReadPart * kReadPart);
  kernel<<<slices, kThreadsPerBlock, 0, stream>>>(reinterpret_cast<const float4*>(a.x), a.y, {elements, 0});
  return cudaGetLastError();
}
cudaError_t TiledRead(cudaStream_t stream, const LimitArrays& a) { return LaunchRead(TiledReadKernel, stream, a); }
cudaError_t ThrashingRead(cudaStream_t stream, const LimitArrays& a) {
  return LaunchRead(ThrashingReadKernel, stream, a);
}

// ---- balance: as much work in each block, or twenty times as much in one of them ----

__device__ float Chain(int rounds) {
  float value = static_cast<float>(threadIdx.x);
  for (int i = 0; i < rounds; ++i) value = value * 1.001f + 1;
  return value;
}
__global__ void EvenKernel(float* y, int rounds) { y[ElementOfThread()] = Chain(rounds); }
__global__ void UnevenKernel(float* y, int rounds) {
  y[ElementOfThread()] = Chain(blockIdx.x == 0 ? rounds * 20 : rounds);
}

cudaError_t Even(cudaStream_t stream, const LimitArrays& a) {
  EvenKernel<<<Blocks(a, 8), kThreadsPerBlock, 0, stream>>>(a.y, 5000);
  return cudaGetLastError();
}
cudaError_t Uneven(cudaStream_t stream, const LimitArrays& a) {
  UnevenKernel<<<Blocks(a, 4), kThreadsPerBlock, 0, stream>>>(a.y, 5000);
  return cudaGetLastError();
}

// ---- grid: a block for each multiprocessor and more, or a single one ----

__global__ void ManyBlocksKernel(float* y) { y[ElementOfThread()] += 1; }
__global__ void OneBlockKernel(float* y) { y[ElementOfThread()] += 1; }

cudaError_t ManyBlocks(cudaStream_t stream, const LimitArrays& a) {
  ManyBlocksKernel<<<kCopyBlocks, kThreadsPerBlock, 0, stream>>>(a.y);
  return cudaGetLastError();
}
cudaError_t OneBlock(cudaStream_t stream, const LimitArrays& a) {
  OneBlockKernel<<<1, kWarp, 0, stream>>>(a.y);
  return cudaGetLastError();
}

// ---- waves: the last one as full as the others, or a quarter of it ----

// Waits for L2 all the time, so that a multiprocessor takes as long for one block as for all that it holds.
__device__ float Chase(const float* x, int rounds) {
  constexpr unsigned kElements = 1u << 20, kStep = 4096, kOfWarp = 64, kOfSector = 8;
  unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp * kOfWarp + threadIdx.x % kOfSector;
  for (int i = 0; i < rounds; ++i) at = (at + kStep + static_cast<unsigned>(__ldcg(&x[at % kElements]))) % kElements;
  return static_cast<float>(at);
}
__global__ void WholeWavesKernel(const float* x, float* y, int rounds) { y[ElementOfThread()] = Chase(x, rounds); }
__global__ void PartWaveKernel(const float* x, float* y, int rounds) { y[ElementOfThread()] = Chase(x, rounds); }

constexpr int kLargeBlock = 1024;
using WaveKernel = void (*)(const float*, float*, int);
cudaError_t LaunchWaves(WaveKernel kernel, double waves, cudaStream_t stream, const LimitArrays& a) {
  int blocks = 0;
  const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kLargeBlock, 0);
  if (error != cudaSuccess) return error;
  kernel<<<static_cast<unsigned>(Blocks(a, blocks) * waves), kLargeBlock, 0, stream>>>(a.x, a.y, 500);
  return cudaGetLastError();
}
cudaError_t WholeWaves(cudaStream_t stream, const LimitArrays& a) {
  return LaunchWaves(WholeWavesKernel, 2, stream, a);
}
cudaError_t PartWave(cudaStream_t stream, const LimitArrays& a) { return LaunchWaves(PartWaveKernel, 1.25, stream, a); }

// ---- arrays of a thread: in registers, or in local memory as it is not known before which element is next ----

constexpr int kEntries = 64;

__global__ void RegisterTableKernel(float* y, int rounds) {
  float table[kEntries];
#pragma unroll
  for (int i = 0; i < kEntries; ++i) table[i] = static_cast<float>(i + threadIdx.x);
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (int k = 0; k < kEntries; ++k) table[k] = table[k] * 1.001f + 1;
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kEntries; ++i) sum += table[i];
  y[ElementOfThread()] = sum;
}
__global__ void LocalTableKernel(float* y, int rounds) {
  float table[kEntries];
  for (int i = 0; i < kEntries; ++i) table[i] = static_cast<float>(i + threadIdx.x);
  unsigned at = threadIdx.x % kEntries;
  for (int i = 0; i < rounds; ++i) {
    table[at] = table[at] * 1.001f + 1;
    at = (at * 5 + static_cast<unsigned>(table[at])) % kEntries;
  }
  y[ElementOfThread()] = table[at];
}

cudaError_t RegisterTable(cudaStream_t stream, const LimitArrays& a) {
  RegisterTableKernel<<<Blocks(a, 8), kThreadsPerBlock, 0, stream>>>(a.y, 300);
  return cudaGetLastError();
}
cudaError_t LocalTable(cudaStream_t stream, const LimitArrays& a) {
  LocalTableKernel<<<Blocks(a, 8), kThreadsPerBlock, 0, stream>>>(a.y, 1000);
  return cudaGetLastError();
}

// ---- products and sums: fused, or an instruction for each ----

template <class Step>
__device__ float FourSteps(int rounds, Step step) {
  float a = static_cast<float>(threadIdx.x), b = a + 1, c = a + 2, d = a + 3;
  for (int i = 0; i < rounds; ++i) {
    a = step(a);
    b = step(b);
    c = step(c);
    d = step(d);
  }
  return a + b + c + d;
}
struct Fused {
  __device__ float operator()(float value) const { return __fmaf_rn(value, 1.001f, 1); }
};
struct Apart {
  __device__ float operator()(float value) const { return __fadd_rn(__fmul_rn(value, 1.001f), 1); }
};
__global__ void FusedKernel(float* y, int rounds) { y[ElementOfThread()] = FourSteps(rounds, Fused{}); }
__global__ void UnfusedKernel(float* y, int rounds) { y[ElementOfThread()] = FourSteps(rounds, Apart{}); }

cudaError_t FusedSteps(cudaStream_t stream, const LimitArrays& a) {
  FusedKernel<<<Blocks(a, 16), kThreadsPerBlock, 0, stream>>>(a.y, 20000);
  return cudaGetLastError();
}
cudaError_t UnfusedSteps(cudaStream_t stream, const LimitArrays& a) {
  UnfusedKernel<<<Blocks(a, 16), kThreadsPerBlock, 0, stream>>>(a.y, 20000);
  return cudaGetLastError();
}

// ---- instructions: an index for each element, or one for four ----

__global__ void VectorSumKernel(float* y, int rounds) {
  constexpr int kPitch = 9;  // so that rows begin in different banks
  __shared__ float4 shared[kWarp * kPitch];
  for (int i = static_cast<int>(threadIdx.x); i < kWarp * kPitch; i += static_cast<int>(blockDim.x)) {
    const float value = static_cast<float>(i);
    shared[i] = make_float4(value, value, value, value);
  }
  __syncthreads();
  const int row = static_cast<int>(threadIdx.x) % kWarp, shift = static_cast<int>(threadIdx.x) / kWarp;
  float4 sum = make_float4(0, 0, 0, 0);
  for (int i = 0; i < rounds; ++i) {
    const float4 value = shared[row * kPitch + (i + shift) % 8];
    sum.x += value.x;
    sum.y += value.y;
    sum.z += value.z;
    sum.w += value.w;
  }
  y[ElementOfThread()] = sum.x + sum.y + sum.z + sum.w;
}
__global__ void IndexedSumKernel(float* y, int rounds) { y[ElementOfThread()] = SumOfShared<kWarp + 1>(rounds); }

cudaError_t VectorSum(cudaStream_t stream, const LimitArrays& a) {
  VectorSumKernel<<<Blocks(a, 8), kThreadsPerBlock, 0, stream>>>(a.y, 1000);
  return cudaGetLastError();
}
cudaError_t IndexedSum(cudaStream_t stream, const LimitArrays& a) {
  IndexedSumKernel<<<Blocks(a, 8), kThreadsPerBlock, 0, stream>>>(a.y, 4000);
  return cudaGetLastError();
}

// ---- FP16: on tensor cores, or without them ----

__global__ void HalvesKernel(__half2* y, int rounds) {
  const __half2 factor = __float2half2_rn(1.001f), term = __float2half2_rn(0.5f);
  __half2 a = __float2half2_rn(static_cast<float>(threadIdx.x)), b = term, c = factor, d = __hadd2(term, factor);
  for (int i = 0; i < rounds; ++i) {
    a = __hfma2(a, factor, term);
    b = __hfma2(b, factor, term);
    c = __hfma2(c, factor, term);
    d = __hfma2(d, factor, term);
  }
  y[ElementOfThread()] = __hadd2(__hadd2(a, b), __hadd2(c, d));
}
__global__ void TensorKernel(float* y, int rounds) {
  namespace wmma = nvcuda::wmma;
  constexpr int kSide = 16;
  wmma::fragment<wmma::matrix_a, kSide, kSide, kSide, __half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, kSide, kSide, kSide, __half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, kSide, kSide, kSide, float> sum;
  wmma::fill_fragment(a, __float2half(1.0f));
  wmma::fill_fragment(b, __float2half(0.5f));
  wmma::fill_fragment(sum, 0.0f);
  for (int i = 0; i < rounds; ++i) wmma::mma_sync(sum, a, b, sum);
  wmma::store_matrix_sync(y + ElementOfThread() / kWarp * kSide * kSide, sum, kSide, wmma::mem_row_major);
}

cudaError_t Halves(cudaStream_t stream, const LimitArrays& a) {
  HalvesKernel<<<Blocks(a, 16), kThreadsPerBlock, 0, stream>>>(reinterpret_cast<__half2*>(a.y), 20000);
  return cudaGetLastError();
}
cudaError_t Tensor(cudaStream_t stream, const LimitArrays& a) {
  TensorKernel<<<Blocks(a, 16), kThreadsPerBlock, 0, stream>>>(a.y, 2000);
  return cudaGetLastError();
}

}  // namespace

const Limit limits[kLimits] = {
    {"StridedCopyKernel", "kernel.uncoalesced", true, StridedCopy},
    {"CopyKernel", "kernel.uncoalesced", false, Copy},
    {"BankConflictKernel", "kernel.bank_conflicts", true, BankConflict},
    {"PaddedKernel", "kernel.bank_conflicts", false, Padded},
    {"DivergentKernel", "kernel.divergence", true, Divergent},
    {"UniformKernel", "kernel.divergence", false, Uniform},
    {"DoublesKernel", "kernel.fp64", true, Doubles},
    {"FloatsKernel", "kernel.fp64", false, Floats},
    {"LargeTableKernel", "kernel.low_occupancy", true, LargeTable},
    {"SmallTableKernel", "kernel.low_occupancy", false, SmallTable},
    {"CountThreadsKernel", "kernel.atomics", true, CountThreads},
    {"CountBlocksKernel", "kernel.atomics", false, CountBlocks},
    {"ThrashingReadKernel", "kernel.l2_thrash", true, ThrashingRead},
    {"TiledReadKernel", "kernel.l2_thrash", false, TiledRead},
    {"UnevenKernel", "kernel.imbalance", true, Uneven},
    {"EvenKernel", "kernel.imbalance", false, Even},
    {"OneBlockKernel", "kernel.small_grid", true, OneBlock},
    {"ManyBlocksKernel", "kernel.small_grid", false, ManyBlocks},
    {"PartWaveKernel", "kernel.tail", true, PartWave},
    {"WholeWavesKernel", "kernel.tail", false, WholeWaves},
    {"LocalTableKernel", "kernel.local_memory", true, LocalTable},
    {"RegisterTableKernel", "kernel.local_memory", false, RegisterTable},
    {"UnfusedKernel", "kernel.unfused", true, UnfusedSteps},
    {"FusedKernel", "kernel.unfused", false, FusedSteps},
    {"IndexedSumKernel", "kernel.excess_instructions", true, IndexedSum},
    {"VectorSumKernel", "kernel.excess_instructions", false, VectorSum},
    {"HalvesKernel", "kernel.tensor_unused", true, Halves},
    {"TensorKernel", "kernel.tensor_unused", false, Tensor},
};

}  // namespace gprof::kernels
