// The order of findings, and the parts of their sentences.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gprof/analysis.h"

namespace gprof {

// Largest gain first; then warnings, notes, information; then by id and message.
void RankFindings(std::vector<Finding>* findings);

// A finding beside the others of a report.
struct RankedFinding {
  const Finding* finding = nullptr;
  int64_t gain_ns = 0;  // what is left of its gain when those before it have claimed theirs
  // Of that, by the metric of the time; empty where no other finding is about it.
  std::map<std::string, int64_t> claims{};
  // Decides among findings of one kind: that, or for a place all its time that no other finding explains, as what could
  // be won there is a guess.
  int64_t weight_ns = 0;
  // Who has claimed most of its time: whoever acts on that one has this one, too. nullptr where most is left.
  const Finding* leader = nullptr;
  // Information, or less than 1 % of the GPU's window: nobody should begin with that.
  bool is_minor = false;
  // The gain is the sum of what this many GPUs would gain, side by side.
  size_t gpus = 1;
  int64_t run_ns = 0;  // how long the run took; 0 where that is not known

  // What there is to be won at most: of one that others lead, with what those claim.
  int64_t GainNs() const { return leader == nullptr ? gain_ns : finding->gain_ns; }
  // Of the time that the run took; nullopt where either is not known.
  std::optional<double> PercentOfRun() const;
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

}  // namespace gprof
