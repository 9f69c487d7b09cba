// Budgets: what figures may be, as rules that people check in (gprof.budget/1) or write on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/analysis.h"

namespace gprof {

inline constexpr std::string_view kBudgetSchema = "gprof.budget/1";

enum class RuleKind : uint8_t {
  kAtMost,
  kBelow,
  kAtLeast,
  kAbove,
  kEqual,
  kNotEqual,
  kMaxIncrease,  // against a baseline, as the next one
  kMaxDecrease,
};

struct Rule {
  const MetricInfo* info = nullptr;
  std::string scope;  // "", "gpu0", or a pattern: "gpu*", "nvtx:*/step", "kernel:*gemm*", "kernel:/REGEX/"
  RuleKind kind = RuleKind::kAtMost;
  std::optional<double> limit;  // in the unit of the figure; against a baseline, the difference
  std::optional<double> share;  // against a baseline: the difference as a part of its median. Both must be exceeded
  std::optional<double> warn;   // from here on it is a warning; only with limits that are no differences
  bool is_warning = false;      // beyond the limit is a warning, too
  bool allows_missing = false;  // no such figure is fine
  std::string reason;           // why the rule is there
  std::string typed;            // on the command line: "--fail-if 'gpu.idle_percent > 20'"
  std::string file;             // empty for rules of the command line
  uint32_t line = 0;

  bool NeedsBaseline() const { return kind == RuleKind::kMaxIncrease || kind == RuleKind::kMaxDecrease; }
};

// "gpu.idle_percent@gpu0 <= 20%", for one of the scopes that the rule is for.
std::string TextOf(const Rule& rule, const std::string& scope);

// What may lie between the figure and its baseline: "5% and 200 us"; empty for nothing.
std::string DifferenceOf(const Rule& rule);

struct Budget {
  std::string name;      // for titles: that in the file, else the file's
  std::string baseline;  // path, relative to the folder of the budget; empty without
  std::string step;      // the range that is a step
  std::vector<Rule> rules;
};

// Throws Error(kUsage) with the line, "perf.json:7: …", and in the hint what was probably meant.
Budget ParseBudget(std::string_view text, const std::string& path);

// "gpu.idle_percent > 20", "kernels.total_ns@gpu0 > baseline + 5%": the rule that says that this must not be. `option`
// is named in the Error.
Rule ParseCondition(const std::string& text, const std::string& option);

}  // namespace gprof
