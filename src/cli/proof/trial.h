// One run of a program for its figures: how it ended, what it wrote, what was measured.
#pragma once

#include <cstdint>
#include <string>

#include "gate/runs/measurement.h"
#include "launch/run/input.h"
#include "launch/run/launch.h"

namespace gprof::cli {

enum class TrialEnd : uint8_t {
  kGood,
  kFailed,
  kTimedOut,
  kInterrupted,  // somebody wants us to stop
};

struct Trial {
  TrialEnd end = TrialEnd::kGood;
  std::string how;      // it ended, in words: "ended with exit code 1"
  int stop_signal = 0;  // of kInterrupted
  int64_t wall_ns = 0;
  Measurement measured;  // of kGood alone
  std::string trace;     // its file; empty: nothing was recorded, and the time is by the clock of the launcher
  std::string output;    // stdout, where it was to be kept in a file
};

class TrialRunner {
 public:
  explicit TrialRunner(AnalysisOptions analysis) : analysis_(std::move(analysis)) {}

  // `launch.output` is the file of the trace, which the caller removes.
  Trial Run(const LaunchOptions& launch);

 private:
  AnalysisOptions analysis_;
  SharedInput input_;
};

// One of several runs of a program: into that file, with the input from where it began. A signal that came between runs
// counts as one that is to end all of them.
LaunchResult RunInTurn(LaunchOptions launch, const std::string& file, SharedInput* input);

// Between runs and commands: a signal that is to end all of it; 0: none.
int SignalBetweenRuns();

}  // namespace gprof::cli
