// Processes of a run that live on when its program has ended.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace gprof {

// What the processes of a run are told by.
struct RunMarks {
  std::string folder;  // the run folder; empty: there is none
  std::string run_id;  // as in the environment; empty in a session
};

// Those that have an arena, and those whose environment is of the run: one of them may come to record later. Processes
// of other users, whose environment we may not read, are known by their arena alone.
std::vector<pid_t> RemainingProcesses(const RunMarks& marks);

// "process 123 (server) of the run lives on", "process 123 (server) and 2 more of the run live on"
std::string Describe(const std::vector<pid_t>& remaining);

}  // namespace gprof
