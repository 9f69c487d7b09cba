#include "cli/recording/tell_recorded.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "cli/arguments/options.h"
#include "cli/recording/recorded.h"
#include "cli/talk.h"

namespace gprof::cli {
namespace {

std::string WhyNothing(const LaunchOptions& options, const std::string& app) {
  if (options.TracesNothing()) return " (-t none)";
  const CaptureOptions& capture = options.capture;
  if (capture.IsCommanded() || !capture.begin.empty()) {
    return ": " + app + " made no CUDA or NVTX call that the tracer could see in the capture range";
  }
  return ": " + app +
         " made no CUDA or NVTX call that the tracer could see. gprof-cli doctor says whether recording works here";
}

// "1.20 s (1.18 s to 1.25 s)"
std::string WallText(const RunFile& file) {
  std::vector<int64_t> walls;
  for (const RecordedRun& run : file.runs) {
    if (run.Counts()) walls.push_back(run.wall_ns);
  }
  std::sort(walls.begin(), walls.end());
  const std::size_t middle = walls.size() / 2;
  const double median = walls.size() % 2 == 1 ? static_cast<double>(walls[middle])
                                              : static_cast<double>(walls[middle - 1] + walls[middle]) / 2;
  const std::string text = FormatNs(median);
  if (walls.size() == 1) return text;
  return text + " (" + FormatNs(walls.front()) + " to " + FormatNs(walls.back()) + ")";
}

std::string WhyEarly(const SeriesResult& result) {
  if (result.is_complete) return {};
  if (!result.failure.empty()) return result.failure + "; series stopped (--keep-going continues after a failed run); ";
  return SignalName(result.stop_signal) + " stopped the series; ";
}

std::string WhatIsInSeries(const LaunchOptions& options, const RunFile& file) {
  const auto counts = [](const RecordedRun& run) { return run.Counts(); };
  const auto first = std::find_if(file.runs.begin(), file.runs.end(), counts);
  if (first == file.runs.end()) return "no run succeeded";
  const auto good = std::count_if(file.runs.begin(), file.runs.end(), counts);
  const std::string runs = good < file.planned_runs
                               ? std::to_string(good) + " of " + std::to_string(file.planned_runs) + " runs"
                               : CountOf(good, "run", "runs");
  const Recorded recorded = ScanTrace(first->trace);
  if (recorded.HasNothing())
    return "nothing was recorded in " + runs + WhyNothing(options, "'" + file.command[0] + "'");
  return "recorded " + runs + " of " + WallText(file) + (good > 1 ? "; the first has " : "; it has ") +
         Describe(recorded) + ". Next: gprof-cli check " + ShellQuoted(file.path) +
         " --budget FILE, or gprof-cli diff BASE " + ShellQuoted(file.path);
}

// "12 records are lost: disk full"; empty where none are, or the trace tells of them.
std::string LossText(const LaunchResult& result) {
  if (result.lost_records == 0) return {};
  const bool is_full = result.write_error == ENOSPC || result.write_error == EDQUOT;
  return CountOf(static_cast<int64_t>(result.lost_records), "record", "records") +
         (result.lost_records == 1 ? " is" : " are") +
         " lost: " + (is_full ? "disk full" : std::strerror(result.write_error));
}

}  // namespace

bool HasLosses(const LaunchResult& result) {
  return result.lost_records != 0 || ScanTrace(result.trace_path).HasLosses();
}

std::string WhatIsIn(const std::string& trace_path) {
  const Recorded recorded = ScanTrace(trace_path);
  if (recorded.HasNothing()) return {};
  const char* const loss = recorded.HasLosses() ? " (records were lost, see the report)" : "";
  const char* const doubt = recorded.IsSeenOnly() ? " (gprof-cli doctor says whether CUDA can be recorded)" : "";
  return Describe(recorded) + loss + ". Next: gprof-cli report " + ShellQuoted(trace_path) + doubt;
}

void TellRecorded(const LaunchOptions& options, const LaunchResult& result) {
  if (result.is_displaced) return;  // which was said as a loss
  try {
    const std::string app = "'" + options.command.front() + "'";
    const std::string end = result.signal != 0 ? app + " " + EndingText(0, result.signal) + "; " : "";
    const std::string what = WhatIsIn(result.trace_path), loss = LossText(result);
    if (what.empty()) {
      const bool is_damaged = ScanTrace(result.trace_path).is_damaged;
      const std::string why = is_damaged ? "; records were lost" : WhyNothing(options, app);
      Say(end + "nothing was recorded" + (loss.empty() ? why : "; " + loss));
    } else {
      Say(end + (loss.empty() ? "" : loss + "; ") + "recorded " + what);
    }
  } catch (const std::exception& error) {
    Warn(std::string("cannot summarise the recording: ") + error.what());
  }
}

bool MissedWhatWasAskedFor(const LaunchOptions& options, const LaunchResult& result) {
  const bool is_of_host_only = options.TracesHostCalls() && !options.trace_cuda && !options.trace_nvtx;
  const bool is_throughout = !options.capture.IsCommanded() && options.capture.begin.empty();
  return is_of_host_only && is_throughout && !result.is_displaced && ScanTrace(result.trace_path).processes == 0;
}

void TellSeries(const LaunchOptions& options, const RunFile& file, const SeriesResult& result) {
  try {
    Say(WhyEarly(result) + WhatIsInSeries(options, file));
  } catch (const std::exception& error) {
    Warn(std::string("cannot summarise the recording: ") + error.what());
  }
}

}  // namespace gprof::cli
