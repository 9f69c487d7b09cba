// Delays on purpose, for `what-if`: in windows each instance of one thing comes later, in those between nothing does,
// so that the program's own progress says what a nanosecond of the thing is worth. Recording goes on all the while.
#pragma once

#include <atomic>
#include <cstdint>

#include "tracer/capture/delayed_things.h"
#include "tracer/core/collectors.h"

namespace gprof::tracer {

// The thing that is delayed now, as its number in the plan and one more, above the delay in ns; 0: none.
extern std::atomic<uint64_t> delay_now;
inline constexpr uint32_t kDelayBits = 40;

struct DelayNow {
  const DelayedThing* thing = nullptr;  // null: nothing is delayed
  uint64_t delay_ns = 0;
};
inline DelayNow CurrentDelay() {
  const uint64_t now = delay_now.load(std::memory_order_relaxed);
  const DelayPlan* const plan = now == 0 ? nullptr : TheDelayPlan();
  if (plan == nullptr) return {};
  return {&plan->things[(now >> kDelayBits) - 1], now & ((uint64_t{1} << kDelayBits) - 1)};
}

// Has the thread wait for so long, as if what it is about to do took so much longer: it keeps its core, and whatever
// locks it holds. [any thread]
void WaitHere(uint64_t delay_ns);
// An instance was delayed elsewhere, on the GPU. [any thread]
void CountDelayed();

// A range began, by its number or its name: waits where it is what is delayed now. [own thread]
void DelayRange(uint32_t id, const char* text, uint64_t size);
bool DelaysRanges();

// Until the next window; for ever where nothing is delayed. [writer thread]
uint64_t DelayWindowLeftNs();
void CarryOutDelayWindow();

void StartDelays();
// Each capture of a program that was attached to has a plan of its own, or none.
void SwitchDelays(bool on);
void ResetDelaysAfterFork();

// Its windows become records as they end.
inline constexpr Collector kDelayCollector = {
    .start = StartDelays, .switch_capture = SwitchDelays, .reset = ResetDelaysAfterFork};

}  // namespace gprof::tracer
