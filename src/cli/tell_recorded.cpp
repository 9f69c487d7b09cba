#include "cli/tell_recorded.h"

#include "cli/options.h"
#include "cli/program_arguments.h"
#include "cli/recorded.h"
#include "cli/talk.h"

namespace gprof::cli {
namespace {

std::string WhyNothing(const LaunchOptions& options, const std::string& app) {
  if (!options.trace_cuda && !options.trace_nvtx) return ", as -t none asks";
  const CaptureOptions& capture = options.capture;
  if (capture.IsCommanded() || !capture.begin.empty()) {
    return ": " + app + " made no CUDA or NVTX call that the tracer could see in what was to be captured";
  }
  return ": " + app + " made no CUDA or NVTX call that the tracer could see";
}

}  // namespace

std::string WhatIsIn(const std::string& trace_path) {
  const Recorded recorded = ScanTrace(trace_path);
  if (recorded.bytes == 0) return {};
  const char* const loss = recorded.loss_records != 0 ? " (records were lost: the report counts them)" : "";
  return Describe(recorded) + loss + ". Next: gprof-cli report " + ShellQuoted(trace_path);
}

void TellRecorded(const LaunchOptions& options, const LaunchResult& result) {
  try {
    const std::string app = "'" + options.command.front() + "'";
    const std::string end = result.signal != 0 ? app + " was killed by " + SignalName(result.signal) + "; " : "";
    const std::string what = WhatIsIn(result.trace_path);
    Say(end + (what.empty() ? "nothing was recorded" + WhyNothing(options, app) : "recorded " + what));
  } catch (const std::exception& error) {
    Warn(std::string("cannot say what was recorded: ") + error.what());
  }
}

}  // namespace gprof::cli
