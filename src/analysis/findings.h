// The order of findings, and the parts of their sentences.
#pragma once

#include <string>
#include <vector>

#include "analysis/idle_summary.h"
#include "gprof/analysis.h"

namespace gprof {

// Largest gain first; then warnings, notes, information; then by id and message.
void RankFindings(std::vector<Finding>* findings);

// "gpu0" or "3 GPUs": the devices that the trace has operations for.
std::string UsedDevices(const Trace& trace);

std::vector<Finding> IdleFindings(const Trace& trace, const IdleSummary& summary);

}  // namespace gprof
