#include "tracer/cupti/calls/callback_switches.h"

#include <atomic>

#include "tracer/cupti/calls/call_counts.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kSwitchedDomains = 3, kSwitchedFunctions = 2048;

enum class State : uint8_t {
  kUntouched,  // as it was before anybody switched it
  kOn,
  kClosing,    // shall be off; a thread that enters now keeps it on
  kDisabling,  // CUPTI is being told
  kOff,
  kLingers  // shall be off, but a thread is within its function
};

constinit std::atomic<State> states[kSwitchedDomains][kSwitchedFunctions] = {};
CUpti_SubscriberHandle switched_subscriber = nullptr;

void Tell(uint32_t domain, uint32_t cbid, bool on) {
  Cupti().cuptiEnableCallback(on ? 1 : 0, switched_subscriber, static_cast<CUpti_CallbackDomain>(domain), cbid);
}

bool Change(std::atomic<State>& state, State from, State to) {
  return state.compare_exchange_strong(from, to, std::memory_order_seq_cst);
}

// The call has begun, so its exit has to come. CUPTI is told before the state says so, as other threads rely on it.
// A call that went ahead while the callback is being taken away could end just after it went off and before it is on
// again.
void KeepOn(std::atomic<State>& state, uint32_t domain, uint32_t cbid) {
  if (Change(state, State::kClosing, State::kLingers)) return;
  WaitWhile([&state] { return state.load() == State::kDisabling; }, kLongPatienceNs);
  ErrnoGuard errno_guard;
  if (state.load() == State::kOff) {
    Tell(domain, cbid, true);
    Change(state, State::kOff, State::kLingers);
  } else if (Change(state, State::kDisabling, State::kLingers)) {
    Tell(domain, cbid, true);
  }
}

// Whoever wanted the callback meanwhile may have told CUPTI before us.
void Disable(std::atomic<State>& state, uint32_t domain, uint32_t cbid) {
  Tell(domain, cbid, false);
  if (!Change(state, State::kDisabling, State::kOff)) Tell(domain, cbid, true);
}

// The functions that threads are within.
struct FunctionSet {
  uint64_t bits[kSwitchedDomains][kSwitchedFunctions / 64] = {};
  void Add(uint32_t number) { bits[number >> 16][(number & 0xffffu) / 64] |= uint64_t{1} << number % 64; }
  bool Has(uint32_t domain, uint32_t cbid) const { return (bits[domain][cbid / 64] >> cbid % 64 & 1) != 0; }
};

FunctionSet FunctionsEntered() {
  FunctionSet set;
  ForEachLog([&set](ThreadLog* log) {
    for (const auto& function : log->entered.functions) {
      const uint32_t number = function.load(std::memory_order_acquire);
      if (number != 0) set.Add(number);
    }
  });
  return set;
}

template <class F>
void ForEachFunction(F&& f) {
  for (uint32_t domain = 1; domain < kSwitchedDomains; ++domain) {
    for (uint32_t cbid = 1; cbid < kSwitchedFunctions; ++cbid) f(domain, cbid, states[domain][cbid]);
  }
}

// A thread that found a function on has said by then that it is within it: no store waits for so long.
void LetStoresArrive() {
  constexpr uint64_t kPauseNs = 10000;
  for (const uint64_t end = MonotonicNs() + kPauseNs; MonotonicNs() < end;) {
  }
}

}  // namespace

void SetCallbackSubscriber(CUpti_SubscriberHandle handle) { switched_subscriber = handle; }

void EnterFunction(ThreadLog* log, uint32_t domain, uint32_t cbid) {
  EnteredFunctions& entered = log->entered;
  if (entered.depth < EnteredFunctions::kDepth) {
    entered.functions[entered.depth].store(FunctionNumber(domain, cbid), std::memory_order_release);
  }
  ++entered.depth;
  std::atomic<State>& state = states[domain][cbid];
  const State now = state.load(std::memory_order_relaxed);
  if (__builtin_expect(now == State::kClosing || now == State::kDisabling || now == State::kOff, 0)) {
    KeepOn(state, domain, cbid);
  }
}

// What was entered within it and never left (a longjmp, an exception) goes with it; what was entered before its
// callback was on is not there.
void LeaveFunction(ThreadLog* log, uint32_t domain, uint32_t cbid) {
  EnteredFunctions& entered = log->entered;
  if (entered.depth > EnteredFunctions::kDepth) {
    --entered.depth;
    return;
  }
  for (uint32_t depth = entered.depth; depth-- > 0;) {
    if (entered.functions[depth].load(std::memory_order_relaxed) != FunctionNumber(domain, cbid)) continue;
    while (entered.depth > depth) entered.functions[--entered.depth].store(0, std::memory_order_release);
    return;
  }
}

void SwitchCallbackOn(uint32_t domain, uint32_t cbid) {
  states[domain][cbid].store(State::kOn);
  Tell(domain, cbid, true);
}

void SwitchCallbackOff(uint32_t domain, uint32_t cbid) { states[domain][cbid].store(State::kClosing); }

bool FinishSwitchingOff() {
  ForEachFunction(
      [](uint32_t, uint32_t, std::atomic<State>& state) { Change(state, State::kLingers, State::kClosing); });
  LetStoresArrive();
  const FunctionSet entered = FunctionsEntered();
  bool is_done = true;
  ForEachFunction([&](uint32_t domain, uint32_t cbid, std::atomic<State>& state) {
    if (entered.Has(domain, cbid)) {
      Change(state, State::kClosing, State::kLingers);
    } else if (Change(state, State::kClosing, State::kDisabling)) {
      Disable(state, domain, cbid);
    }
    is_done = is_done && state.load() != State::kLingers;
  });
  return is_done;
}

}  // namespace gprof::tracer
