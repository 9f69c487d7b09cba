// Which records a recorder may forget when they are old, and which it keeps as later ones refer to them.
#pragma once

#include <cstdint>

namespace gprof {

// What happened at some time: calls, work of the GPU, ranges, samples. Everything else says what things are called or
// how they belong together (streams, frames of stacks, nodes of graphs, modules), and is told once.
bool IsForgettable(uint16_t kind);

}  // namespace gprof
