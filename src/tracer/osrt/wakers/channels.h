// Who ends waits for pipes, sockets and eventfds, and for semaphores and futexes in memory that processes share:
// whoever writes into one or posts leaves its name in a table that the processes of the run share
// (gprof/trace/write_notes.h), and who has waited long for one looks there. Forked children, which record nothing until
// they call CUDA or NVTX, leave theirs as well.
#pragma once

#include <cstdint>

namespace gprof::tracer {

void MapWriteNotes();  // [starting thread]

// Before the write: the reader may be done before it returns.
void NoteWrite(int descriptor);
// Who has written, since the stamp, what is read from there: a thread, or a process that records nothing, by its id.
// 0: not known.
uint32_t WriterOf(int descriptor, uint64_t since_stamp);

// The same of a semaphore or futex that processes share.
void NoteSharedWake(uintptr_t address);
uint32_t SharedWakerOf(uintptr_t address, uint64_t since_stamp);

void RememberPair(int first, int second);  // of sockets
void RememberEventCounter(int descriptor);

}  // namespace gprof::tracer
