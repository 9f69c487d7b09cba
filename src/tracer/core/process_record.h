// Who this process is: its record in the trace.
#pragma once

#include "gprof/trace/record.h"
#include "gprof/trace/run_folder.h"
#include "tracer/core/collectors.h"

namespace gprof::tracer {

// Looks up everything that can be known without CUDA. [writer thread]
void SetOwnProcess(bool is_forked);
// Said by whoever uses CUPTI, perhaps long after the first NVTX call; the record is then told again.
struct UsedCupti {
  trace::StringId path;
  uint32_t version = 0, driver_version = 0;
};
void SetUsedCupti(const UsedCupti& used);
bool ProcessHasCupti();

// [salvage] Whether the process came as far as SetOwnProcess, and what is known where it did not.
bool IsOwnProcessKnown();
void TakeOwnProcessFrom(const trace::ArenaHeader& header);

trace::StringId ThreadName(uint32_t tid);

void RetellProcess();
void TellProcess(DrainRound* round);
void ResetProcessAfterFork();

inline constexpr Collector kProcessCollector = {
    .retell = RetellProcess,
    .drain = TellProcess,
    .salvage = TellProcess,
    .reset = ResetProcessAfterFork,
};

// Which of the processes of a parallel job this one is, as its starter says in the environment.
void FillRank(trace::ProcessRecord* process);

}  // namespace gprof::tracer
