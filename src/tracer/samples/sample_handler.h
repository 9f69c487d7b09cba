// The handler of the signal that samples the thread it comes to, and the ring that it writes into.
//
// The signal is SIGURG: programs ignore it unless they say otherwise, so that one which comes too late, or to a program
// that has set all signals back, does nothing. It is set and asked for without libc, which sanitizers and others stand
// in for.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>

#include "gprof/trace/sample_ring.h"

namespace gprof::tracer {

inline constexpr int kSampleSignal = SIGURG;

// Where samples go to; null: nowhere.
extern constinit std::atomic<trace::SampleRing*> sample_ring;
// What the timers hand to the handler, by which it tells its own signals from others.
void* SampleMark();

// False: the program handles or ignores the signal itself.
bool SetHandler();
bool HandlerIsSet();
// Puts back what was there before, unless the program has put something else there.
void TakeHandlerBack();

}  // namespace gprof::tracer
