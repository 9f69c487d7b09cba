// What a gate says: one result for each rule, and a verdict over all. Everything that CI systems show is made of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gate/runs/measurement.h"
#include "gate/statistics/samples.h"
#include "gprof/error.h"

namespace gprof {

enum class Verdict : uint8_t { kPass, kWarn, kFail, kInconclusive };

struct RuleResult {
  std::string rule;           // as a reader would say it: "gpu.idle_percent@gpu0 <= 20 %"
  std::string metric, scope;  // what was judged; a rule with a glob has a result for each match
  Unit unit = Unit::kCount;
  Verdict verdict = Verdict::kInconclusive;
  std::optional<double> value;     // median of the runs
  std::optional<double> limit;     // that it was held against
  std::optional<double> baseline;  // median of the baseline, for relative rules
  std::string message;             // what is the case, with numbers, in one sentence
  std::string reason;              // from the budget: why the rule is there
  std::string evidence;            // samples, test, interval
  bool is_judged = true;           // else the verdict is open, or a warning where the rule can do no more
  std::string file;                // budget it stands in, with the line, for annotations; empty for --fail-if
  uint32_t line = 0;
};

struct CheckResult {
  std::string name;                          // the budget, for titles
  std::vector<RuleResult> rules;             // in the order of the budget
  Fingerprint fingerprint;                   // of the runs that were judged
  std::vector<std::string> sources;          // the traces
  std::string selected;                      // the part of them that was judged, in words; empty for all
  std::string baseline;                      // its name; empty without
  std::size_t baseline_count = 0;            // runs in it
  std::vector<std::string> notes;            // fingerprint that differs, runs left out, data that is missing
  Verdict verdict = Verdict::kInconclusive;  // the worst of the rules
  std::string line;                          // one-line verdict, the last line of every text
};

// A failure before what nobody can tell, that before a warning, that before a pass.
Verdict WorseOf(Verdict a, Verdict b);

// "pass", "warn", "fail", "inconclusive": as documents have it.
std::string_view VerdictName(Verdict verdict);

// 0 pass and warn, 1 fail, 4 inconclusive.
ExitCode ExitCodeOf(Verdict verdict);

}  // namespace gprof
