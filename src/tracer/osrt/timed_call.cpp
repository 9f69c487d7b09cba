#include "tracer/osrt/timed_call.h"

#include "tracer/core/config.h"
#include "tracer/store/caller_stack.h"

namespace gprof::tracer {

constinit OsThresholds os_thresholds;

namespace {

uint64_t Least(const std::atomic<uint64_t>& a, const std::atomic<uint64_t>& b) {
  const uint64_t x = a.load(std::memory_order_relaxed), y = b.load(std::memory_order_relaxed);
  return x < y ? x : y;
}

// An allocator that gives memory back may have just freed what the frames of Python lead to.
uint32_t StackOf(ThreadLog* log, const CallTraits& traits, const FinishedCall& call) {
#ifdef __x86_64__
  if (call.stamps < os_thresholds.stacks.load(std::memory_order_relaxed)) return 0;
  // The wrapper has its caller's frame pointer where its own one points to, and the return address behind it.
  const auto* const saved = reinterpret_cast<const uintptr_t*>(call.frame);
  const CallerFrame caller{saved[1], call.frame + 2 * sizeof(uintptr_t), saved[0]};
  const uint32_t python = traits.is_of_memory ? 0 : CallerStack(log);
  return NativeStack(log, caller, {Config().osrt_stack_frames, Config().osrt_stack_bytes}, python);
#else
  return call.stamps < os_thresholds.stacks.load(std::memory_order_relaxed) || traits.is_of_memory ? 0
                                                                                                   : CallerStack(log);
#endif
}

}  // namespace

void WriteCall(uint8_t number, const CallTraits& traits, const FinishedCall& call, uint64_t what) {
  ThreadLog* log = own_log;
  const bool launches = log != nullptr && HasLaunched(*log);
  const auto& least = launches ? os_thresholds.launching : os_thresholds.other;
  const uint64_t threshold =
      traits.is_of_files ? Least(least, os_thresholds.files) : least.load(std::memory_order_relaxed);
  if (call.stamps < threshold) return;
  if (log == nullptr) log = AcquireLogWithinCall(traits.may_hold_allocator);
  // The child of a vfork, or of a fork that libc does not know of, has the memory of its parent.
  if (log == nullptr || log->tid != CurrentTid()) return;
  OsCallRow row{RowHeaderOf<OsCallRow>(RowType::kOsCall), PackDuration(call.stamps), call.start, what};
  row.header.flags = number;
  const uint32_t stack = StackOf(log, traits, call);
  if (call.other.tid == 0 && stack == 0) {
    Append(log, row);
    return;
  }
  LongOsCallRow longer{row, call.other.tid, stack, call.other.stack, 0};
  longer.row.header.words = sizeof longer / 8;
  Append(log, longer);
}

}  // namespace gprof::tracer
