// What a trace may not tell. Whoever recorded it could not see it, was not asked to, or did not keep it in the form
// that was read; what rests on it is not known, which is not the same as zero. Readers of traces declare what is
// lacking, rows of the metric catalogue what they need, and nothing else makes a metric unknown.
//
// Their names and the words for why one is lacking are in src/analysis/facts/recording/unknown_facts.cpp.
#pragma once

#include <cstdint>

namespace gprof {

enum class Fact : uint8_t {
  kOperations,     // work of a GPU
  kApiCalls,       // calls of the CUDA runtime and driver
  kResults,        // what those calls returned
  kMemoryKinds,    // whether memory on the host is pageable or pinned
  kCopySizes,      // how many bytes copies moved
  kSyncs,          // records of synchronisation: what was waited for
  kEvents,         // CUDA events recorded into streams
  kStreamsMade,    // which streams the program created
  kPriorities,     // of streams
  kMemory,         // allocations and frees
  kManagedMemory,  // migrations of managed memory
  kGpuPageFaults,  // page faults of managed memory on a GPU
  kCpuPageFaults,  // and on the host
  kNvtx,
  kShapes,         // grid, block, registers and shared memory of kernels
  kGraphNodes,     // the operations within a CUDA graph
  kGraphWork,      // what launches of CUDA graphs did, in whatever form
  kCompilations,   // just-in-time compilation
  kOverheads,      // when the recording held up the program
  kDevices,        // what the devices are able to do
  kProcessTimes,   // when processes began and ended: the trace has the time from the first record to the last
  kRecordingCost,  // what a record costs: measured for our own tracer alone
  kClocks,         // how well the clocks of host and GPU agree
  kHostLoad,       // samples of the load of the host
  kGpuMetrics,     // samples of counters of GPUs
  kOsCalls,        // calls of the operating system that took long
  kSwitches,       // when threads were off the processor
  kHostWaits,      // that threads waited in the operating system: from one of those two
  kCpuSamples,     // which code threads ran
  kMpiCalls,
  kCounters,     // kernel counters
  kGemms,        // matrix multiplications of cuBLAS with their sizes
  kWholeRun,     // the run from begin to end: recording was on in windows that the tracer chose
  kSlowDown,     // by how much recording slowed the program down, measured in the run itself
  kCollectives,  // operations of NCCL, as NCCL itself tells of them
  kOpenMp,       // constructs of OpenMP
  kOpenAcc,
  kOneTrace,  // the records of all ranks in one place: partials of several ranks have their sums
};
inline constexpr uint32_t kFactCount = static_cast<uint32_t>(Fact::kOneTrace) + 1;

// There is no default: who needs nothing says so.
class FactSet {
 public:
  constexpr FactSet(Fact fact) : bits_(uint64_t{1} << static_cast<uint32_t>(fact)) {}  // implicit
  static constexpr FactSet None() { return FactSet(uint64_t{0}); }
  static constexpr FactSet All() { return FactSet((uint64_t{1} << kFactCount) - 1); }

  constexpr bool Has(Fact fact) const { return HasAnyOf(fact); }
  constexpr bool HasAnyOf(FactSet other) const { return (bits_ & other.bits_) != 0; }
  constexpr bool IsEmpty() const { return bits_ == 0; }

  constexpr FactSet& operator|=(FactSet other) {
    bits_ |= other.bits_;
    return *this;
  }
  friend constexpr FactSet operator|(FactSet a, FactSet b) { return FactSet(a.bits_ | b.bits_); }
  friend constexpr FactSet operator&(FactSet a, FactSet b) { return FactSet(a.bits_ & b.bits_); }
  friend constexpr bool operator==(FactSet a, FactSet b) = default;

 private:
  constexpr explicit FactSet(uint64_t bits) : bits_(bits) {}

  uint64_t bits_;
};
static_assert(kFactCount < 64);

constexpr FactSet operator|(Fact a, Fact b) { return FactSet(a) | FactSet(b); }

}  // namespace gprof
