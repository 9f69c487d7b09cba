#include "tracer/cupti/delays/spin_kernel.h"

#include <dlfcn.h>

#include "gprof/library_symbols.h"
#include "tracer/core/notice.h"
#include "tracer/cupti/library/driver_queries.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

// Compiled by the driver for whatever GPU there is. The timer counts nanoseconds, in steps of up to 1 us.
constexpr char kCode[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry gprof_delay(.param .u64 delay_ns) {
  .reg .u64 %begin, %now, %passed, %delay;
  .reg .pred %goes_on;
  ld.param.u64 %delay, [delay_ns];
  mov.u64 %begin, %globaltimer;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %passed, %now, %begin;
  setp.lt.u64 %goes_on, %passed, %delay;
  @%goes_on bra again;
  ret;
}
)";

struct Driver {
  LibrarySymbols in;
  GPROF_OPTIONAL_SYMBOL(cuModuleLoadData);
  GPROF_OPTIONAL_SYMBOL(cuModuleGetFunction);
  GPROF_OPTIONAL_SYMBOL(cuLaunchKernel);
  GPROF_OPTIONAL_SYMBOL(cuThreadExchangeStreamCaptureMode);
  bool IsWhole() const {
    return cuModuleLoadData != nullptr && cuModuleGetFunction != nullptr && cuLaunchKernel != nullptr &&
           cuThreadExchangeStreamCaptureMode != nullptr;
  }
};

const Driver& TheDriver() {
  static Driver driver;
  static bool is_bound = false;
  if (!is_bound) {
    driver = Driver{LibrarySymbols(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD))};
    is_bound = true;
  }
  return driver;
}

// Loading code would spoil a capture that another thread is in the midst of, unless the caller says that it need not.
class Relaxed {
 public:
  Relaxed() { TheDriver().cuThreadExchangeStreamCaptureMode(&mode_); }
  ~Relaxed() { TheDriver().cuThreadExchangeStreamCaptureMode(&mode_); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

struct LoadedKernel {
  CUcontext context = nullptr;
  CUfunction function = nullptr;  // null: it cannot be had
};
constexpr uint32_t kMostContexts = 64;
LoadedKernel loaded[kMostContexts];
uint32_t loaded_count = 0;
bool has_said_why = false;
Lock loading;

void SayOnce(const char* step, CUresult result) {
  if (has_said_why) return;
  has_said_why = true;
  Message message;
  message << "kernels are not delayed: " << step << " returned " << static_cast<uint64_t>(result);
  Say(trace::NoticeLevel::kWarning, message);
}

CUfunction Load() {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUresult result = TheDriver().cuModuleLoadData(&module, kCode);
  if (result != CUDA_SUCCESS) return SayOnce("cuModuleLoadData", result), nullptr;
  result = TheDriver().cuModuleGetFunction(&function, module, "gprof_delay");
  if (result != CUDA_SUCCESS) SayOnce("cuModuleGetFunction", result);
  return result == CUDA_SUCCESS ? function : nullptr;
}

CUfunction KernelOf(CUcontext context) {
  const LockGuard guard(loading);
  for (uint32_t i = 0; i < loaded_count; ++i) {
    if (loaded[i].context == context) return loaded[i].function;
  }
  if (loaded_count == kMostContexts) return nullptr;
  loaded[loaded_count++] = {context, Load()};
  return loaded[loaded_count - 1].function;
}

}  // namespace

bool LaunchSpinKernel(CUcontext context, CUstream stream, uint64_t delay_ns) {
  const Driver& driver = TheDriver();
  if (!driver.IsWhole() || IsCapturingStream(stream)) return false;
  const Relaxed relaxed;
  CUfunction function = KernelOf(context);
  if (function == nullptr) return false;
  void* arguments[] = {&delay_ns};
  const CUresult result = driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
  if (result != CUDA_SUCCESS) SayOnce("cuLaunchKernel", result);
  return result == CUDA_SUCCESS;
}

void ForgetSpinKernelsAfterFork() {
  loading.ResetAfterFork();
  loaded_count = 0;
}

}  // namespace gprof::tracer
