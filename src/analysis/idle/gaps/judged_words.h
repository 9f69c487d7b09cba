// How findings say which part of a run they judge.
#pragma once

#include <string>

namespace gprof {

// Behind a time, for the step of a steady time: " after warm-up", " in the \"epoch/step\" iterations".
inline std::string WhenOf(const std::string& step) {
  return step.empty() ? " after warm-up" : " in the \"" + step + "\" iterations";
}

}  // namespace gprof
