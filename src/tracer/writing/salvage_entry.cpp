// What the launcher calls in a process of its own, when a traced one is dead: the memory that it left is mapped where
// it was, and the collectors do once more what they do at every end of a process.
#include <errno.h>

#include "tracer/core/entry_points.h"
#include "tracer/store/chunk_output.h"
#include "tracer/store/memory/arena.h"
#include "tracer/writing/drain.h"

GPROF_EXPORT int GprofSalvage(int arena, uint64_t died_ns, int trace) {
  using namespace gprof::tracer;
  const int error = AdoptArena(arena);
  if (error != 0) return error;
  if (Header().state.load(std::memory_order_acquire) == static_cast<uint32_t>(gprof::trace::ArenaState::kFinished))
    return 0;
  SetTraceOfSalvage(trace);
  SalvageTrace(died_ns);
  if (Output().last_error() != 0) return Output().last_error();
  Header().state.store(static_cast<uint32_t>(gprof::trace::ArenaState::kFinished), std::memory_order_release);
  return 0;
}
