#include "fake_arena.h"

#include <cstdlib>

namespace gprof::tracer {

FakeArena fake_arena;

bool is_salvage = false;
bool NamesAreWhole() { return fake_arena.names_are_whole; }
bool IsKept(const void* at, std::size_t) { return at != nullptr; }
void* KeepMemory(std::size_t bytes, Region, std::size_t) {
  if (fake_arena.blocks_left == 0) return nullptr;
  --fake_arena.blocks_left;
  return std::calloc(1, bytes);
}

}  // namespace gprof::tracer
