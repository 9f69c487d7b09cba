// Semaphores and futexes that several processes share, by a number that is the same in all of them: they have different
// addresses for the same memory.
#pragma once

#include <semaphore.h>

#include <cstdint>

namespace gprof::tracer {

// glibc has it there since 2.21: 0 for one that belongs to its process alone.
inline bool IsShared(const sem_t* semaphore) { return reinterpret_cast<const int*>(semaphore)[2] != 0; }

// Which part of which file or shared memory lies at the address; kNoEnd where that is not known, or nothing that can be
// shared. Asks the kernel once for each address. [any thread]
uint64_t EndOfMemory(uintptr_t address);
// The semaphore was opened by that name, under which there may be none the next moment.
void RememberNamedSemaphore(const sem_t* semaphore, const char* name);

}  // namespace gprof::tracer
