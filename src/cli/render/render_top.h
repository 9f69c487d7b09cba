// What a recorded program does right now, as text and as JSON lines.
#pragma once

#include <string>

#include "base/terminal.h"
#include "report/json_values.h"
#include "report/live/top_reading.h"

namespace gprof::cli {

// `recorder` is its answer to "status".
std::string TopText(const TopReading& reading, const Json& recorder, const Terminal& terminal);
// One line.
std::string TopJson(const TopReading& reading, const Json& recorder);

}  // namespace gprof::cli
