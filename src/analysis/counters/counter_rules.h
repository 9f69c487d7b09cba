// Rules: what limits a kernel, by its counters, and what could be won at most.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/counters/counter_groups.h"

namespace gprof {

struct Diagnosis {
  std::string_view finding;  // kernel.uncoalesced, …
  double percent = 0;        // of the kernel's time, at most; 0: there is no estimate
  std::string message;       // what is the case, with numbers; the name of the kernel stands before it
  bool is_cause = true;      // not only where the time goes
};

// The one to begin with first, at most three: causes before what only says where the time goes.
std::vector<Diagnosis> DiagnosesOf(const KernelCounters& kernel, const trace::DeviceRecord* device);

}  // namespace gprof
