// The thread that turns what was collected into chunks of the trace, round by round, and does what the launcher orders.
#pragma once

#include <cstdint>

namespace gprof::tracer {

// Starts it and waits until it is on its own, a tenth of a second at most. Where there can be none, whoever asks does
// its work. [starting thread]
void StartWriterThread(bool is_forked);
// A process that starts within a capture records from its first event. [starting thread, before the writer's]
void CarryOutFirstOrder();
void ResetWriterThreadAfterFork();
// After it was asked to end.
void WaitUntilWriterHasLeft();

// Whether the calling thread is that one, which has no descriptors of the target's.
bool IsWriterThread();
// [any thread] Something waits that should not wait until the next flush.
void WakeWriter();

// What it is asked for, besides its rounds.
enum class Request : uint32_t { kNone, kFlush, kLastFlush, kEnd };
// Has the writer thread do it and waits; without one the caller does it.
void Ask(Request what);

}  // namespace gprof::tracer
