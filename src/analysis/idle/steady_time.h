// What a run does again and again, as opposed to what comes once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gprof/analysis.h"

namespace gprof {

// From where on the run is judged, to where. What lies before it comes once, however long the program runs.
struct SteadyTime {
  std::string step;  // path of the range whose iterations it is; empty: it begins after the first launches of kernels
  Interval time;
};

// The iterations of the step that are no warm-up, where the program has steps (`step` as in AnalysisOptions). Else what
// comes after the last long gap before a kernel that ran for the first time, looking at the first half of the
// operations. Nothing where neither is to be found.
std::optional<SteadyTime> FindSteadyTime(const AnalysisInput& input, const std::string& step = {});

// What the devices did with their window, added up.
struct DeviceTimes {
  int64_t window_ns = 0, busy_ns = 0, kernel_ns = 0;
};
DeviceTimes TimesOfDevices(const AnalysisInput& input);
DeviceTimes TimesOfDevices(const AnalysisInput& input, const Interval& time);

// What a run is judged by: its steady time, else all of it.
struct JudgedTime {
  std::optional<SteadyTime> steady;
  DeviceTimes devices;
  explicit JudgedTime(const AnalysisInput& input, const std::string& step = {});
};
// `step` as in AnalysisOptions; found once for all where nobody named one (SharedFacts::judged).
JudgedTime JudgedBy(const AnalysisInput& input, const std::string& step);

}  // namespace gprof
