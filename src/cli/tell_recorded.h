// The line at the end of a run, or of a capture.
#pragma once

#include <string>

#include "launch/launch.h"

namespace gprof::cli {

// What is in a trace, and what to type next; empty when nothing is.
std::string WhatIsIn(const std::string& trace_path);

// Says how the program ended and what was recorded. The program has its exit code, so this never fails.
void TellRecorded(const LaunchOptions& options, const LaunchResult& result);

}  // namespace gprof::cli
