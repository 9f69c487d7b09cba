// What the threads that launched next did in idle time that no CUDA call explains: the parts of gaps with the causes
// `host`, `os` and `mpi`.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/facts/host/os_call_kinds.h"
#include "analysis/facts/places/sampled_functions.h"
#include "gprof/trace.h"

namespace gprof {

class AnalysisInput;

// Of the launching thread.
struct IdleInWait {
  OsCallKind kind;
  uint32_t thread = kNone;
  int64_t idle_ns = 0;
  int64_t calls = 0, bytes = 0;  // each counted once, however many gaps and GPUs it was in
};

// Of the launching thread, in one function of MPI.
struct IdleInMpi {
  NameId function;
  uint32_t thread = kNone;
  int64_t idle_ns = 0;
  int64_t calls = 0;  // each counted once
};

// A thread that could have run, and who ran in its place.
struct IdlePreempted {
  uint32_t thread = kNone;
  uint32_t by = kNone;  // kNone: a thread that was not recorded
  int64_t idle_ns = 0;
};

struct HostGaps {
  explicit HostGaps(const AnalysisInput& input);

  std::vector<IdleInWait> waits;         // cause `os`, the most idle time first
  std::vector<IdleInWait> judged_waits;  // of the time a run is judged by, without those before kernels ran first
  std::vector<IdleInMpi> mpi;            // cause `mpi`, the most idle time first
  std::vector<IdlePreempted> preempted;  // part of the cause `host`, the most idle time first
  std::vector<int64_t> preempted_ns;     // by device
  // Taken in the causes `host` and `os`, by index, in order. A thread that is sampled runs, also within a call; and
  // where the clock of a virtual machine ticks within a short call, that makes it long enough to be recorded.
  std::vector<uint32_t> samples;
  std::vector<FunctionSamples> functions;                   // of those
  std::map<NameId, std::vector<uint32_t>> samples_of_path;  // the same, by the innermost open NVTX range
  std::vector<uint32_t> python_samples;                     // of Python, also of time in which the thread waited

  int64_t PreemptedNs() const;
};

}  // namespace gprof
