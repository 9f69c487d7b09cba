#include "analysis/occupancy_calculator.h"

#ifdef GPROF_HAVE_CUDA_OCCUPANCY
#include <cuda_occupancy.h>
#endif

namespace gprof {

#ifdef GPROF_HAVE_CUDA_OCCUPANCY
namespace {

constexpr uint32_t kReservedByDriver = 1024;  // bytes of shared memory of every block, from compute capability 8.0 on

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
  const uint64_t threads = uint64_t{shape.block_x} * shape.block_y * shape.block_z;
  // The calculator would divide by what a damaged trace does not say.
  if (device.warp_size == 0 || device.max_threads_per_sm < device.warp_size) return std::nullopt;
  if (threads == 0 || threads > device.max_threads_per_block) return std::nullopt;
  if (device.max_shared_bytes_per_sm <= kReservedByDriver) return std::nullopt;
  const cudaOccDeviceProp properties = PropertiesOf(device);
  const cudaOccFuncAttributes attributes = AttributesOf(device, shape);
  const cudaOccDeviceState state;
  cudaOccResult result{};
  if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state, static_cast<int>(threads),
                                              shape.dynamic_shared_bytes) != CUDA_OCC_SUCCESS ||
      result.activeBlocksPerMultiprocessor <= 0) {
    return std::nullopt;
  }
  const uint64_t warps = (threads + device.warp_size - 1) / device.warp_size;
  Occupancy occupancy;
  occupancy.blocks_per_sm = result.activeBlocksPerMultiprocessor;
  occupancy.percent = 100.0 * static_cast<double>(warps * static_cast<uint64_t>(occupancy.blocks_per_sm)) /
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
