#include "analysis/topics/kernels/occupancy_calculator.h"

#ifdef GPROF_HAVE_CUDA_OCCUPANCY
#include <cuda_occupancy.h>
#endif

namespace gprof {

#ifdef GPROF_HAVE_CUDA_OCCUPANCY
namespace {

constexpr uint32_t kReservedByDriver = 1024;  // bytes of shared memory of every block, from compute capability 8.0 on

// The calculator works with ints, and divides: a damaged trace must not get into it.
bool IsSensible(const trace::DeviceRecord& device, const trace::KernelShapeRecord& shape) {
  constexpr uint32_t kMostThreads = 1u << 16, kMostRegisters = 1u << 24, kMostShared = 1u << 28;
  return device.warp_size > 0 && device.warp_size <= 1024 && device.max_threads_per_sm >= device.warp_size &&
         device.max_threads_per_sm <= kMostThreads && device.max_threads_per_block <= kMostThreads &&
         device.max_registers_per_sm <= kMostRegisters && device.max_registers_per_block <= kMostRegisters &&
         device.max_shared_bytes_per_sm > kReservedByDriver && device.max_shared_bytes_per_sm <= kMostShared &&
         device.max_shared_bytes_per_block <= kMostShared && device.compute_major < 1000 &&
         device.compute_minor < 1000 && device.sm_count > 0 && device.sm_count <= kMostThreads &&
         shape.registers_per_thread <= 1024 && shape.static_shared_bytes <= device.max_shared_bytes_per_sm &&
         shape.dynamic_shared_bytes <= device.max_shared_bytes_per_sm;
}

// Of a block; 0 for one that is larger than the device takes.
uint32_t ThreadsOf(const trace::DeviceRecord& device, const trace::KernelShapeRecord& shape) {
  const uint64_t most = device.max_threads_per_block, xy = uint64_t{shape.block_x} * shape.block_y;
  if (xy > most || shape.block_z > most || xy * shape.block_z > most) return 0;
  return static_cast<uint32_t>(xy * shape.block_z);
}

cudaOccDeviceProp PropertiesOf(const trace::DeviceRecord& device) {
  cudaOccDeviceProp result;
  result.computeMajor = static_cast<int>(device.compute_major);
  result.computeMinor = static_cast<int>(device.compute_minor);
  result.maxThreadsPerBlock = static_cast<int>(device.max_threads_per_block);
  result.maxThreadsPerMultiprocessor = static_cast<int>(device.max_threads_per_sm);
  result.regsPerBlock = static_cast<int>(device.max_registers_per_block);
  result.regsPerMultiprocessor = static_cast<int>(device.max_registers_per_sm);
  result.warpSize = static_cast<int>(device.warp_size);
  result.sharedMemPerBlock = device.max_shared_bytes_per_block;
  result.sharedMemPerMultiprocessor = device.max_shared_bytes_per_sm;
  result.numSms = static_cast<int>(device.sm_count);
  result.reservedSharedMemPerBlock = device.compute_major >= 8 ? kReservedByDriver : 0;
  // A kernel may ask for all of the SM's shared memory but what the driver takes.
  result.sharedMemPerBlockOptin = device.max_shared_bytes_per_sm - result.reservedSharedMemPerBlock;
  return result;
}

cudaOccFuncAttributes AttributesOf(const trace::DeviceRecord& device, const trace::KernelShapeRecord& shape) {
  cudaOccFuncAttributes result;
  result.maxThreadsPerBlock = static_cast<int>(device.max_threads_per_block);
  result.numRegs = static_cast<int>(shape.registers_per_thread);
  result.sharedSizeBytes = shape.static_shared_bytes;
  result.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  result.maxDynamicSharedSizeBytes = shape.dynamic_shared_bytes;  // it was launched with so much
  result.numBlockBarriers = 1;
  return result;
}

std::string LimiterOf(const cudaOccResult& result) {
  struct Name {
    unsigned bit;
    const char* text;
  };
  constexpr Name kNames[] = {{OCC_LIMIT_REGISTERS, "registers"},
                             {OCC_LIMIT_SHARED_MEMORY, "shared memory"},
                             {OCC_LIMIT_WARPS, "block size"},
                             {OCC_LIMIT_BLOCKS, "blocks per SM"}};
  std::string text;
  for (const Name& name : kNames) {
    if ((result.limitingFactors & name.bit) != 0) text += (text.empty() ? "" : ", ") + std::string(name.text);
  }
  return text;
}

}  // namespace

bool HasOccupancyCalculator() { return true; }

std::optional<Occupancy> OccupancyOf(const trace::DeviceRecord& device, const trace::KernelShapeRecord& shape) {
  if (!IsSensible(device, shape)) return std::nullopt;
  const uint32_t threads = ThreadsOf(device, shape);
  if (threads == 0) return std::nullopt;
  const cudaOccDeviceProp properties = PropertiesOf(device);
  const cudaOccFuncAttributes attributes = AttributesOf(device, shape);
  const cudaOccDeviceState state;
  cudaOccResult result{};
  if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state, static_cast<int>(threads),
                                              shape.dynamic_shared_bytes) != CUDA_OCC_SUCCESS ||
      result.activeBlocksPerMultiprocessor <= 0) {
    return std::nullopt;
  }
  const uint32_t warps = (threads + device.warp_size - 1) / device.warp_size;
  Occupancy occupancy;
  occupancy.blocks_per_sm = result.activeBlocksPerMultiprocessor;
  occupancy.percent = 100.0 * static_cast<double>(warps * occupancy.blocks_per_sm) /
                      static_cast<double>(device.max_threads_per_sm / device.warp_size);
  if (occupancy.percent < 100) occupancy.limiter = LimiterOf(result);
  return occupancy;
}

#else

bool HasOccupancyCalculator() { return false; }

std::optional<Occupancy> OccupancyOf(const trace::DeviceRecord&, const trace::KernelShapeRecord&) {
  return std::nullopt;
}

#endif

}  // namespace gprof
