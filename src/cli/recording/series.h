// Several runs, one after the other, each with a trace of its own, and the run file that makes them a set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gate/runs/run_file.h"
#include "launch/run/input.h"
#include "launch/run/launch.h"

namespace gprof::cli {

struct SeriesOptions {
  uint32_t runs = 1, warm_ups = 0;  // of each program
  bool keeps_warm_ups = false;
  bool keeps_going = false;  // when a run fails
};

// A program of a series. `launch.output` is a pattern with %n for the number of the run.
struct SeriesProgram {
  LaunchOptions launch;
  RunFile file;  // path, label and counterpart given; the rest comes of it
};

struct SeriesResult {
  int exit_code = 0;    // the first that is not 0
  int stop_signal = 0;  // the series ended early, by this one
  bool is_complete = true;
  std::string failure;  // of the run that ended the series: "run 3 of './app' ended with exit code 1"; empty: none did
};

// Where the traces of `-o output` and their run file go: %n is the number of the run, and behind the name where there
// is none. Throws Error for a name that no run file can be made of.
SeriesProgram ProgramOfOutput(const LaunchOptions& launch);

// The same for the default name, where it is taken with a number: run.2-1.trace, run.2.runs.json.
SeriesProgram ProgramOfDefaultOutput(LaunchOptions launch, const SeriesOptions& options);

class Series {
 public:
  // Refuses what is there already; see LaunchOptions::may_overwrite.
  Series(std::vector<SeriesProgram> programs, const SeriesOptions& options);

  // Runs all of them in turn, in the opposite order every other time, so that whatever drifts meets all alike. After
  // each run its run file is written anew. What the programs are given and see is the same in each.
  SeriesResult Run();

  // As far as they were made.
  const RunFile& file(std::size_t program) const { return programs_[program].file; }

 private:
  // False: that was the last one.
  bool RunRound(uint32_t number, bool is_warm_up);
  bool RunOne(SeriesProgram* program, uint32_t number, bool is_warm_up);
  bool GoesOn(const RunFile& file, const LaunchResult& end);
  LaunchOptions OptionsFor(const SeriesProgram& program, uint32_t number, bool is_warm_up) const;
  void RefuseExistingFiles() const;
  void SayProgress(uint32_t number, bool is_warm_up) const;

  std::vector<SeriesProgram> programs_;
  SeriesOptions options_;
  SharedInput input_;
  SeriesResult result_;
  uint32_t order_ = 0;
};

}  // namespace gprof::cli
