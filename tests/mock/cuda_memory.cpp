// Memory, copies, fills and graphs of the libcuda double. Device memory is host memory, so copies really copy.
#include <algorithm>
#include <cstdlib>
#include <thread>

#include "cuda_call.h"

namespace mock {
namespace {

constexpr size_t kMaxAllocationBytes = 64ull << 30;
enum MemoryKind : uint8_t { kPageable = 1, kPinned = 2, kDeviceMemory = 3, kManaged = 5 };
enum CopyKind : uint8_t { kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 8, kPeerToPeer = 10 };

void* ToPointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

void Report(OpKind kind, const void* address, Block block, CUstream stream) {
  const Observer* o = TheObserver();
  if (o == nullptr) return;
  Op op;
  op.kind = kind;
  op.start_ns = op.end_ns = NowNs();
  op.device = CurrentContext()->device;
  op.context = CurrentContext()->id;
  op.stream = stream != nullptr ? stream->id : 0;
  op.is_async = stream != nullptr;
  op.correlation = CurrentCorrelation();
  op.bytes = block.size;
  op.source_memory = block.kind;
  op.address = reinterpret_cast<uintptr_t>(address);
  if (block.pool != nullptr) {
    op.pool = reinterpret_cast<uintptr_t>(block.pool);
    op.pool_bytes = block.pool->bytes;
    op.pool_used_bytes = block.pool->used_bytes;
  }
  o->op(op);
}

// A pool was made, trimmed or destroyed: CUpti_ActivityMemoryPoolOperationType.
void ReportPool(uint32_t operation, CUmemoryPool pool, uint64_t keep_bytes = 0) {
  const Observer* o = TheObserver();
  if (o == nullptr) return;
  Op op;
  op.kind = OpKind::kPool;
  op.start_ns = op.end_ns = NowNs();
  op.device = pool->device;
  op.correlation = CurrentCorrelation();
  op.pool_operation = operation;
  op.pool = reinterpret_cast<uintptr_t>(pool);
  op.pool_bytes = pool->bytes;
  op.pool_used_bytes = pool->used_bytes;
  op.pool_keep_bytes = keep_bytes;
  o->op(op);
}

CUmemoryPool DefaultPool() {
  CUmemoryPool& pool = TheModel().default_pools[CurrentContext()->device];
  if (pool == nullptr) {
    pool = new CUmemPoolHandle_st;
    pool->device = CurrentContext()->device;
  }
  return pool;
}

CUresult Allocate(void** out, size_t bytes, uint8_t kind, CUstream stream = nullptr, CUmemoryPool pool = nullptr) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > kMaxAllocationBytes) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = std::malloc(bytes);
  if (*out == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  const Block block{bytes, kind, CurrentContext()->device, pool};
  if (pool != nullptr) {
    pool->used_bytes += bytes;
    if (pool->bytes < pool->used_bytes) pool->bytes = pool->used_bytes;
  }
  AddBlock(*out, block);
  Report(OpKind::kAllocate, *out, block, stream);
  return CUDA_SUCCESS;
}

CUresult Release(void* address, CUstream stream = nullptr) {
  const Block block = FindBlock(address);
  if (!RemoveBlock(address)) return CUDA_ERROR_INVALID_VALUE;
  if (block.pool != nullptr) block.pool->used_bytes -= block.size;
  Report(OpKind::kFree, address, block, stream);
  std::free(address);
  return CUDA_SUCCESS;
}

// Where it begins in pinned memory and ends elsewhere, or the other way round, the driver refuses it.
bool IsPartlyPinned(const void* address, size_t bytes) {
  if (bytes == 0) return false;
  return FindBlock(address).kind != FindBlock(static_cast<const char*>(address) + bytes - 1).kind;
}

CUresult Copy(void* to, const void* from, size_t bytes, uint8_t copy_kind, bool is_async, CUstream stream) {
  if (to == nullptr || from == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (IsPartlyPinned(to, bytes) || IsPartlyPinned(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
  Op op;
  op.kind = OpKind::kMemcpy;
  op.bytes = bytes;
  op.copy_kind = copy_kind;
  op.source_memory = FindBlock(from).kind;
  op.destination_memory = FindBlock(to).kind;
  op.is_async = is_async;
  if (copy_kind == kHostToDevice) TouchManaged(from, bytes, kOnHost, false);
  std::memmove(to, from, bytes);
  const uint64_t end_ns = Enqueue(op, ResolveStream(stream), CopyNs(op));
  // Pageable memory is staged, so the host waits even in an asynchronous copy.
  const bool is_pageable = op.source_memory == kPageable || op.destination_memory == kPageable;
  if (!is_async || is_pageable) WaitUntilNs(end_ns);
  return CUDA_SUCCESS;
}

CUresult CopyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                  bool is_async, CUstream stream) {
  Op op;
  op.kind = OpKind::kPeerCopy;
  op.bytes = bytes;
  op.copy_kind = kPeerToPeer;
  op.source_memory = FindBlock(ToPointer(from)).kind;
  op.destination_memory = FindBlock(ToPointer(to)).kind;
  op.peer_source_device = from_context->device;
  op.peer_source_context = from_context->id;
  op.peer_destination_device = to_context->device;
  op.peer_destination_context = to_context->id;
  op.is_async = is_async;
  std::memmove(ToPointer(to), ToPointer(from), bytes);
  const uint64_t end_ns = Enqueue(op, ResolveStream(stream), CopyNs(op));
  if (!is_async) WaitUntilNs(end_ns);
  return CUDA_SUCCESS;
}

Op MemsetOp(CUdeviceptr to, uint32_t value, size_t bytes, bool is_async) {
  Op op;
  op.kind = OpKind::kMemset;
  op.bytes = bytes;
  op.value = value;
  op.source_memory = FindBlock(ToPointer(to)).kind;
  op.is_async = is_async;
  return op;
}

CUresult Fill(CUdeviceptr to, unsigned char value, size_t bytes, bool is_async, CUstream stream) {
  if (to == 0) return CUDA_ERROR_INVALID_VALUE;
  const Op op = MemsetOp(to, value, bytes, is_async);
  TouchManaged(ToPointer(to), bytes, CurrentContext()->device, false);
  std::memset(ToPointer(to), value, bytes);
  const uint64_t end_ns = Enqueue(op, ResolveStream(stream), MemsetNs(bytes));
  if (!is_async) WaitUntilNs(end_ns);
  return CUDA_SUCCESS;
}

// What a device does first with memory that is elsewhere: it faults, then the pages move.
void ReportManaged(uint32_t kind, uint64_t address, uint64_t bytes, uint32_t source, uint32_t destination,
                   uint32_t flags, uint64_t duration_ns) {
  const Observer* o = TheObserver();
  if (o == nullptr) return;
  Op op;
  op.kind = OpKind::kManaged;
  op.start_ns = NowNs();
  op.end_ns = op.start_ns + duration_ns;
  op.managed_kind = kind;
  op.managed_flags = flags;
  op.managed_source = source;
  op.managed_destination = destination;
  op.address = address;
  op.bytes = bytes;
  o->op(op);
}

}  // namespace

void TouchManaged(const void* address, uint64_t bytes, uint32_t place, bool is_prefetch) {
  enum : uint32_t { kToDevice = 1, kToHost = 2, kCpuFault = 3, kGpuFault = 4, kDeviceToDevice = 8 };
  enum : uint32_t { kByUser = 1, kCoherence = 2, kRead = 1, kWrite = 2 };
  uint32_t before = 0;
  if (!MoveBlock(address, place, &before) || before == place) return;
  const auto at = reinterpret_cast<uintptr_t>(address);
  constexpr uint64_t kInstruction = 0x401000;
  if (!is_prefetch && place == kOnHost) ReportManaged(kCpuFault, at, kInstruction, 0, 0, kRead, 0);
  if (!is_prefetch && place != kOnHost) ReportManaged(kGpuFault, at, 1, place, 0, kWrite, 1000);
  static const auto fault_ns = static_cast<uint64_t>(EnvNumber("MOCK_FAULT_US", 0)) * 1000;
  if (!is_prefetch && place != kOnHost) WaitUntilNs(NowNs() + fault_ns);
  const uint32_t kind = place == kOnHost ? kToHost : before == kOnHost ? kToDevice : kDeviceToDevice;
  ReportManaged(kind, at, bytes, before, place, is_prefetch ? kByUser : kCoherence, 200 + bytes / 10);
}

}  // namespace mock

using namespace mock;  // NOLINT: the functions below are C symbols in the global namespace

extern "C" {

CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  cuMemAlloc_v2_params p{address, bytes};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemAlloc_v2), &p,
                       [&] { return Allocate(reinterpret_cast<void**>(address), bytes, kDeviceMemory); });
}

CUresult cuMemGetInfo(size_t* free_bytes, size_t* all_bytes) {
  *free_bytes = 13'000'000'000;
  *all_bytes = 16'000'000'000;
  return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr address) {
  cuMemFree_v2_params p{address};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemFree_v2), &p, [&] {
    WaitUntilNs(ReadyNs(CurrentContext()));
    return Release(ToPointer(address));
  });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned int flags) {
  cuMemAllocManaged_params p{address, bytes, flags};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemAllocManaged), &p,
                       [&] { return Allocate(reinterpret_cast<void**>(address), bytes, kManaged); });
}

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  cuMemAllocAsync_params p{address, bytes, stream};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemAllocAsync), &p, [&] {
    return Allocate(reinterpret_cast<void**>(address), bytes, kDeviceMemory, ResolveStream(stream), DefaultPool());
  });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  cuMemAllocFromPoolAsync_params p{address, bytes, pool, stream};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemAllocFromPoolAsync), &p, [&] {
    return Allocate(reinterpret_cast<void**>(address), bytes, kDeviceMemory, ResolveStream(stream), pool);
  });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  cuMemPoolCreate_params p{pool, properties};
  return Call(Use::kWork, MOCK_DRIVER_ID(cuMemPoolCreate), &p, [&] {
    *pool = new CUmemPoolHandle_st;
    (*pool)->device = static_cast<uint32_t>(properties->location.id);
    ReportPool(1, *pool);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep_bytes) {
  cuMemPoolTrimTo_params p{pool, keep_bytes};
  return Call(Use::kWork, MOCK_DRIVER_ID(cuMemPoolTrimTo), &p, [&] {
    pool->bytes = std::max<uint64_t>(pool->used_bytes, keep_bytes);
    ReportPool(3, pool, keep_bytes);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  cuMemPoolDestroy_params p{pool};
  return Call(Use::kWork, MOCK_DRIVER_ID(cuMemPoolDestroy), &p, [&] {
    ReportPool(2, pool);
    return CUDA_SUCCESS;  // the memory stays: blocks may still name their pool
  });
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned int flags,
                            CUstream stream) {
  cuMemPrefetchAsync_v2_params p{address, bytes, location, flags, stream};
#if MOCK_CUDA_VERSION >= 12020
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemPrefetchAsync_v2), &p, [&] {
#else
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemPrefetchAsync), &p, [&] {
#endif
    const bool is_device = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    TouchManaged(ToPointer(address), bytes, is_device ? static_cast<uint32_t>(location.id) : kOnHost, true);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  cuMemFreeAsync_params p{address, stream};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemFreeAsync), &p,
                       [&] { return Release(ToPointer(address), ResolveStream(stream)); });
}

CUresult cuMemHostAlloc(void** address, size_t bytes, unsigned int flags) {
  cuMemHostAlloc_params p{address, bytes, flags};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemHostAlloc), &p,
                       [&] { return Allocate(address, bytes, kPinned); });
}

CUresult cuMemFreeHost(void* address) {
  cuMemFreeHost_params p{address};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemFreeHost), &p, [&] { return Release(address); });
}

CUresult cuMemHostRegister(void* address, size_t bytes, unsigned int flags) {
  cuMemHostRegister_v2_params p{address, bytes, flags};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemHostRegister_v2), &p, [&] {
    const char* const last = static_cast<char*>(address) + bytes - 1;
    if (FindBlock(address).kind == kPinned || FindBlock(last).kind == kPinned) {
      return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    AddBlock(address, {bytes, kPinned, CurrentContext()->device});
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostUnregister(void* address) {
  cuMemHostUnregister_params p{address};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemHostUnregister), &p,
                       [&] { return RemoveBlock(address) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED; });
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  cuPointerGetAttribute_params p{data, attribute, address};
  return CallInContext(Use::kQuery, MOCK_DRIVER_ID(cuPointerGetAttribute), &p, [&] {
    const uint8_t kind = FindBlock(ToPointer(address)).kind;
    if (attribute != CU_POINTER_ATTRIBUTE_MEMORY_TYPE || kind == kPageable) return CUDA_ERROR_INVALID_VALUE;
    *static_cast<unsigned*>(data) = kind == kPinned ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  cuMemcpyHtoD_v2_params p{to, from, bytes};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemcpyHtoD_v2), &p,
                       [&] { return Copy(ToPointer(to), from, bytes, kHostToDevice, false, nullptr); });
}

CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  cuMemcpyDtoH_v2_params p{to, from, bytes};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemcpyDtoH_v2), &p,
                       [&] { return Copy(to, ToPointer(from), bytes, kDeviceToHost, false, nullptr); });
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  cuMemcpyDtoD_v2_params p{to, from, bytes};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemcpyDtoD_v2), &p,
                       [&] { return Copy(ToPointer(to), ToPointer(from), bytes, kDeviceToDevice, false, nullptr); });
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  cuMemcpyHtoDAsync_v2_params p{to, from, bytes, stream};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemcpyHtoDAsync_v2), &p,
                       [&] { return Copy(ToPointer(to), from, bytes, kHostToDevice, true, stream); });
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  cuMemcpyDtoHAsync_v2_params p{to, from, bytes, stream};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemcpyDtoHAsync_v2), &p,
                       [&] { return Copy(to, ToPointer(from), bytes, kDeviceToHost, true, stream); });
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  cuMemcpyDtoDAsync_v2_params p{to, from, bytes, stream};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemcpyDtoDAsync_v2), &p,
                       [&] { return Copy(ToPointer(to), ToPointer(from), bytes, kDeviceToDevice, true, stream); });
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes) {
  cuMemcpyPeer_params p{to, to_context, from, from_context, bytes};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemcpyPeer), &p,
                       [&] { return CopyPeer(to, to_context, from, from_context, bytes, false, nullptr); });
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                           CUstream stream) {
  cuMemcpyPeerAsync_params p{to, to_context, from, from_context, bytes, stream};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemcpyPeerAsync), &p,
                       [&] { return CopyPeer(to, to_context, from, from_context, bytes, true, stream); });
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  cuMemsetD8_v2_params p{to, value, count};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemsetD8_v2), &p,
                       [&] { return Fill(to, value, count, false, nullptr); });
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  cuMemsetD8Async_params p{to, value, count, stream};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemsetD8Async), &p,
                       [&] { return Fill(to, value, count, true, stream); });
}

// A thread of the driver calls the function when the stream is there.
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  cuLaunchHostFunc_params p{stream, function, data};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuLaunchHostFunc), &p, [&] {
    const CUstream s = ResolveStream(stream);
    ++s->host_functions;
    std::thread([=] {
      WaitUntilNs(s->ready_ns);
      function(data);
      --s->host_functions;
    }).detach();
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
