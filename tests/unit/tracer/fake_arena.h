// What lists and tables of the tracer want of the arena: memory of this process, as long as there is some.
#pragma once

#include <cstdint>

#include "tracer/store/memory/arena.h"

namespace gprof::tracer {

struct FakeArena {
  uint32_t blocks_left = ~0u;
  bool names_are_whole = true;
};
extern FakeArena fake_arena;

}  // namespace gprof::tracer
