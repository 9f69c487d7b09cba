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
  size_t iterations = 0;  // of the step; without one, as often as the kernels that took half of the time were launched
};

// The iterations of the step that are no warm-up, until the GPU is done with them, where the program has steps (`step`
// as in AnalysisOptions). Else what comes after the last long gap before a kernel that ran for the first time, looking
// at the first half of the operations. Nothing where neither is to be found, or nothing comes again.
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
  // A few operations, and no kernel twice: nothing comes again, and what the host does between them is not what would
  // keep the GPU from working if the program had more to do.
  bool comes_once = false;
  DeviceTimes devices;
  int64_t download_ns = 0;  // of `devices`: copies once the last kernel was done, results as a rule
  // Nearly all copies came before the first or after the last kernel, or a few times among many launches, and took less
  // time than the kernels.
  bool are_copies_once = false;
  // Without a steady time: what was copied before the first kernel, a model's parameters as a rule. Where that is a
  // small part of the run, it comes once as well: copies from here on count, and those before took so much of
  // `devices`.
  int64_t copies_from_ns = INT64_MIN, upload_ns = 0;
  // The copies that count, while no kernel ran.
  int64_t CopyOnlyNs() const { return devices.busy_ns - devices.kernel_ns - upload_ns; }
  JudgedTime() = default;
  explicit JudgedTime(const AnalysisInput& input, const std::string& step = {});

 private:
  // `before_ns`: copies before what is judged or the first kernel, of which so much is part of `devices`.
  void JudgeCopies(const AnalysisInput& input, int64_t before_ns, int64_t before_in_window_ns);
};
// `step` as in AnalysisOptions; found once for all where nobody named one (SharedFacts::judged).
JudgedTime JudgedBy(const AnalysisInput& input, const std::string& step);

}  // namespace gprof
