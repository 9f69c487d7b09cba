// How findings say which part of a run they judge.
#pragma once

#include <string>

#include "base/text.h"

namespace gprof {

// Behind a time, for the step of a steady time: " after warm-up", " in the \"epoch/step\" iterations". Libraries name
// ranges in hundreds of characters.
inline std::string WhenOf(const std::string& step) {
  constexpr std::size_t kLongestStepName = 64;
  return step.empty() ? " after warm-up" : " in the \"" + ShortenMiddle(step, kLongestStepName) + "\" iterations";
}

}  // namespace gprof
