#include "tracer/capture/delay_windows.h"

#include "tracer/store/chunk_output.h"
#include "tracer/store/interned_names.h"
#include "tracer/system/settings.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {

constinit std::atomic<uint64_t> delay_now{0};

namespace {

constinit std::atomic<uint64_t> instances{0}, inserted_ns{0};  // of this window

constexpr uint32_t kMostSteps = trace::delay_request::kMostThings * trace::delay_request::kMostDelays;

// Which thing, and by how much; every step comes once in a round, in an order that is drawn anew for each.
struct Step {
  uint32_t thing = 0;
  uint32_t delay_ns = 0;
};

class Rounds {
 public:
  void Begin(const DelayPlan& wanted) {
    random_ = wanted.seed * 2 + 1;
    count_ = next_ = 0;
    for (uint32_t thing = 0; thing < wanted.count; ++thing) {
      for (uint32_t i = 0; i < wanted.things[thing].delays; ++i)
        steps_[count_++] = {thing, wanted.things[thing].delays_ns[i]};
    }
  }
  Step Next() {
    if (next_ == 0) Shuffle();
    const Step step = steps_[next_];
    next_ = (next_ + 1) % count_;
    return step;
  }

 private:
  void Shuffle() {
    for (uint32_t left = count_; left > 1; --left) {
      const uint32_t at = static_cast<uint32_t>(Random() % left);
      const Step step = steps_[at];
      steps_[at] = steps_[left - 1];
      steps_[left - 1] = step;
    }
  }
  // xorshift64*, whose upper half is good enough for an order.
  uint64_t Random() {
    random_ ^= random_ >> 12;
    random_ ^= random_ << 25;
    random_ ^= random_ >> 27;
    return random_ * 0x2545f4914f6cdd1dull >> 32;
  }

  Step steps_[kMostSteps];
  uint32_t count_ = 0, next_ = 0;
  uint64_t random_ = 1;
};

Rounds rounds;
uint64_t delayed_since_ns = 0;
uint32_t windows_told = 0;
bool are_windows_on = true;  // not between two captures

void BeginWindow(uint64_t what) {
  instances.store(0, std::memory_order_relaxed);
  inserted_ns.store(0, std::memory_order_relaxed);
  delayed_since_ns = MonotonicNs();
  delay_now.store(what, std::memory_order_relaxed);
}

void BeginPlan(const DelayPlan& plan) {
  rounds.Begin(plan);
  windows_told = 0;
  BeginWindow(0);
}

void WriteWindow() {
  const DelayNow now = CurrentDelay();
  trace::DelayWindowRecord record;
  record.start_ns = delayed_since_ns;
  record.duration_ns = MonotonicNs() - delayed_since_ns;
  record.number = ++windows_told;
  if (now.thing != nullptr) record.thing = Names().Intern(now.thing->name);
  record.delay_ns = now.delay_ns;
  record.instances = instances.load(std::memory_order_relaxed);
  record.inserted_ns = inserted_ns.load(std::memory_order_relaxed);
  Output().Add(record);
}

}  // namespace

void WaitHere(uint64_t delay_ns) {
  CountDelayed();
  if (delay_ns == 0) return;
  const uint64_t from_ns = MonotonicNs();
  uint64_t waited_ns = 0;
  while (waited_ns < delay_ns) waited_ns = MonotonicNs() - from_ns;
  inserted_ns.fetch_add(waited_ns, std::memory_order_relaxed);
}

void CountDelayed() { instances.fetch_add(1, std::memory_order_relaxed); }

void DelayRange(uint32_t id, const char* text, uint64_t size) {
  const DelayNow now = CurrentDelay();
  if (now.thing == nullptr || now.thing->what != Delayed::kRange) return;
  if (id != 0) {
    const trace::Text name = Names().TextOf({id});
    text = name.data;
    size = name.size;
  }
  if (text != nullptr && MatchesPattern(now.thing->pattern, text, size)) WaitHere(now.delay_ns);
}

// Handlers are chosen before collectors of a later line start.
bool DelaysRanges() {
  if (IsAttached() && MayDelay()) return true;
  const DelayPlan* plan = ReadDelayPlan();
  return plan != nullptr && plan->Has(Delayed::kRange);
}

uint64_t DelayWindowLeftNs() {
  if (TheDelayPlan() == nullptr || !are_windows_on) return ~0ull;
  const uint64_t end_ns = delayed_since_ns + TheDelayPlan()->window_ns, now = MonotonicNs();
  return end_ns > now ? end_ns - now : 0;
}

// Every other window is one without delays, with which its neighbours are compared.
void CarryOutDelayWindow() {
  if (DelayWindowLeftNs() > 0) return;
  WriteWindow();
  if (CurrentDelay().thing != nullptr) return BeginWindow(0);
  const Step step = rounds.Next();
  BeginWindow(uint64_t{step.thing + 1} << kDelayBits | step.delay_ns);
}

void StartDelays() {
  const DelayPlan* plan = ReadDelayPlan();
  if (plan != nullptr) BeginPlan(*plan);
}

void SwitchDelays(bool on) {
  if (!IsAttached() || !MayDelay()) return;
  delay_now.store(0, std::memory_order_relaxed);
  const DelayPlan* plan = ReadNextDelayPlan();
  if (on && plan != nullptr) BeginPlan(*plan);
  are_windows_on = on;
}

void ResetDelaysAfterFork() { delay_now.store(0, std::memory_order_relaxed); }

}  // namespace gprof::tracer
