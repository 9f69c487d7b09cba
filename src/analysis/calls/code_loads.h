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
  // Code was loaded in that time, and something else took most of it. In a program that no interpreter runs, the
  // runtime loads code by itself when a kernel is launched for the first time: what took much longer before that has
  // another reason.
  bool AreAside(const Interval& time) const;
  // When the process was done with importing modules of Python in that time; the start of the time where it read none.
  int64_t ImportedNs(uint32_t process, const Interval& time) const;

 private:
  struct Import {
    int64_t end_ns;
    uint32_t process;
  };
  struct Load {
    Interval time;
    bool is_by_itself;  // by the runtime
  };
  std::vector<Load> loads_;      // calls of programs that load code, in the order of the trace
  std::vector<Import> imports_;  // reads of modules, as they ended
};

}  // namespace gprof
