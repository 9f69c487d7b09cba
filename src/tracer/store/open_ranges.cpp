#include "tracer/store/open_ranges.h"

#include "tracer/system/system_calls.h"

namespace gprof::tracer {

constinit std::atomic<NvtxPath> nvtx_path{NvtxPath::kRecord};

namespace {

constinit std::atomic<bool> keeps{false};

// Filled and emptied without a lock, as handlers may run in handlers of signals.
struct StartedRange {
  std::atomic<uint64_t> number{0};  // 0: free, kTaken: being filled
  std::atomic<uint32_t> domain{0}, name{0};
  std::atomic<bool> is_entry{false};
};
constexpr uint64_t kTaken = ~uint64_t{0};
constexpr uint32_t kStarted = 256;
StartedRange started[kStarted];

constinit std::atomic<const RangeWatcher*> watcher{nullptr};

bool IsThere() {
  const RangeWatcher* known = watcher.load(std::memory_order_relaxed);
  return known != nullptr && known->is_there();
}

// A range was opened. True: a thread came to the place with it.
bool Comes(bool was_there, trace::StringId name) {
  if (was_there || !IsThere()) return false;
  watcher.load(std::memory_order_relaxed)->comes(name);
  return true;
}

void Goes() { watcher.load(std::memory_order_relaxed)->goes(); }

RangeStack* StackOf(ThreadLog* log) {
  if (log->open_ranges == nullptr) log->open_ranges = static_cast<RangeStack*>(MapMemory(sizeof(RangeStack)));
  return log->open_ranges;
}

}  // namespace

void KeepOpenRanges() {
  keeps.store(true, std::memory_order_relaxed);
  nvtx_path.store(NvtxPath::kWatch, std::memory_order_relaxed);
}

void WatchOpenRanges(const RangeWatcher* wanted) { watcher.store(wanted, std::memory_order_relaxed); }

bool KeepsOpenRanges() { return keeps.load(std::memory_order_relaxed); }

void NotePush(ThreadLog* log, OpenRange range) {
  RangeStack* stack = StackOf(log);
  if (stack == nullptr) return;
  if (stack->count == RangeStack::kMost || stack->beyond > 0) {
    ++stack->beyond;
    return;
  }
  const bool was_there = IsThere();
  stack->ranges[stack->count++] = range;
  stack->ranges[stack->count - 1].is_entry = Comes(was_there, range.name);
}

// Each domain has a stack of its own, and here they lie in one.
void NotePop(ThreadLog* log, trace::StringId domain) {
  RangeStack* stack = log->open_ranges;
  if (stack == nullptr) return;
  if (stack->beyond > 0) {
    --stack->beyond;
    return;
  }
  for (uint32_t i = stack->count; i-- > 0;) {
    if (stack->ranges[i].domain.value != domain.value) continue;
    const bool was_entry = stack->ranges[i].is_entry;
    for (--stack->count; i < stack->count; ++i) stack->ranges[i] = stack->ranges[i + 1];
    if (was_entry) Goes();
    return;
  }
}

void NoteStart(uint64_t number, OpenRange range) {
  const bool was_there = IsThere();
  for (StartedRange& place : started) {
    uint64_t none = 0;
    if (!place.number.compare_exchange_strong(none, kTaken, std::memory_order_acquire)) continue;
    place.domain.store(range.domain.value, std::memory_order_relaxed);
    place.name.store(range.name.value, std::memory_order_relaxed);
    place.is_entry.store(false, std::memory_order_relaxed);
    place.number.store(number, std::memory_order_release);
    place.is_entry.store(Comes(was_there, range.name), std::memory_order_relaxed);
    return;
  }
}

void NoteEnd(uint64_t number) {
  for (StartedRange& place : started) {
    uint64_t expected = number;
    if (number == 0 || place.number.load(std::memory_order_acquire) != number) continue;
    const bool was_entry = place.is_entry.load(std::memory_order_relaxed);
    if (!place.number.compare_exchange_strong(expected, 0, std::memory_order_acq_rel)) continue;
    if (was_entry) Goes();
    return;
  }
}

const RangeStack* PushedRanges() {
  const ThreadLog* log = own_log;
  return log == nullptr ? nullptr : log->open_ranges;
}

uint32_t StartedRanges(OpenRange* out, uint32_t most) {
  uint32_t count = 0;
  for (const StartedRange& place : started) {
    const uint64_t number = place.number.load(std::memory_order_acquire);
    if (number == 0 || number == kTaken || count == most) continue;
    out[count++] = {{place.domain.load(std::memory_order_relaxed)}, {place.name.load(std::memory_order_relaxed)}};
  }
  return count;
}

void ResetOpenRangesAfterFork() {
  for (StartedRange& place : started) place.number.store(0, std::memory_order_relaxed);
}

}  // namespace gprof::tracer
