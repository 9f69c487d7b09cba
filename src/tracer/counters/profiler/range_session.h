// The range profiler of a context: begins and ends a range, and has its values.
#pragma once

#include "tracer/counters/profiler/device_plan.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {

class RangeSession {
 public:
  // For a context; the first call for each makes it ready. Null: it cannot be, which a notice has said.
  // [with the lock of the caller]
  static RangeSession* Of(CUcontext context);
  // Null where there was no first call, or it failed.
  static RangeSession* Known(CUcontext context);
  template <class F>
  static void ForEach(F&& f);
  static void ForgetAfterFork();

  const DevicePlan& plan() const { return *plan_; }
  CUcontext context() const { return context_; }
  bool IsUsable() const { return is_usable_; }
  // The context goes away.
  void Drop() { context_ = nullptr; }
  // What runs from here on is measured: at most so many kernels. False: it is not; a notice says why.
  bool Begin(uint32_t most_ranges, CUpti_ProfilerReplayMode replay);
  // All that runs from here on is one range, and streams overlap as ever.
  bool BeginOneRange(const char* name);
  bool IsInOneRange() const { return has_own_range_; }
  // How many ranges were measured since then: kernels, or that one.
  uint32_t End();
  // `values` has room for all metrics of the plan. What is not known is not a number.
  bool Evaluate(uint32_t range, double* values) const;

 private:
  static constexpr uint32_t kMaxContexts = 64;
  static RangeSession (&All())[kMaxContexts];
  bool Prepare();
  bool BeginNow(uint32_t most_ranges, CUpti_ProfilerRange range, CUpti_ProfilerReplayMode replay);
  bool SetMode(CUpti_ProfilerRange range, CUpti_ProfilerReplayMode replay);
  bool TakeTurn();
  bool MakeRoom(uint32_t most_ranges);
  bool InitializeImage();
  bool Check(const char* function, CUptiResult result);

  CUcontext context_ = nullptr;
  const DevicePlan* plan_ = nullptr;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
  uint8_t* image_ = nullptr;
  std::size_t image_size_ = 0, mapped_ = 0;
  uint32_t most_ranges_ = 0;  // that the image has room for
  bool is_usable_ = false;
  bool has_own_range_ = false;  // that was pushed
  bool has_mode_ = false;       // what the object was used with, once it was
  CUpti_ProfilerRange range_ = CUPTI_AutoRange;
  CUpti_ProfilerReplayMode replay_ = CUPTI_KernelReplay;
};

// All that can be used. [with the lock of the caller]
template <class F>
void RangeSession::ForEach(F&& f) {
  for (RangeSession& session : All()) {
    if (session.context_ != nullptr && session.is_usable_) f(&session);
  }
}

}  // namespace gprof::tracer
#endif
