#include "tracer/capture/work_count.h"

#include "tracer/store/clock.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {

constinit std::atomic<uint32_t> counted_function{0};

namespace {

constinit std::atomic<uint32_t> counting{0};  // number of the count that is going on, 0: none
uint32_t counts = 0;
constinit std::atomic<bool> is_listening{false};
const CallSource* call_source = nullptr;

}  // namespace

void CountCall() {
  const uint32_t count = counting.load(std::memory_order_relaxed);
  ThreadLog* log = count == 0 ? nullptr : OwnLog();
  if (log == nullptr) return;
  CountedCalls& own = log->counted;
  const uint64_t now = Stamp();
  const bool is_first = own.count.load(std::memory_order_relaxed) != count;
  if (is_first) own.first.store(now, std::memory_order_relaxed);
  own.calls.store(is_first ? 1 : own.calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  own.last.store(now, std::memory_order_relaxed);
  own.count.store(count, std::memory_order_release);
}

void CountCallsOf(const CallSource& source) { call_source = &source; }
const CallSource* TheCallSource() { return call_source; }

bool IsListening() { return is_listening.load(std::memory_order_relaxed); }
void Listen(bool on) { is_listening.store(on, std::memory_order_relaxed); }

void ChooseCounted(uint32_t function) { counted_function.store(function, std::memory_order_relaxed); }
void BeginCount() { counting.store(++counts, std::memory_order_relaxed); }
void EndCount() { counting.store(0, std::memory_order_relaxed); }

WorkCount ReadCount() {
  const uint32_t count = counting.load(std::memory_order_relaxed);
  WorkCount sum;
  uint64_t first = ~0ull, last = 0;
  ForEachLog([&](ThreadLog* log) {
    const CountedCalls& own = log->counted;
    if (count == 0 || own.count.load(std::memory_order_acquire) != count) return;
    sum.calls += own.calls.load(std::memory_order_relaxed);
    ++sum.threads;
    const uint64_t from = own.first.load(std::memory_order_relaxed), to = own.last.load(std::memory_order_relaxed);
    if (from < first) first = from;
    if (to > last) last = to;
  });
  if (first < last) sum.span_ns = StampClock().ToNs(last) - StampClock().ToNs(first);
  return sum;
}

void ResetWorkCount() {
  counted_function.store(0, std::memory_order_relaxed);
  EndCount();
  Listen(false);
}

}  // namespace gprof::tracer
