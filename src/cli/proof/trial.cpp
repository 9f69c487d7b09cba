#include "cli/proof/trial.h"

#include <unistd.h>

#include <utility>

#include "base/input_file.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/recording/leftovers.h"
#include "cli/recording/recorded.h"
#include "import/read_trace.h"
#include "launch/run/relay.h"
#include "launch/run/trace_output.h"

namespace gprof::cli {
namespace {

bool HasFailed(const LaunchResult& end) { return end.exit_code != 0 && !end.was_ended_by_capture; }

bool HasRecords(const std::string& trace) {
  const Recorded recorded = ScanTrace(trace);
  return !recorded.HasNothing() && !recorded.IsSeenOnly();
}

bool HasTimesOfGpu(const Measurement& run) {
  return !run.breakdown.devices.empty() || (run.breakdown.steps && run.breakdown.steps->count > 1);
}

// What the tracer saw nothing of has a time all the same.
Measurement ByTheClock(const LaunchOptions& launch, int64_t wall_ns) {
  Measurement run;
  run.source = launch.output;
  run.fingerprint.program = launch.command.front();
  run.breakdown.is_known = true;
  run.breakdown.wall_ns = wall_ns;
  return run;
}

TrialEnd EndOf(const LaunchResult& end, int stop_signal) {
  if (stop_signal != 0 || end.is_displaced) return TrialEnd::kInterrupted;
  if (end.has_timed_out) return TrialEnd::kTimedOut;
  return HasFailed(end) ? TrialEnd::kFailed : TrialEnd::kGood;
}

}  // namespace

int SignalBetweenRuns() { return SettleSignals(); }

LaunchResult RunInTurn(LaunchOptions launch, const std::string& file, SharedInput* input) {
  RecoverEarlierRuns();
  input->Rewind();
  launch.output = PatternOf(file);
  LaunchResult end = RunTraced(launch);
  const int late_signal = SignalBetweenRuns();
  if (end.stop_signal == 0) end.stop_signal = late_signal;
  return end;
}

Trial TrialRunner::Run(const LaunchOptions& launch) {
  const LaunchResult end = RunInTurn(launch, launch.output, &input_);
  Trial trial;
  trial.stop_signal = end.stop_signal;
  trial.end = EndOf(end, trial.stop_signal);
  trial.how =
      end.has_timed_out ? "ran longer than " + FormatNs(launch.time_limit_ns) : EndingText(end.exit_code, end.signal);
  trial.wall_ns = end.wall_ns;
  if (launch.program_output == ProgramOutput::kInFile && access(launch.output_file.c_str(), R_OK) == 0) {
    trial.output = ReadInputFile(launch.output_file);
  }
  if (trial.end != TrialEnd::kGood) return trial;
  if (launch.TracesNothing() || !HasRecords(end.trace_path)) {
    trial.measured = ByTheClock(launch, end.wall_ns);
    return trial;
  }
  trial.trace = end.trace_path;
  trial.measured = Measure(ReadTrace(end.trace_path), analysis_);
  // The records of a program without GPU work begin and end anywhere.
  if (!HasTimesOfGpu(trial.measured)) trial.measured.breakdown.wall_ns = end.wall_ns;
  return trial;
}

}  // namespace gprof::cli
