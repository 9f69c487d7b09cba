// When a program handed code to the driver.
#pragma once

#include <cstdint>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

class CallFacts;

class CodeLoads {
 public:
  CodeLoads(const Trace& trace, const CallFacts& calls);
  // Whether kernels may have been compiled in that time: their code would have been loaded in it. A capture without
  // such calls does not tell.
  bool MayBeIn(const Interval& time) const;
  // When the process was done with importing modules of Python in that time; the start of the time where it read none.
  int64_t ImportedNs(uint32_t process, const Interval& time) const;

 private:
  struct Import {
    int64_t end_ns;
    uint32_t process;
  };
  std::vector<Interval> loads_;  // calls of programs that load code, in the order of the trace
  std::vector<Import> imports_;  // reads of modules, as they ended
};

}  // namespace gprof
