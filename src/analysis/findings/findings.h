// The order of findings, and the parts of their sentences.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/host/host_gaps.h"
#include "analysis/idle/idle_summary.h"
#include "gprof/analysis.h"

namespace gprof {

// Largest gain first; then warnings, notes, information; then by id and message.
void RankFindings(std::vector<Finding>* findings);

// A finding beside the others of a report.
struct RankedFinding {
  const Finding* finding = nullptr;
  int64_t gain_ns = 0;  // what is left of its gain when those before it have claimed theirs
  // Who has claimed most of its time: whoever acts on that one has this one, too. nullptr where most is left.
  const Finding* leader = nullptr;
  // Information, or less than 1 % of the GPU's window: nobody should begin with that.
  bool is_minor = false;
  // The gain is the sum of what this many GPUs would gain, side by side.
  size_t gpus = 1;
};

// What findings are judged by (JudgedTime).
struct JudgedBasis {
  int64_t window_ns = 0;
  bool are_copies_once = false;
};

// Findings compete for the time that they are about (FindingInfo::claims): each nanosecond is claimed once, by those
// that name a mechanism before those that are general, and by larger ones before smaller ones. `findings` are ranked,
// `totals` says how much time there is. The result has first what leads and is not minor, by what is left of its gain.
std::vector<RankedFinding> JudgeFindings(const std::vector<Finding>& findings, std::span<const Metric> totals,
                                         const JudgedBasis& judged);

// "gpu0" or "3 GPUs": those that have GPU work.
std::string NameOfUsedDevices(const Trace& trace);

// Idle time of all devices in the steady time (idle/steady_time.h).
struct SteadyIdle {
  std::string step;  // see SteadyTime
  size_t iterations = 0;
  Interval time;
  int64_t window_ns = 0;
  CauseSplit split;
  // What came before: idle time, and copies while no kernel ran.
  CauseSplit before;
  int64_t copied_before_ns = 0;
};

// `steady` is nullptr where nothing is known to come once. Where it is, idle time is judged in it.
std::vector<Finding> IdleFindings(const AnalysisInput& input, const IdleSummary& summary, const HostGaps& host,
                                  const SteadyIdle* steady);

}  // namespace gprof
