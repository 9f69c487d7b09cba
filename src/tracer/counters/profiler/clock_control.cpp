#include "tracer/counters/profiler/clock_control.h"

#ifdef GPROF_HAS_RANGE_PROFILER
#include <dlfcn.h>

#include "tracer/core/notice.h"
#include "tracer/counters/request/wanted_counters.h"

namespace gprof::tracer {
namespace {

// Their values in CUDA 13.4, whose headers this is not always built with.
constexpr uint32_t kControlVersion = 130'400;
constexpr int kFlushAll = 1, kLockBase = 1, kLockBoost = 2, kUnlocked = 1;

struct Clocks {
  CUptiResult (*lock)(CUcontext, int) = nullptr;
  CUptiResult (*status)(CUcontext, int*) = nullptr;
  CUptiResult (*unlock)() = nullptr;
  trace::ClockControl now = trace::ClockControl::kNone;
  bool is_asked = false, are_ours = false;

  bool Bind() {
    const auto find = [](const char* name, auto* function) {
      *function = reinterpret_cast<decltype(+*function)>(dlsym(Cupti().in.library(), name));
      return *function != nullptr;
    };
    return find("cuptiClockControlLock", &lock) && find("cuptiClockControlGetStatus", &status) &&
           find("cuptiClockControlUnlock", &unlock);
  }
  bool AreLocked(CUcontext context) const {
    int found = kUnlocked;
    return status(context, &found) == CUPTI_SUCCESS && found != kUnlocked;
  }
};
constinit Clocks clocks;

bool Refuse(const Message& why) {
  Message message;
  message << "no kernel counters: " << why.c_str();
  Say(trace::NoticeLevel::kWarning, message);
  return false;
}

bool RefuseVersion() {
  Message why;
  why << Cupti().path
      << " cannot flush caches or lock clocks; use the libcupti of CUDA 13.4 or later (--cupti FILE), or omit "
         "--cache-control and --clock-control";
  return Refuse(why);
}

bool LockClocks(CUcontext context, trace::ClockControl wanted) {
  const bool were_locked = clocks.AreLocked(context);
  const CUptiResult result = clocks.lock(context, wanted == trace::ClockControl::kBase ? kLockBase : kLockBoost);
  if (result != CUPTI_SUCCESS) {
    Message why;
    why << "the clocks cannot be locked: cuptiClockControlLock returned " << Cupti().NameOf(result) << " ("
        << static_cast<uint64_t>(result) << "); omit --clock-control";
    return Refuse(why);
  }
  clocks.is_asked = true;
  clocks.are_ours = !were_locked;
  clocks.now = were_locked ? trace::ClockControl::kUnknown : wanted;
  if (!were_locked) return true;
  Message message;
  message << "the clocks of the GPU were already locked and are left as they are";
  Say(trace::NoticeLevel::kWarning, message);
  return true;
}

}  // namespace

bool ControlClocks(CUcontext context) {
  const CounterRequest& request = *TheCounterRequest();
  const bool locks = request.clocks != trace::ClockControl::kNone;
  if (!locks && !request.flushes_caches) return true;
  if (Cupti().version < kControlVersion || (locks && !clocks.Bind())) return RefuseVersion();
  if (!locks) return true;
  if (!clocks.is_asked) return LockClocks(context, request.clocks);
  if (clocks.AreLocked(context)) return true;
  Message why;
  why << "libcupti locks the clocks of only one GPU per process; choose it with --devices, or omit --clock-control";
  return Refuse(why);
}

trace::ClockControl ClocksNow() { return clocks.now; }

void ReleaseClocks() {
  if (!clocks.are_ours) return;
  clocks.are_ours = false;
  clocks.unlock();
}

void ForgetClocksAfterFork() { clocks = {}; }

EnableParams EnableParamsFor(CUcontext context) {
  EnableParams params;
  params.context = context;
  if (!TheCounterRequest()->flushes_caches) return params;
  params.size += sizeof params.cache_control;
  params.cache_control = kFlushAll;
  return params;
}

}  // namespace gprof::tracer
#endif
