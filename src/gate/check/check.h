// Holds runs against a budget.
#pragma once

#include "gate/budget/budget.h"
#include "gate/check/verdict.h"
#include "gate/runs/measurement.h"

namespace gprof {

struct CheckOptions {
  bool ignores_fingerprint = false;  // judge times although the runs were made with different things
};

// Throws Error(kUsage) where a rule needs a baseline and there is none. `baseline` may be nullptr.
CheckResult Check(const Budget& budget, const RunSet& runs, const RunSet* baseline, const CheckOptions& options = {});

// One line for the end of every output: "FAIL: 2 of 14 rules failed: gpu.idle_percent, memcpy.pageable_bytes".
std::string VerdictLine(const CheckResult& result);

// "NOT JUDGED: 1 of 7 rules: memory.peak_bytes", for those that stand beside others; empty where all were judged, or
// where the verdict line says so anyway.
std::string NotJudgedLine(const CheckResult& result);

}  // namespace gprof
