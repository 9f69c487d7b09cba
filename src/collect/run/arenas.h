// The headers of the arenas of a run (gprof/trace/run_folder.h), as collectors read them: which processes the tracer is
// in, and which of their threads it has rows of.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gprof {

struct TracedProcess {
  pid_t pid = 0;
  int64_t start_ticks = 0;
  bool is_recording = false;
  std::vector<pid_t> threads;  // that launch work or have ranges, living or not
  std::string path;            // of its arena
  uint32_t sample_page = 0;    // as its header has it
};

// What a process left that has died is among them.
std::vector<TracedProcess> TracedProcessesIn(const std::string& run_folder);

}  // namespace gprof
