// For commands whose threads ask for much memory in small pieces at the same time.
#pragma once

namespace gprof {

// Threads get memory from areas of their own: with the one of KeepFreedMemory (process_memory.h) they wait for each
// other. What one has freed is not there for the others. After KeepFreedMemory, before there is a second thread.
void SeparateMemoryOfThreads();

}  // namespace gprof
