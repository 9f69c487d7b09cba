#include "tracer/cupti/library/driver_queries.h"

#include <dlfcn.h>

#include "gprof/library_symbols.h"

namespace gprof::tracer {
namespace {

struct Driver {
  LibrarySymbols in;
  GPROF_OPTIONAL_SYMBOL(cuFuncGetAttribute);
  GPROF_OPTIONAL_SYMBOL(cuKernelGetFunction);
  GPROF_OPTIONAL_SYMBOL(cuOccupancyMaxActiveBlocksPerMultiprocessor);
  GPROF_OPTIONAL_SYMBOL(cuDeviceGetAttribute);
  GPROF_OPTIONAL_SYMBOL(cuMemGetInfo_v2);
  GPROF_OPTIONAL_SYMBOL(cuStreamIsCapturing);
  GPROF_OPTIONAL_SYMBOL(cuCtxSynchronize);
  GPROF_OPTIONAL_SYMBOL(cuCtxPushCurrent_v2);
  GPROF_OPTIONAL_SYMBOL(cuCtxPopCurrent_v2);
};

// Two threads that come here at once find the same.
const Driver& TheDriver() {
  static Driver driver;
  static bool is_bound = false;
  if (!is_bound) {
    driver = Driver{LibrarySymbols(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD))};
    is_bound = true;
  }
  return driver;
}

CUfunction FunctionOf(CUfunction function) {
  const Driver& driver = TheDriver();
  int unused = 0;
  if (driver.cuFuncGetAttribute == nullptr) return nullptr;
  if (driver.cuFuncGetAttribute(&unused, CU_FUNC_ATTRIBUTE_NUM_REGS, function) == CUDA_SUCCESS) return function;
  CUfunction found = nullptr;
  if (driver.cuKernelGetFunction == nullptr) return nullptr;
  return driver.cuKernelGetFunction(&found, reinterpret_cast<CUkernel>(function)) == CUDA_SUCCESS ? found : nullptr;
}

}  // namespace

bool ResourcesOf(CUfunction handle, FunctionResources* resources) {
  CUfunction function = FunctionOf(handle);
  if (function == nullptr) return false;
  const auto get = TheDriver().cuFuncGetAttribute;
  return get(&resources->registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function) == CUDA_SUCCESS &&
         get(&resources->static_shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function) == CUDA_SUCCESS &&
         get(&resources->local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function) == CUDA_SUCCESS;
}

int BlocksPerSm(CUfunction handle, uint32_t threads, uint32_t dynamic_shared_bytes) {
  const auto get = TheDriver().cuOccupancyMaxActiveBlocksPerMultiprocessor;
  CUfunction function = get == nullptr ? nullptr : FunctionOf(handle);
  int blocks = 0;
  if (function == nullptr || get(&blocks, function, static_cast<int>(threads), dynamic_shared_bytes) != CUDA_SUCCESS)
    return 0;
  return blocks;
}

int DeviceAttribute(CUdevice device, CUdevice_attribute attribute) {
  const auto get = TheDriver().cuDeviceGetAttribute;
  int value = 0;
  return get != nullptr && get(&value, attribute, device) == CUDA_SUCCESS ? value : 0;
}

uint64_t MemoryInUse() {
  const auto get = TheDriver().cuMemGetInfo_v2;
  std::size_t free_bytes = 0, all_bytes = 0;
  return get != nullptr && get(&free_bytes, &all_bytes) == CUDA_SUCCESS ? all_bytes - free_bytes : 0;
}

bool HasDriverGone() {
  int value = 0;
  const auto get = TheDriver().cuDeviceGetAttribute;
  return get != nullptr && get(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0) == CUDA_ERROR_DEINITIALIZED;
}

// An error is one as well: the default stream must not be asked while another one is being captured.
bool IsCapturingStream(CUstream stream) {
  const auto get = TheDriver().cuStreamIsCapturing;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return get != nullptr && (get(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE);
}

void SynchronizeContext() {
  if (TheDriver().cuCtxSynchronize != nullptr) TheDriver().cuCtxSynchronize();
}

CurrentContext::CurrentContext(CUcontext context) {
  const Driver& driver = TheDriver();
  is_pushed_ = driver.cuCtxPushCurrent_v2 != nullptr && driver.cuCtxPopCurrent_v2 != nullptr &&
               driver.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
}

CurrentContext::~CurrentContext() {
  CUcontext popped = nullptr;
  if (is_pushed_) TheDriver().cuCtxPopCurrent_v2(&popped);
}

}  // namespace gprof::tracer
