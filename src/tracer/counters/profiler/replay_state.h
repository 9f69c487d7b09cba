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
  bool are_all_made = false;
};

// A name for the launch that all runs have for it, never 0. To be asked once for each launch, whether it is measured or
// not. [one thread at a time]
uint64_t ReplayNameOf(const Launch& launch);

// Of a launch in this run: false when an earlier run has not left what this one goes on with. In the first run there is
// nothing to read. `plan`: a number that says what is counted. [one thread at a time]
bool LoadReplayed(uint64_t name, uint64_t plan, uint8_t* image, std::size_t size, PassState* pass);
// False: it could not be written, and a notice says so. [one thread at a time]
bool SaveReplayed(uint64_t name, uint64_t plan, const uint8_t* image, std::size_t size, const PassState& pass);

// Tells the launcher how often the program has to run.
void TellPasses(uint32_t passes);

void ForgetReplayAfterFork();

}  // namespace gprof::tracer
