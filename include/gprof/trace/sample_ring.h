// Samples of the program's threads that the tracer took by a signal (src/tracer/samples), as the collector of CPU
// samples reads them from the arena of the process: a ring of slots, each with the registers of a thread and the upper
// end of its stack. The reader writes nothing into it; who comes too late finds that newer samples are there.
#pragma once

#include <atomic>
#include <cstdint>

namespace gprof::trace {

inline constexpr uint32_t kRingPageBytes = 4096;  // the ring begins at a page of the arena (ArenaHeader::sample_page)
inline constexpr uint32_t kMostSampleRegisters = 34;

struct SampleRing {
  std::atomic<uint64_t> next;  // number of the next sample
  std::atomic<uint64_t> lost;  // that had no slot
  uint32_t slots, slot_bytes;
  uint32_t reserved[10];
};
static_assert(sizeof(SampleRing) == 64);

// Sample `n` is in slot n % slots, which begins behind the ring.
struct SampleSlot {
  std::atomic<uint64_t> turn;             // 2 n + 1: is being written, 2 n + 2: is there
  uint64_t time_ns;                       // CLOCK_MONOTONIC
  uint64_t weight_ns;                     // CPU time of the thread since its last sample
  uint32_t tid, cpu;                      // cpu: its number + 1
  uint32_t registers;                     // how many there are
  uint32_t stack_bytes;                   // that follow the slot, from the stack pointer on
  uint64_t values[kMostSampleRegisters];  // by DWARF's numbers; the address of the instruction is the last one
};
static_assert(sizeof(SampleSlot) == 40 + 8 * kMostSampleRegisters);

constexpr uint64_t TurnOf(uint64_t sample, bool is_there) { return 2 * sample + (is_there ? 2 : 1); }

}  // namespace gprof::trace
