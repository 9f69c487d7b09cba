#include "tracer/cupti/library/own_kernel.h"

#include <dlfcn.h>

#include "gprof/library_symbols.h"
#include "tracer/core/notice.h"
#include "tracer/cupti/library/driver_queries.h"

namespace gprof::tracer {
namespace {

struct KernelDriver {
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

const KernelDriver& TheKernelDriver() {
  static KernelDriver driver;
  static bool is_bound = false;
  if (!is_bound) {
    driver = KernelDriver{LibrarySymbols(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD))};
    is_bound = true;
  }
  return driver;
}

}  // namespace

RelaxedCapture::RelaxedCapture() {
  if (TheKernelDriver().cuThreadExchangeStreamCaptureMode != nullptr)
    TheKernelDriver().cuThreadExchangeStreamCaptureMode(&mode_);
}

RelaxedCapture::~RelaxedCapture() {
  if (TheKernelDriver().cuThreadExchangeStreamCaptureMode != nullptr)
    TheKernelDriver().cuThreadExchangeStreamCaptureMode(&mode_);
}

void OwnKernel::SayOnce(const char* step, CUresult result) {
  if (has_said_why_) return;
  has_said_why_ = true;
  Message message;
  message << what_fails_ << ": " << step << " returned " << static_cast<uint64_t>(result);
  Say(trace::NoticeLevel::kWarning, message);
}

CUfunction OwnKernel::Load() {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUresult result = TheKernelDriver().cuModuleLoadData(&module, code_);
  if (result != CUDA_SUCCESS) return SayOnce("cuModuleLoadData", result), nullptr;
  result = TheKernelDriver().cuModuleGetFunction(&function, module, name_);
  if (result != CUDA_SUCCESS) SayOnce("cuModuleGetFunction", result);
  return result == CUDA_SUCCESS ? function : nullptr;
}

CUfunction OwnKernel::In(CUcontext context) {
  const LockGuard guard(lock_);
  for (uint32_t i = 0; i < count_; ++i) {
    if (loaded_[i].context == context) return loaded_[i].function;
  }
  if (count_ == kMostContexts) return nullptr;
  loaded_[count_++] = {context, Load()};
  return loaded_[count_ - 1].function;
}

bool OwnKernel::Launch(CUcontext context, CUstream stream, Size size, void** arguments) {
  if (!TheKernelDriver().IsWhole() || IsCapturingStream(stream)) return false;
  const RelaxedCapture relaxed;
  CUfunction function = In(context);
  if (function == nullptr) return false;
  const CUresult result =
      TheKernelDriver().cuLaunchKernel(function, size.blocks, 1, 1, size.threads, 1, 1, 0, stream, arguments, nullptr);
  if (result != CUDA_SUCCESS) SayOnce("cuLaunchKernel", result);
  return result == CUDA_SUCCESS;
}

void OwnKernel::ForgetAfterFork() {
  lock_.ResetAfterFork();
  count_ = 0;
}

}  // namespace gprof::tracer
