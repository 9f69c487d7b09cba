#include "tracer/cupti/activity/pauses.h"

#include "tracer/store/clock.h"
#include "tracer/store/memory/arena.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {

constinit std::atomic<uint32_t> pauses_before{0};

namespace {

struct Pause {
  std::atomic<uint64_t> from_ns, to_ns;            // to 0: it lasts
  std::atomic<uint32_t> last_before, first_after;  // correlation ids; 0: no call yet
};
constexpr uint32_t kPauses = 256;  // the last ones: what CUPTI has to say of those before was said long ago
Pause pauses[kPauses] GPROF_IN_ARENA = {};
std::atomic<uint32_t> count GPROF_IN_ARENA{0};

Pause& PauseOf(uint32_t number) { return pauses[number % kPauses]; }

// Ids go round.
bool IsBefore(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) < 0; }

uint32_t LastCorrelation() {
  uint32_t last = 0;
  ForEachLog([&last](ThreadLog* log) {
    const uint32_t correlation = log->open_call.in_window;
    if (correlation != 0 && (last == 0 || IsBefore(last, correlation))) last = correlation;
  });
  return last;
}

}  // namespace

void NoteFirstCall(uint32_t correlation) {
  const uint32_t number = count.load(std::memory_order_relaxed);
  if (number == 0) return;
  std::atomic<uint32_t>& first = PauseOf(number - 1).first_after;
  uint32_t known = first.load();
  while ((known == 0 || IsBefore(correlation, known)) && !first.compare_exchange_weak(known, correlation)) {
  }
}

void BeginPause() {
  const uint32_t number = count.load(std::memory_order_relaxed), last = LastCorrelation();
  // A capture without a call: the pause before it goes on, as far as ids can tell.
  if (number != 0 && PauseOf(number - 1).first_after == 0) PauseOf(number - 1).first_after = last + 1;
  Pause& pause = PauseOf(number);
  pause.last_before.store(last);
  pause.first_after.store(0);
  pause.to_ns.store(0);
  pause.from_ns.store(MonotonicNs());
  count.store(number + 1, std::memory_order_release);
}

void EndPause() {
  const uint32_t number = count.load(std::memory_order_relaxed);
  if (number == 0 || PauseOf(number - 1).to_ns != 0) return;
  PauseOf(number - 1).to_ns.store(MonotonicNs());
  pauses_before.store(number, std::memory_order_release);
}

void ForgetPauses() {
  count.store(0);
  pauses_before.store(0);
}

bool IsOfPause(uint32_t correlation, uint64_t start_ns) {
  const uint32_t number = count.load(std::memory_order_acquire);
  for (uint32_t i = number; i-- > 0 && number - i <= kPauses;) {
    const Pause& pause = PauseOf(i);
    const uint32_t first_after = pause.first_after;
    const uint64_t to_ns = pause.to_ns;
    if (correlation != 0 && IsBefore(pause.last_before, correlation))
      return first_after == 0 || IsBefore(correlation, first_after);
    if (correlation == 0 && pause.from_ns <= start_ns) return to_ns == 0 || start_ns < to_ns;
  }
  return false;
}

}  // namespace gprof::tracer
