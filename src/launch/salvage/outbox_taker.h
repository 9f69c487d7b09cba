// Adds to the trace what a process may not add itself (gprof/trace/outbox.h).
#pragma once

#include <cstdint>

#include "launch/salvage/arena_files.h"
#include "launch/salvage/run_traces.h"

namespace gprof {

struct TakenChunks {
  int error = 0;              // errno of the first chunk that is not in its trace; it stays in the outbox
  uint64_t left_records = 0;  // in chunks that are still there
};

// Called by one process at a time: the launcher, or who has the claim to the arena.
TakenChunks TakeOutbox(const Arena& arena, const RunTraces& traces);

}  // namespace gprof
