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

 private:
  std::vector<Interval> loads_;  // calls of programs that load code, in the order of the trace
};

}  // namespace gprof
