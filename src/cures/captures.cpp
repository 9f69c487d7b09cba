#include "cures/captures.h"

#include <atomic>

#include "cures/calls.h"
#include "cures/driver.h"

namespace gprof::cures {
namespace {

constinit std::atomic<int> captures{0};

}  // namespace

bool IsCapturing() { return captures.load(std::memory_order_relaxed) > 0; }

// Before the call: other threads may be about to do what would spoil it.
int BeginCapture(Call& call, const Words& words) {
  captures.fetch_add(1, std::memory_order_relaxed);
  const int result = call.Forward(words);
  if (result != kSuccess) captures.fetch_sub(1, std::memory_order_relaxed);
  return result;
}

// One that failed has ended, too. A capture that nobody ends leaves the program as it is.
int EndCapture(Call& call, const Words& words) {
  const int result = call.Forward(words);
  captures.fetch_sub(1, std::memory_order_relaxed);
  return result;
}

}  // namespace gprof::cures
