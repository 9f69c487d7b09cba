// Which stacks have a frame at a line whose calls are delayed: noted once, when a stack is told for the first time.
#pragma once

#include <cstdint>

#include "tracer/capture/delay_windows.h"

namespace gprof::tracer {

// Whether the plan has lines at all. [any thread]
extern constinit bool has_delayed_lines;
void StartDelayedStacks();

// `parent`: the stack that called its innermost frame, which has that hash; 0: it has none. [any thread]
void NoteStackForDelays(uint32_t stack, uint32_t parent, uint64_t frame_hash);

// A call has returned that was made with this stack: it takes longer where one of its lines is what is delayed now.
// [own thread]
void DelayCallFrom(uint32_t stack);

inline constexpr Collector kDelayedStackCollector = {.start = StartDelayedStacks};

}  // namespace gprof::tracer
