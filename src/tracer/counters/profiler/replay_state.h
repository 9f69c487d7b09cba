// Application replay: the program runs once for each pass, and what one run has counted of a launch lies in a file,
// with which the next one goes on. A launch is the same in another run by its kernel, grid and block, by how many such
// launches came before it, and by the process that it is of.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tracer/counters/request/launch_filter.h"

namespace gprof::tracer {

// What the profiler wants to know for the next pass.
struct PassState {
  uint64_t index = 0;
  uint16_t nesting_level = 1;
  bool are_all_made = false;  // of the launch
};

// What was counted. `plan`: a number that says of what.
struct CounterImage {
  uint64_t plan = 0;
  uint8_t* bytes = nullptr;
  std::size_t size = 0;
};

// A name for the launch that all runs have for it, never 0. To be asked once for each launch, whether it is measured or
// not. [one thread at a time]
uint64_t ReplayNameOf(const Launch& launch);

// In the first run the filter chooses. Later runs measure what that one has measured, in whatever order threads come to
// the filter now: what it would choose beyond that is said, as the program is not the same in each run then.
// [one thread at a time]
Choice ChooseReplayed(uint64_t name, const Launch& launch, Choice by_filter);

// Of a launch in this run: false when a run in between did not have it. In the first run there is nothing to read.
// [one thread at a time]
bool LoadReplayed(uint64_t name, const CounterImage& image, PassState* pass);
// False: it could not be written, and a notice says so. [one thread at a time]
bool SaveReplayed(uint64_t name, const Launch& launch, const CounterImage& image, const PassState& pass);

// Tells the launcher how often the program has to run.
void TellPasses(uint32_t passes);

void ForgetReplayAfterFork();

}  // namespace gprof::tracer
