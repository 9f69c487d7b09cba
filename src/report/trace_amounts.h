// How much of each kind a trace has.
#pragma once

#include <cstddef>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

struct Amount {
  const char* key;    // in JSON
  const char* title;  // in text
  std::size_t count;
};

// Of a partial: of the trace that it was made from.
std::vector<Amount> AmountsOf(const Trace& trace);
std::size_t OperationsIn(const Trace& trace);

}  // namespace gprof
