// The line at the end of a run, of a capture, or of a series of runs.
#pragma once

#include <string>

#include "cli/recording/series.h"
#include "launch/run/launch.h"

namespace gprof::cli {

// What is in a trace, and what to type next; empty when nothing is.
std::string WhatIsIn(const std::string& trace_path);

// Whether records of the run are lost.
bool HasLosses(const LaunchResult& result);

// Says how the program ended and what was recorded. The program has its exit code, so this never fails.
void TellRecorded(const LaunchOptions& options, const LaunchResult& result);

// Whether -t asks for nothing but calls that the tracer sees from within, and it came into no process: what loads it is
// a call of CUDA or NVTX.
bool MissedWhatWasAskedFor(const LaunchOptions& options, const LaunchResult& result);

// Says why a series ended early, what its runs are like and which file names them. Never fails either.
void TellSeries(const LaunchOptions& options, const RunFile& file, const SeriesResult& result);

}  // namespace gprof::cli
