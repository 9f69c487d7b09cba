#include "tracer/counters/sampling/launch_sampler.h"

namespace gprof::tracer {

void LaunchSampler::Begin(uint32_t permille, uint64_t now_ns) {
  is_on_ = permille > 0;
  began_ns_ = now_ns;
  budget_ = SampleBudget(permille, kFirstNs);
  next_run_ns_.store(budget_.NextRunNs(), std::memory_order_release);
}

uint64_t LaunchSampler::WaitNs(uint64_t now_ns) const {
  constexpr uint64_t kLongNs = 3600ull * 1'000'000'000, kPollNs = 50'000'000;
  if (!is_on_ || is_given_up_.load(std::memory_order_relaxed)) return kLongNs;
  if (IsDue()) return kPollNs;
  const uint64_t run_ns = now_ns - began_ns_, next_ns = next_run_ns_.load(std::memory_order_acquire);
  return run_ns < next_ns ? next_ns - run_ns : 0;
}

void LaunchSampler::SetDue(uint64_t now_ns) {
  next_.store(kernels_.Next(), std::memory_order_relaxed);
  due_since_ns_ = now_ns;
  is_due_.store(true, std::memory_order_release);
}

bool LaunchSampler::Wants(uint32_t name, uint64_t now_ns) const {
  constexpr uint64_t kPatienceNs = 500'000'000;
  const uint32_t next = next_.load(std::memory_order_relaxed);
  return next == 0 || name == next || now_ns - due_since_ns_ > kPatienceNs;
}

void LaunchSampler::Ended() {
  is_due_.store(false, std::memory_order_relaxed);
  Spend(held_up_ns_ > kLeastNs ? held_up_ns_ : kLeastNs);
}

void LaunchSampler::SetReady() { Spend(kLeastNs); }

void LaunchSampler::Spend(uint64_t next_cost_ns) {
  budget_.Spend(held_up_ns_, next_cost_ns);
  held_up_ns_ = 0;
  next_run_ns_.store(budget_.NextRunNs(), std::memory_order_release);
}

void LaunchSampler::GiveUp() {
  is_given_up_.store(true, std::memory_order_relaxed);
  is_due_.store(false, std::memory_order_relaxed);
}

void LaunchSampler::Forget() {
  is_due_.store(false, std::memory_order_relaxed);
  is_given_up_.store(false, std::memory_order_relaxed);
  held_up_ns_ = 0;
  kernels_.Forget();
}

}  // namespace gprof::tracer
