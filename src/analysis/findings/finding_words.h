// How findings are worded: a short message, and lines of evidence for the rest.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "gprof/analysis.h"

namespace gprof {

inline constexpr std::size_t kLongestMessage = 160;  // characters: two lines of a terminal

// A name of a range, a thread or a file as a message has it: names come from programs, and may be of any length.
std::string InMessage(std::string_view name);

// Behind a time, for the step of a steady time: " after warm-up", " in the \"epoch/step\" iterations". Libraries name
// ranges in hundreds of characters.
std::string WhenOf(const std::string& step);

// "12.3% of the time after warm-up (1.20 s)"; `when` is that of WhenOf.
std::string ShareOfTime(int64_t ns, int64_t window_ns, const std::string& when);

// Whether the message is short enough with that behind it.
bool HasRoomFor(const std::string& end, const Finding& finding);

// "mostly at train.py:12 (step)": the end of the message where there is room for it, else a line of evidence.
void AddPlace(std::string place, Finding* finding);

// A message that is too long for all that is cut, and is a line of evidence as a whole.
void FitMessage(Finding* finding);

}  // namespace gprof
