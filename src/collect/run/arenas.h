// The headers of the arenas of a run (gprof/trace/run_folder.h), as collectors read them: which processes the tracer is
// in, and which of their threads it has rows of.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
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

// Which processes have written to a trace: those that the tracer is in.
struct TraceWriters {
  std::set<std::pair<pid_t, uint64_t>> processes;  // pid, and when it began in ticks
  uint64_t first_ns = UINT64_MAX, last_ns = 0;     // of their records; first behind last where none has a time
};

// By the headers of its chunks, as far as they follow each other.
TraceWriters WritersOf(const std::string& path);

}  // namespace gprof
