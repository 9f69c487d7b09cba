// What is to be delayed, as the launcher has planned it (include/gprof/trace/delay_request.h).
#pragma once

#include <cstdint>

#include "gprof/trace/delay_request.h"
#include "gprof/trace/record.h"

namespace gprof::tracer {

enum class Delayed : uint8_t { kLaunches, kSync, kCopies, kApi, kRange, kKernel, kLine };

struct DelayedThing {
  Delayed what{};
  const char* name = "";     // "range:load"
  const char* pattern = "";  // "load"
  uint32_t delays_ns[trace::delay_request::kMostDelays] = {};
  uint32_t delays = 0;
  uint64_t symbols[trace::delay_request::kMostSymbols] = {};  // hashes, of frames where it is a line
  uint32_t symbol_count = 0;
};

struct DelayPlan {
  uint64_t seed = 1, window_ns = 100'000'000;
  DelayedThing things[trace::delay_request::kMostThings];
  uint32_t count = 0;

  bool Has(Delayed what) const;
  uint32_t Steps() const;  // pairs of a thing and a delay
};

// Null: nothing is to be delayed, or the file cannot be read. Read once. [starting thread]
const DelayPlan* ReadDelayPlan();
// The same for a capture of a program that was attached to, each of which may have a plan of its own. Nothing is
// delayed meanwhile; threads may have the plan before in hand, which stays as it is until the next but one. [one at a
// time]
const DelayPlan* ReadNextDelayPlan();
// Null before it was read. [any thread]
const DelayPlan* TheDelayPlan();
// Whether there may be a plan, now or with a later capture.
bool MayDelay();

// A trailing * stands for any ending.
bool MatchesPattern(const char* pattern, const char* text, uint64_t size);

}  // namespace gprof::tracer
