// When measuring held a thread of the program up, for the writer thread to tell. A small ring: what does not fit is
// left out, and the idle time behind it has another cause.
#pragma once

#include <cstdint>

namespace gprof::tracer {

// [one thread at a time]
void NoteHeldUp(uint64_t start_ns, uint64_t end_ns, uint32_t tid);
// [writer thread, or salvage]
void TellHeldUp();
void ForgetHeldUpAfterFork();

}  // namespace gprof::tracer
