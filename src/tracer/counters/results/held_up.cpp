#include "tracer/counters/results/held_up.h"

#include <atomic>

#include "gprof/trace/record.h"
#include "tracer/store/chunk_output.h"
#include "tracer/store/memory/arena.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kMost = 256;
trace::OverheadRecord spans[kMost] GPROF_IN_ARENA;
constinit std::atomic<uint32_t> noted GPROF_IN_ARENA{0};
constinit std::atomic<uint32_t> told GPROF_IN_ARENA{0};
constinit uint32_t taken GPROF_IN_ARENA = 0;

}  // namespace

void NoteHeldUp(uint64_t start_ns, uint64_t end_ns, uint32_t tid) {
  const uint32_t at = noted.load(std::memory_order_relaxed);
  if (at - told.load(std::memory_order_acquire) >= kMost) return;
  spans[at % kMost] = {start_ns, end_ns - start_ns, trace::kOverheadCounters, tid, 0};
  noted.store(at + 1, std::memory_order_release);
}

void TellHeldUp() {
  while (taken != noted.load(std::memory_order_acquire)) {
    Output().Add(spans[taken % kMost], {&taken, taken + 1});
    told.store(taken, std::memory_order_release);
  }
}

void ForgetHeldUpAfterFork() {
  noted.store(0, std::memory_order_relaxed);
  told.store(0, std::memory_order_relaxed);
  taken = 0;
}

}  // namespace gprof::tracer
