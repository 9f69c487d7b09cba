// Measures a few launches of the hottest kernels now and then, within a run that is recorded, and keeps within a
// budget: all that measuring holds the program up for is counted, and the next time waits until it is a small enough
// part of the run. (To begin and to end measuring takes 40 ms on an H200, a launch in between one.)
#pragma once

#include <atomic>
#include <cstdint>

#include "tracer/counters/sampling/hot_kernels.h"
#include "tracer/counters/sampling/sample_budget.h"

namespace gprof::tracer {

class LaunchSampler {
 public:
  // Launches that are measured each time.
  static constexpr uint32_t kLaunches = 16;

  void Begin(uint32_t permille, uint64_t now_ns);
  bool IsOn() const { return is_on_; }
  void KernelRan(uint32_t name, uint64_t duration_ns) { kernels_.Ran(name, duration_ns); }

  // Whether a launch may begin to measure. The one question that every launch asks. [any thread]
  bool IsDue() const { return is_due_.load(std::memory_order_relaxed); }
  // How long it is until then, 0 when it is time. [its thread]
  uint64_t WaitNs(uint64_t now_ns) const;
  // From here on a launch may begin. [its thread]
  void SetDue(uint64_t now_ns);

  // Whether it is the kernel that is due, or that was waited for in vain. [with the gate closed, from here on]
  bool Wants(uint32_t name, uint64_t now_ns) const;
  void Measured(uint32_t name) { kernels_.Measured(name); }
  // The program was held up.
  void HeldUp(uint64_t ns) { held_up_ns_ += ns; }
  // Measuring has ended for now.
  void Ended();
  // What the first sample needs is there, which took longer than a sample will.
  void SetReady();
  // Nothing can be measured, for good.
  void GiveUp();
  void Forget();

 private:
  void Spend(uint64_t next_cost_ns);

  // To make ready holds the program up for half a second (H200).
  static constexpr uint64_t kFirstNs = 500'000'000, kLeastNs = 60'000'000;

  bool is_on_ = false;
  std::atomic<bool> is_due_{false}, is_given_up_{false};
  uint64_t began_ns_ = 0, due_since_ns_ = 0, held_up_ns_ = 0;
  std::atomic<uint32_t> next_{0};
  std::atomic<uint64_t> next_run_ns_{~uint64_t{0}};
  SampleBudget budget_{0, kFirstNs};
  HotKernels kernels_;
};

}  // namespace gprof::tracer
