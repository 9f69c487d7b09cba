// What may hold up threads and devices whatever the program does.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/idle/causes/causes.h"
#include "gprof/trace.h"

namespace gprof {

// Time that the recording, loaders or compilers took from a thread, whatever it did by itself.
struct Interruption {
  int64_t start_ns = 0, end_ns = 0;
  Cause cause = Cause::kProfiler;
};

// One list for each thread: in order, none overlap.
std::vector<std::vector<Interruption>> InterruptionsOfThreads(const Trace& trace);

// When managed memory moved to or from each device: in order, none overlap.
std::vector<std::vector<Interval>> MigrationsOfDevices(const Trace& trace);

}  // namespace gprof
