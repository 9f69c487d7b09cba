#include "tracer/counters/launches/repeated_launch.h"

#ifdef GPROF_HAS_RANGE_PROFILER
#include <dlfcn.h>

#include "tracer/core/notice.h"
#include "tracer/counters/launches/measuring_state.h"
#include "tracer/counters/profiler/memory_checkpoint.h"
#include "tracer/cupti/library/driver_queries.h"
#include "tracer/cupti/library/own_kernel.h"

namespace gprof::tracer {
namespace {

// By the names that libcuda exports: those with _ptsz take the default stream for that of the thread.
struct Driver {
  LibrarySymbols in;
  decltype(&::cuLaunchKernel) launch[2] = {in.Optional("cuLaunchKernel"), in.Optional("cuLaunchKernel_ptsz")};
  decltype(&::cuLaunchCooperativeKernel) cooperative[2] = {in.Optional("cuLaunchCooperativeKernel"),
                                                           in.Optional("cuLaunchCooperativeKernel_ptsz")};
  decltype(&::cuLaunchKernelEx) extended[2] = {in.Optional("cuLaunchKernelEx"), in.Optional("cuLaunchKernelEx_ptsz")};
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

constinit MemoryCheckpoint checkpoint;

bool IsCooperative(CUpti_CallbackId cbid) {
  return cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel ||
         cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz;
}

// What the program calls, with what it hands over, which stays valid for as long as its call takes.
CUresult Launch(const LaunchCall& call, const CUpti_CallbackData* info) {
  const Driver& driver = TheDriver();
  const int i = call.is_per_thread ? 1 : 0;
  if (call.what == What::kKernelEx) {
    const auto& p = *static_cast<const cuLaunchKernelEx_params*>(info->functionParams);
    if (driver.extended[i] == nullptr) return CUDA_ERROR_NOT_FOUND;
    return driver.extended[i](p.config, p.f, p.kernelParams, p.extra);
  }
  if (IsCooperative(call.cbid)) {
    const auto& p = *static_cast<const cuLaunchCooperativeKernel_params*>(info->functionParams);
    if (driver.cooperative[i] == nullptr) return CUDA_ERROR_NOT_FOUND;
    return driver.cooperative[i](p.f, p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX, p.blockDimY, p.blockDimZ,
                                 p.sharedMemBytes, p.hStream, p.kernelParams);
  }
  const auto& p = *static_cast<const cuLaunchKernel_params*>(info->functionParams);
  if (driver.launch[i] == nullptr) return CUDA_ERROR_NOT_FOUND;
  return driver.launch[i](p.f, p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX, p.blockDimY, p.blockDimZ,
                          p.sharedMemBytes, p.hStream, p.kernelParams, p.extra);
}

bool Refuse(RangeSession* session, CUresult result) {
  Message message;
  message << "no kernel counters: a launch could not be repeated for the next pass (error "
          << static_cast<uint64_t>(result) << " of the driver); --cache-control none leaves that to libcupti";
  Say(trace::NoticeLevel::kWarning, message);
  session->GiveUp();
  return false;
}

// One pass, after which memory is as it was before.
bool MakePass(RangeSession* session, const LaunchCall& call, const CUpti_CallbackData* info) {
  const CUresult result = Launch(call, info);
  SynchronizeContext();
  const bool has_ended = session->EndPass();
  const bool is_restored = checkpoint.Restore();
  return result == CUDA_SUCCESS ? has_ended && is_restored : Refuse(session, result);
}

}  // namespace

// To restore what was just saved changes nothing, and shows that it can be done.
bool CanRepeat(RangeSession* session) {
  if (session->HasMeasured()) return true;
  const CurrentContext current(session->context());
  const RelaxedCapture relaxed;
  SynchronizeContext();
  const bool can = session->CanFlush() && checkpoint.Save(session->context()) && checkpoint.Restore();
  checkpoint.Free();
  if (can) return true;
  Message message;
  message << "L2 is not flushed between passes, as launches cannot be repeated here: kernels find what the replay left";
  Say(trace::NoticeLevel::kWarning, message);
  const LockGuard guard(measuring.lock);
  session->LeaveReplayToCupti();
  return false;
}

bool BeginRepeated(RangeSession* session, const LaunchCall& call, const CUpti_CallbackData* info, const char* name) {
  const CurrentContext current(session->context());
  const RelaxedCapture relaxed;
  SynchronizeContext();
  const uint32_t passes = session->plan().passes;
  if (passes > 1 && !checkpoint.Save(session->context())) return false;
  measuring.gate.Hold(true);
  bool is_good = session->BeginOneRange(name);
  for (uint32_t pass = 1; is_good && pass < passes; ++pass) {
    is_good = MakePass(session, call, info) && (session->AreAllPassesMade() || session->BeginPass(name));
    if (session->AreAllPassesMade()) break;
  }
  measuring.gate.Hold(false);
  if (!is_good) checkpoint.Free();
  return is_good;
}

void EndRepeated() { checkpoint.Free(); }

}  // namespace gprof::tracer
#endif
