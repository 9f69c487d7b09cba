#include "tracer/capture/delayed_stacks.h"

#include <atomic>

#include "tracer/system/system_calls.h"

namespace gprof::tracer {

constinit bool has_delayed_lines = false;

namespace {

// By number, a bit for each thing of the plan. Stacks of higher numbers are not delayed.
constexpr uint32_t kMostStacks = 1u << 20;
std::atomic<uint16_t>* things_of_stack = nullptr;
static_assert(trace::delay_request::kMostThings <= 16);

bool HasFrame(const DelayedThing& thing, uint64_t hash) {
  for (uint32_t i = 0; i < thing.symbol_count; ++i) {
    if (thing.symbols[i] == hash) return true;
  }
  return false;
}

}  // namespace

void StartDelayedStacks() {
  const DelayPlan* const plan = ReadDelayPlan();
  if (plan == nullptr || !plan->Has(Delayed::kLine)) return;
  if (things_of_stack == nullptr)
    things_of_stack = static_cast<std::atomic<uint16_t>*>(MapMemory(kMostStacks * sizeof *things_of_stack));
  has_delayed_lines = things_of_stack != nullptr;
}

void NoteStackForDelays(uint32_t stack, uint32_t parent, uint64_t frame_hash) {
  if (!has_delayed_lines || stack >= kMostStacks) return;
  uint16_t things = parent < kMostStacks ? things_of_stack[parent].load(std::memory_order_relaxed) : uint16_t{0};
  const DelayPlan& plan = *TheDelayPlan();
  for (uint32_t i = 0; i < plan.count; ++i) {
    if (plan.things[i].what == Delayed::kLine && HasFrame(plan.things[i], frame_hash))
      things = static_cast<uint16_t>(things | 1u << i);
  }
  things_of_stack[stack].store(things, std::memory_order_relaxed);
}

void DelayCallFrom(uint32_t stack) {
  if (!has_delayed_lines || stack >= kMostStacks) return;
  const DelayNow now = CurrentDelay();
  if (now.thing == nullptr || now.thing->what != Delayed::kLine) return;
  const auto thing = static_cast<uint32_t>(now.thing - TheDelayPlan()->things);
  if ((things_of_stack[stack].load(std::memory_order_relaxed) >> thing & 1) != 0) WaitHere(now.delay_ns);
}

}  // namespace gprof::tracer
