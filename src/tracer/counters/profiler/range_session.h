// The range profiler of a context: begins and ends a range, and has its values.
#pragma once

#include "tracer/counters/profiler/cache_flush.h"
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
  // All that runs from here on is one range, and streams overlap as ever. Where the plan flushes caches, they were.
  bool BeginOneRange(const char* name);
  bool IsInOneRange() const { return has_own_range_; }
  // The next pass over the same range, when the one before has ended.
  bool EndPass();
  bool BeginPass(const char* name);
  bool AreAllPassesMade() const { return are_all_made_; }
  // A pass was not what it should be: libcupti would take the next one for it.
  void GiveUp() { is_usable_ = false; }
  // Memory cannot be saved for kernels to run again: from here on libcupti does it. Before anything was measured.
  void LeaveReplayToCupti();
  bool CanFlush() { return flush_.Prepare(context_, static_cast<CUdevice>(plan_->device)); }
  bool HasMeasured() const { return has_mode_; }
  // How many ranges were measured since then: kernels, or that one.
  uint32_t End();
  // `values` has room for all metrics of the plan. What is not known is not a number.
  bool Evaluate(uint32_t range, double* values) const;

 private:
  static constexpr uint32_t kMaxContexts = 64;
  static RangeSession (&All())[kMaxContexts];
  bool Prepare();
  bool Configure(uint32_t most_ranges, CUpti_ProfilerRange range, CUpti_ProfilerReplayMode replay);
  bool Start();
  bool Stop();
  bool SetMode(CUpti_ProfilerRange range, CUpti_ProfilerReplayMode replay);
  bool TakeTurn();
  bool MakeRoom(uint32_t most_ranges);
  bool InitializeImage();
  bool Check(const char* function, CUptiResult result);

  CUcontext context_ = nullptr;
  const DevicePlan* plan_ = nullptr;
  CacheFlush flush_;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
  uint8_t* image_ = nullptr;
  std::size_t image_size_ = 0, mapped_ = 0;
  uint32_t most_ranges_ = 0;  // that the image has room for
  bool is_usable_ = false;
  bool is_started_ = false;
  bool has_own_range_ = false;  // that was pushed
  bool are_all_made_ = false;   // passes, when it stopped last
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
