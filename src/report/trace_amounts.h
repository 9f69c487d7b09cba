// How much of each kind a trace has.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/registry/results.h"
#include "gprof/trace.h"

namespace gprof {

struct Amount {
  const char* key;    // in JSON
  const char* title;  // in text
  std::size_t count;
};

std::vector<Amount> AmountsOf(const Trace& trace);
std::vector<Amount> AmountsOf(const Results& results);  // of the traces that they are of
std::size_t OperationsIn(const Trace& trace);
std::size_t OperationsIn(const Results& results);

}  // namespace gprof
