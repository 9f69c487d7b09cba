#include "tracer/core/exit_hold.h"

#include <stdlib.h>
#include <time.h>

#include <atomic>

#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

// CUPTI takes some 20 ms. Where it hangs, the program ends all the same.
constexpr uint64_t kPatienceNs = 2'000'000'000;

enum class Stage : uint32_t { kNothing, kStarting, kStarted, kExiting };
constinit std::atomic<Stage> stage{Stage::kNothing};

}  // namespace

// As a handler at the exit it comes before that of the driver, which was registered earlier.
void WaitForStartBesideProgram() {
  Stage expected = Stage::kNothing;
  if (stage.compare_exchange_strong(expected, Stage::kExiting)) return;
  const uint64_t until_ns = MonotonicNs() + kPatienceNs;
  const timespec pause = {0, 1'000'000};
  while (stage.load() == Stage::kStarting && MonotonicNs() < until_ns) nanosleep(&pause, nullptr);
}

bool BeginStartBesideProgram() {
  static std::atomic<bool> is_held{false};
  if (!is_held.exchange(true) && atexit(WaitForStartBesideProgram) != 0) return false;
  Stage expected = Stage::kNothing;
  return stage.compare_exchange_strong(expected, Stage::kStarting);
}

void EndStartBesideProgram() { stage.store(Stage::kStarted); }
void ForgetStartBesideProgram() { stage.store(Stage::kNothing); }

}  // namespace gprof::tracer
