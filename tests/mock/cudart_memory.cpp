// The libcudart double: memory pools and managed memory.
#include "cudart_call.h"

using namespace mock;  // NOLINT: the functions below are C symbols in the global namespace

extern "C" {

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
  cudaMallocManaged_v6000_params p{pointer, bytes, flags};
  return Call(MOCK_RUNTIME_ID(cudaMallocManaged, v6000), &p, [&] {
    return FromDriver(DRIVER(cuMemAllocManaged)(reinterpret_cast<CUdeviceptr*>(pointer), bytes, flags));
  });
}

// The interface of CUDA 13; older programs name a device where this one names a place.
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation location, unsigned int flags,
                                 cudaStream_t stream) {
  cudaMemPrefetchAsync_v12020_params p{pointer, bytes, location, flags, stream};
#if MOCK_CUDA_VERSION >= 12020
  return Call(MOCK_RUNTIME_ID(cudaMemPrefetchAsync, v12020), &p, [&] {
#else
  return Call(MOCK_RUNTIME_ID(cudaMemPrefetchAsync, v8000), &p, [&] {
#endif
    CUmemLocation place{};
    place.type = location.type == cudaMemLocationTypeDevice ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST;
    place.id = location.id;
    return FromDriver(DRIVER(cuMemPrefetchAsync)(Address(pointer), bytes, place, flags, stream));
  });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  cudaMemPoolCreate_v11020_params p{pool, properties};
  return Call(MOCK_RUNTIME_ID(cudaMemPoolCreate, v11020), &p, [&] {
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.location.id = properties->location.id;
    return FromDriver(DRIVER(cuMemPoolCreate)(pool, &props));
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep_bytes) {
  cudaMemPoolTrimTo_v11020_params p{pool, keep_bytes};
  return Call(MOCK_RUNTIME_ID(cudaMemPoolTrimTo, v11020), &p,
              [&] { return FromDriver(DRIVER(cuMemPoolTrimTo)(pool, keep_bytes)); });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  cudaMemPoolDestroy_v11020_params p{pool};
  return Call(MOCK_RUNTIME_ID(cudaMemPoolDestroy, v11020), &p,
              [&] { return FromDriver(DRIVER(cuMemPoolDestroy)(pool)); });
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  cudaMallocFromPoolAsync_v11020_params p{pointer, bytes, pool, stream};
  return Call(MOCK_RUNTIME_ID(cudaMallocFromPoolAsync, v11020), &p, [&] {
    return FromDriver(DRIVER(cuMemAllocFromPoolAsync)(reinterpret_cast<CUdeviceptr*>(pointer), bytes, pool, stream));
  });
}

}  // extern "C"
