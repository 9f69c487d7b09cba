// Loops that ask a stream or an event again and again whether it is done.
#pragma once

#include <cstdint>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// So many queries by one function in a row are a loop: no other CUDA call of the thread in between but those that ask
// for an error, a device or an attribute.
inline constexpr int64_t kPollsOfALoop = 10;

struct PollingSite {
  NameId function;
  uint32_t thread = kNone;
  int64_t loops = 0, calls = 0;
  int64_t time_ns = 0;  // from the first query of each loop to the end of its last
};

// In order of the threads; empty where queries are not recorded, or nobody polls.
std::vector<PollingSite> PollingOf(const Trace& trace);

}  // namespace gprof
