// Memory that outlives the process. What the tracer has recorded and not yet written lies in a file in shared memory
// (include/gprof/trace/run_folder.h): when the process dies at any instruction, the launcher runs this library on that
// file and the trace is finished from there (salvage_entry.cpp).
//
// Two things live in it: the blocks that KeepMemory() hands out, and every static variable marked GPROF_IN_ARENA. Those
// are collected in one section of the library, over which the file is mapped at the start. Salvage maps the blocks at
// the address that they had and the section over its own, so that code finds everything as it was left. So:
//   * a variable that conversion or writing needs, and that is not known again from the environment, is GPROF_IN_ARENA;
//   * it points into kept memory or nowhere: never to code, to other statics, or to memory of the target;
//   * what is interrupted half-way must be found sound: publish with one store, last.
// Where there is no folder, no room or no permission, the memory is private: all works but salvage.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gprof/trace/run_folder.h"

#define GPROF_IN_ARENA __attribute__((section("gprof_arena")))

namespace gprof::tracer {

// Names are what a forked child keeps of its parent: it may use handles that the parent was given.
enum class Region : uint32_t { kNames, kRows };

// Of a file system as large as this, what is never taken: the program may need shared memory itself, of which a
// container gives 64 MB as a rule. A disk that is three quarters full has room all the same.
inline constexpr uint64_t BytesLeftToProgram(uint64_t all_bytes) {
  constexpr uint64_t kMostBytes = 1u << 30;
  return all_bytes / 4 < kMostBytes ? all_bytes / 4 : kMostBytes;
}

// Before anything else of the tracer's is touched; in the child of a fork, before anything is touched again.
void OpenArena();

// Zeroed, never given back; null without memory. `alignment` is a power of two. [any thread]
void* KeepMemory(std::size_t bytes, Region region, std::size_t alignment = 64);

// In the child of a fork: whether all names of the parent are in the copy.
bool NamesAreWhole();

trace::ArenaHeader& Header();
// Whether the launcher can see what is in it.
bool IsArenaShared();

// Holds an flock on the file from the calling thread's descriptor table, for as long as that lives. [writer thread]
void LockArena();
// Everything is in the trace, or `leaves_rest` for the launcher to add. [writer thread]
void FinishArena(bool leaves_rest);

// ---- in a launcher's helper process ----

extern bool is_salvage;
// 0, or an errno value.
int AdoptArena(int descriptor);
// Where something lies here that lay there in the dead process: kept memory at the same place, the section's variables
// at ours. Null for anything else.
void* Relocated(void* at);
// False for memory that was private to the dead process, or whatever else a damaged pointer points to.
bool IsKept(const void* at, std::size_t bytes);

}  // namespace gprof::tracer
