// What --compress does with a trace when the program has ended.
#pragma once

#include "launch/run/launch.h"

namespace gprof::cli {

// Puts a compressed trace in its place, or leaves it as it is and says why, unless that is nobody's concern
// (`is_quiet`). Never fails: the program has its exit code, and the recording is good.
void CompressFinishedTrace(const FinishedTrace& trace, bool is_quiet);

}  // namespace gprof::cli
