// Between captures CUPTI goes on to record some work (activity_kinds.h). What was launched there is left out: the calls
// of a capture say which correlation ids are its own, because CUPTI counts them up.
#pragma once

#include <atomic>
#include <cstdint>

namespace gprof::tracer {

// How many pauses there were before this capture. Threads note their first call of each.
extern constinit std::atomic<uint32_t> pauses_before;
inline uint32_t PausesBefore() { return pauses_before.load(std::memory_order_relaxed); }
void NoteFirstCall(uint32_t correlation);

// When no call is recorded any more, and before one is again. [one thread at a time]
void BeginPause();
void EndPause();
void ForgetPauses();

// Of work: by the call that launched it; of what has none (0) by its time. [writer thread, or salvage]
bool IsOfPause(uint32_t correlation, uint64_t start_ns);

}  // namespace gprof::tracer
