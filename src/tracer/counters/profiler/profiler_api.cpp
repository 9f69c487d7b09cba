#include "tracer/counters/profiler/profiler_api.h"

#ifdef GPROF_HAS_RANGE_PROFILER
#include <dlfcn.h>

#include <cstring>

#include "tracer/core/notice.h"

namespace gprof::tracer {
namespace {

constinit ProfilerApi api;
enum class State : uint8_t { kNew, kReady, kFailed };
State state = State::kNew;

constexpr int kHardwareBusy = 26, kNotPermitted = 35;

void SayNone(const Message& why) {
  Message message;
  message << "no kernel counters: " << why.c_str();
  Say(trace::NoticeLevel::kWarning, message);
}

// libcupti opens them by name, through the paths of the loader, which lead to another version or nowhere. What is
// already there under that name it takes.
bool OpenCompanion(const char* name) {
  char path[4200] = {};
  std::strncpy(path, Cupti().path, sizeof Cupti().path);
  char* slash = std::strrchr(path, '/');
  if (slash != nullptr) std::strcpy(slash + 1, name);
  if (slash != nullptr && dlopen(path, RTLD_NOW | RTLD_GLOBAL) != nullptr) return true;
  Message why;
  why << name << " is not next to " << Cupti().path
      << "; install the CUPTI of the CUDA Toolkit or the nvidia-cuda-cupti package, or use "
         "--cupti FILE";
  SayNone(why);
  return false;
}

bool Bind() {
  api = ProfilerApi{LibrarySymbols(Cupti().in.library())};
  if (api.in.missing() == nullptr) return true;
  Message why;
  why << Cupti().path << " has no " << api.in.missing() << "; CUDA 12.8 or later is needed, see --cupti FILE";
  SayNone(why);
  return false;
}

bool Start() {
  if (!Bind() || !OpenCompanion("libnvperf_host.so") || !OpenCompanion("libnvperf_target.so")) return false;
  GPROF_PARAMETERS(CUpti_Profiler_Initialize, initialize);
  const CUptiResult result = api.cuptiProfilerInitialize(&initialize);
  if (result == CUPTI_SUCCESS) return true;
  SayProfilerFailed("cuptiProfilerInitialize", result);
  return false;
}

}  // namespace

const ProfilerApi& Profiler() { return api; }

bool StartProfiler() {
  if (state == State::kNew) state = Start() ? State::kReady : State::kFailed;
  return state == State::kReady;
}

void SayProfilerFailed(const char* function, CUptiResult result) {
  Message why;
  const int code = static_cast<int>(result);
  if (code == kHardwareBusy) {
    why << "another profiler, such as dcgm-exporter or Nsight, is using the performance monitors of this GPU (error "
           "26); stop it (dcgmi profile --pause), or measure one process at a time";
  } else if (code == kNotPermitted) {
    why << "the driver restricts performance counters to administrators (error 35): run as root or with "
           "CAP_SYS_ADMIN, or load the driver with NVreg_RestrictProfilingToAdminUsers=0; gprof-cli profile does not "
           "need them";
  } else {
    why << function << " answers " << Cupti().NameOf(result) << " (" << static_cast<uint64_t>(code) << ")";
  }
  SayNone(why);
}

}  // namespace gprof::tracer
#endif
