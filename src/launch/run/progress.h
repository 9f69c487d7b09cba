// How far the processes of a run have followed what the control page says.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "launch/salvage/run_folder_files.h"

namespace gprof {

struct Progress {
  std::size_t living = 0;     // processes of the program with an arena
  std::size_t done = 0;       // of those, that have carried the order out
  std::size_t recording = 0;  // of those, that record
  bool collectors_are_done = true;
  bool IsComplete() const { return done == living && collectors_are_done; }
};
Progress ProgressOf(const RunFolder& folder, uint32_t epoch);

// Sends `signal` to the program and to every process of the run that is being traced.
void SignalProgram(const RunFolder& folder, pid_t program, int signal);

}  // namespace gprof
