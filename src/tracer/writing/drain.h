// What the writer thread does with the collectors, from the begin of a trace to its end.
#pragma once

#include <cstdint>

#include "tracer/core/collectors.h"
#include "tracer/core/notice.h"

namespace gprof::tracer {

// Everything known about the process is written. `may_move`: the trace may go on in another file. [writer thread]
void StartTrace(bool is_forked, bool may_move);
// The trace goes on in another file, as if the process had begun. [writer thread]
void StartOutput();

// One round of all collectors; what is not only kReady is written to the file. [writer thread, or whoever writes the
// end]
DrainRound Drain(Depth depth, uint32_t look = 0);
// All that is left and the end record. [the same]
void WriteEnd();
// The capture is over, and all of it is in the file. `round`: the one that found nothing more. [writer thread]
void WriteStopped(DrainRound round);

// The trace of a process that is not recorded, and why. [any thread, before anything has started]
void WriteRefusal(const Message& why);

// [salvage] Takes over from a process that was interrupted anywhere, and writes everything there is.
void SalvageTrace(uint64_t died_ns);

}  // namespace gprof::tracer
