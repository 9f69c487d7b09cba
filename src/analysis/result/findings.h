// The order of findings, and the parts of their sentences.
#pragma once

#include <string>
#include <vector>

#include "analysis/host/host_gaps.h"
#include "analysis/idle/idle_summary.h"
#include "gprof/analysis.h"

namespace gprof {

// Largest gain first; then warnings, notes, information; then by id and message.
void RankFindings(std::vector<Finding>* findings);

// A finding in a list that is read from the top.
struct RankedFinding {
  const Finding* finding = nullptr;
  // A finding further up that is about the same time, or that the same change takes care of: whoever acts on that one
  // has this one, too. nullptr where there is none.
  const Finding* leader = nullptr;
  // Too little to be on the first screen, see IsMinor.
  bool is_minor = false;
};

// The findings of the list, ranked already, that have no leader, then the others.
std::vector<RankedFinding> LeadersFirst(const std::vector<Finding>& findings);

// Information, and notes on less than 1 % of the GPU's window: nobody should begin with that.
bool IsMinor(const Finding& finding, int64_t window_ns);

// Of each finding the id of its leader, empty where it has none.
std::vector<std::string> LeadersOf(const std::vector<Finding>& findings);

// "gpu0" or "3 GPUs": the devices that the trace has operations for.
std::string UsedDevices(const Trace& trace);

// Idle time of all devices in the iterations of the program's step, without their warm-up.
struct SteadyIdle {
  std::string path;  // of the step
  CauseSplit split;
};

// `steady` is nullptr for a program without steps. With them, what is to be won is what is idle in them: the rest comes
// once, however long the program runs.
std::vector<Finding> IdleFindings(const Trace& trace, const IdleSummary& summary, const HostGaps& host,
                                  const SteadyIdle* steady);

}  // namespace gprof
