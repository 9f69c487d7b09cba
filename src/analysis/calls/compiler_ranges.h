// When a compiler that tells NVTX of its work compiled for a program.
#pragma once

#include <cstdint>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// XLA opens a range while it compiles a program, on the thread that asked for it and on those that help.
class CompilerRanges {
 public:
  explicit CompilerRanges(const Trace& trace);
  // When the compiler was done for the process in that time, where it worked for at least half of what came until then;
  // else the start of the time.
  int64_t DoneNs(uint32_t process, const Interval& time) const;

 private:
  struct Compile {
    uint32_t process;
    Interval time;
  };
  std::vector<Compile> compiles_;  // by process and time, without overlap
};

}  // namespace gprof
