// Which processes have written to a trace: those that the tracer is in.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace gprof {

struct TraceWriters {
  std::set<std::pair<pid_t, uint64_t>> processes;  // pid, and when it began in ticks
  uint64_t first_ns = UINT64_MAX, last_ns = 0;     // of their records; first behind last where none has a time
};

// By the headers of its chunks, as far as they follow each other.
TraceWriters WritersOf(const std::string& path);

}  // namespace gprof
