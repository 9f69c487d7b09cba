#include "tracer/core/fork_hold.h"

#include <atomic>

#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

// What loads the library calls its entry point within microseconds, and NVTX is through as soon after that, unless the
// thread is preempted. The library may be loaded by others than NVTX, which call no entry point.
constexpr uint64_t kLoadNs = 20'000'000, kSettleNs = 1'000'000;

constinit std::atomic<uint32_t> entered{0};        // threads within the entry point
constinit std::atomic<uint64_t> held_until_ns{0};  // by the last thread of them, before it enters and after it has left
constinit std::atomic<uint32_t> last_tid{0};

void HoldFor(uint64_t ns) {
  last_tid.store(CurrentTid(), std::memory_order_relaxed);
  held_until_ns.store(MonotonicNs() + ns, std::memory_order_release);
}

}  // namespace

ForkHold::ForkHold() {
  entered.fetch_add(1, std::memory_order_acq_rel);
  HoldFor(0);
}

ForkHold::~ForkHold() {
  HoldFor(kSettleNs);
  entered.fetch_sub(1, std::memory_order_acq_rel);
}

void HoldForksWhileLoading() { HoldFor(kLoadNs); }

void WaitForStartOfNvtx() {
  const bool is_own = last_tid.load(std::memory_order_relaxed) == CurrentTid();
  if (is_own && entered.load(std::memory_order_acquire) == 0) return;
  constexpr uint64_t kPatienceOfForkNs = 1'000'000'000;
  WaitWhile(
      [] {
        return entered.load(std::memory_order_acquire) != 0 ||
               MonotonicNs() < held_until_ns.load(std::memory_order_acquire);
      },
      kPatienceOfForkNs);
}

void ForgetForkHold() {
  entered.store(0, std::memory_order_relaxed);
  held_until_ns.store(0, std::memory_order_relaxed);
}

}  // namespace gprof::tracer
