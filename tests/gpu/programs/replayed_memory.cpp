// A kernel that changes what it reads, in memory of each kind: run again for another pass, it would change it twice.
// usage: gpu_replayed_memory [KIND]...; printed is one JSON object for each kind of memory.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <string_view>
#include <vector>

#include "common/cuda_check.h"
#include "saxpy.h"

namespace {

using gprof::examples::Check;

constexpr std::size_t kCount = std::size_t{1} << 20, kBytes = kCount * sizeof(float);
constexpr int kLaunches = 3;

float* Device() {
  void* memory = nullptr;
  Check(cudaMalloc(&memory, kBytes));
  return static_cast<float*>(memory);
}

float* Pool() {
  void* memory = nullptr;
  Check(cudaMallocAsync(&memory, kBytes, nullptr));
  return static_cast<float*>(memory);
}

float* Managed() {
  void* memory = nullptr;
  Check(cudaMallocManaged(&memory, kBytes));
  return static_cast<float*>(memory);
}

// Of the host: what the GPU writes there goes over the bus.
float* Mapped() {
  void* memory = nullptr;
  Check(cudaHostAlloc(&memory, kBytes, cudaHostAllocMapped));
  return static_cast<float*>(memory);
}

template <class Function>
Function DriverCall(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  Check(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
  return reinterpret_cast<Function>(found);
}

void CheckDriver(CUresult result) { Check(result == CUDA_SUCCESS ? cudaSuccess : cudaErrorUnknown); }

// What allocators with growing segments are made of.
float* Reserved() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  constexpr std::size_t kSize = std::size_t{4} << 20;  // whole pages of 2 MiB
  static_assert(kSize >= kBytes);
  CUmemGenericAllocationHandle handle{};
  CheckDriver(DriverCall<decltype(&cuMemCreate)>("cuMemCreate")(&handle, kSize, &properties, 0));
  CUdeviceptr address = 0;
  CheckDriver(DriverCall<decltype(&cuMemAddressReserve)>("cuMemAddressReserve")(&address, kSize, 0, 0, 0));
  CheckDriver(DriverCall<decltype(&cuMemMap)>("cuMemMap")(address, kSize, 0, handle, 0));
  const CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CheckDriver(DriverCall<decltype(&cuMemSetAccess)>("cuMemSetAccess")(address, kSize, &access, 1));
  return reinterpret_cast<float*>(address);
}

struct Kind {
  const char* name;
  float* (*allocate)();
};
constexpr Kind kKinds[] = {
    {"device", Device}, {"pool", Pool}, {"managed", Managed}, {"mapped", Mapped}, {"reserved", Reserved}};

std::size_t WrongElements(const Kind& kind) {
  constexpr float kFactor = 2;
  float* const x = Device();
  float* const y = kind.allocate();
  std::vector<float> values(kCount, 1);
  Check(cudaMemcpy(x, values.data(), kBytes, cudaMemcpyDefault));
  Check(cudaMemcpy(y, values.data(), kBytes, cudaMemcpyDefault));
  for (int i = 0; i < kLaunches; ++i) Check(gprof::kernels::Saxpy(nullptr, kFactor, x, y, kCount));
  Check(cudaDeviceSynchronize());
  Check(cudaMemcpy(values.data(), y, kBytes, cudaMemcpyDefault));
  constexpr float kExpected = 1 + kLaunches * kFactor;
  return static_cast<std::size_t>(
      std::count_if(values.begin(), values.end(), [](float value) { return value != kExpected; }));
}

}  // namespace

int main(int argc, char** argv) {
  const std::set<std::string_view> wanted(argv + 1, argv + argc);
  for (const Kind& kind : kKinds) {
    if (!wanted.empty() && !wanted.contains(kind.name)) continue;
    std::printf(R"({"memory":"%s","wrong":%zu})"
                "\n",
                kind.name, WrongElements(kind));
  }
  return 0;
}
