// The processes in which a DataLoader of PyTorch loads data.
#pragma once

#include <cstdint>
#include <string>

#include "gprof/trace.h"

namespace gprof {

struct LoaderWorkers {
  int64_t at_once = 0;  // the most on one machine at one time
  int64_t started = 0;  // in all: more than that where a loader starts them anew
  int64_t cores = 0;    // that the program may use there; 0: not known

  // "12 workers were started, at most 4 at a time"; empty where each was started once.
  std::string StartedAnew() const;
  // "about 8 workers would keep up, each on a core of its own.", or why so many cannot.
  std::string KeepUp(double enough) const;
};

// By the names of their threads, which older versions of PyTorch do not set: none does not mean that there are none.
LoaderWorkers LoaderWorkersOf(const Trace& trace);

}  // namespace gprof
