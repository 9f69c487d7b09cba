// How results write stacks of calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// "main", "libc.so.6+0x29d90", "train.<locals>.step (train.py:12)"; functions that were inlined there are behind it,
// after semicolons.
std::string FrameName(const Trace& trace, uint32_t frame);

// Stacks as text, the outermost frame first: "main;train;step". What is asked for again is kept.
class StackNames {
 public:
  explicit StackNames(const Trace& trace) : trace_(trace) {}
  const std::string& operator()(uint32_t stack);  // empty for kNone

 private:
  const Trace& trace_;
  std::vector<std::string> frames_, stacks_;  // by index, empty for what was not asked for
};

}  // namespace gprof
