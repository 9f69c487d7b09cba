#include "gate/check/check.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/demangle.h"
#include "base/text.h"
#include "base/units.h"
#include "gate/check/figures.h"
#include "gate/check/judge.h"
#include "gate/runs/fingerprint.h"
#include "gprof/error.h"

namespace gprof {
namespace {

constexpr std::size_t kNamedInLine = 3;

class Checker {
 public:
  Checker(const RunSet& runs, const RunSet* baseline, const CheckOptions& options)
      : runs_(runs), baseline_(baseline), options_(options), figures_(runs) {
    if (baseline != nullptr) base_figures_.emplace(*baseline);
    FindMixed();
  }

  CheckResult Run(const Budget& budget) {
    result_.name = budget.name;
    result_.fingerprint = runs_.runs.front().fingerprint;
    for (const Measurement& run : runs_.runs) result_.sources.push_back(run.source);
    result_.selected = runs_.runs.front().selected;
    if (baseline_ != nullptr) {
      result_.baseline = baseline_->name;
      result_.baseline_count = baseline_->runs.size();
    }
    AddNotes();
    for (const Rule& rule : budget.rules) AddRule(rule);
    result_.verdict = Verdict::kPass;
    for (const RuleResult& rule : result_.rules) result_.verdict = WorseOf(result_.verdict, rule.verdict);
    if (result_.rules.empty()) result_.verdict = Verdict::kInconclusive;
    result_.line = VerdictLine(result_);
    return std::move(result_);
  }

 private:
  void FindMixed() {
    mixed_runs_ = MixedRuns(runs_);
    if (baseline_ == nullptr) return;
    const std::string mixed_baseline = MixedRuns(*baseline_);
    if (!mixed_runs_.empty()) {
      mixed_sets_ = mixed_runs_;
    } else if (!mixed_baseline.empty()) {
      mixed_sets_ = "in the baseline, " + mixed_baseline;
    } else {
      mixed_sets_ = Joined(TimingDifferences(baseline_->runs.front().fingerprint, runs_.runs.front().fingerprint));
    }
  }

  void AddNotes() {
    result_.notes = runs_.notes;
    const std::size_t complete = static_cast<std::size_t>(
        std::count_if(runs_.runs.begin(), runs_.runs.end(), [](const Measurement& run) { return run.is_complete; }));
    for (const Measurement& run : runs_.runs) {
      if (run.is_complete) continue;
      result_.notes.push_back(run.source + " is incomplete (" + Joined(run.missing) + ")" +
                              (complete > 0 ? ": used only for rules that do not need the missing data" : ""));
    }
    AddUnmatched();
    AddOtherPrograms();
    AddStateNotes();
    if (!mixed_runs_.empty()) AddFingerprintNote("the runs are not comparable: " + mixed_runs_);
    if (baseline_ == nullptr) return;
    for (const std::string& note : baseline_->notes) result_.notes.push_back("baseline: " + note);
    if (mixed_runs_.empty() && !mixed_sets_.empty())
      AddFingerprintNote("recorded differently from the baseline: " + mixed_sets_);
  }

  void AddFingerprintNote(const std::string& what) {
    result_.notes.push_back(what + (options_.ignores_fingerprint ? "; judged anyway (--ignore-fingerprint)"
                                                                 : "; rules on times are inconclusive"));
    if (!options_.ignores_fingerprint) return;
    mixed_runs_.clear();
    mixed_sets_.clear();
  }

  // Not known to be missing, so that it is no reason for a verdict; but somebody has to be told.
  void AddUnmatched() {
    double most = 0;
    for (const Measurement& run : runs_.runs) {
      if (const Metric* metric = FindIn(run, "health.unmatched_launches")) most = std::max(most, metric->value);
    }
    if (most == 0) return;
    result_.notes.push_back(CountOf(static_cast<int64_t>(most), "launch call has", "launch calls have") +
                            " no GPU operation in the trace: counts and totals may be too low");
  }

  void AddOtherPrograms() {
    const Measurement& first = runs_.runs.front();
    for (const Measurement& run : runs_.runs) {
      if (run.fingerprint.program == first.fingerprint.program) continue;
      result_.notes.push_back(run.source + " is a run of '" + run.fingerprint.program + "', " + first.source + " of '" +
                              first.fingerprint.program + "': all runs should be of the same program");
      return;
    }
  }

  void AddStateNotes() {
    const std::span<const Measurement> first(runs_.runs.data(), 1);
    const std::span<const Measurement> base = baseline_ != nullptr ? baseline_->runs : first;
    for (const Measurement& run : runs_.runs) {
      for (const std::string& difference : StateDifferences(base, {&run, 1}))
        result_.notes.push_back(run.source + " was measured under other conditions than " + base.front().source + ": " +
                                difference);
    }
  }

  void AddRule(const Rule& rule) {
    if (rule.NeedsBaseline() && baseline_ == nullptr) {
      const std::string where = rule.file.empty() ? "" : rule.file + ":" + std::to_string(rule.line) + ": ";
      throw Error(
          ExitCode::kUsage, where + "'" + TextOf(rule, rule.scope) + "' needs a baseline",
          "add --baseline PATH, or \"baseline\": \"PATH\" to the budget; create one with gprof-cli baseline save");
    }
    const std::vector<std::string> scopes = figures_.ScopesLike(rule.info->id, rule.scope);
    for (const std::string& scope : scopes) AddResult(rule, scope);
    if (scopes.empty()) AddNoMatch(rule);
  }

  RuleResult Begin(const Rule& rule, const std::string& scope) const {
    RuleResult result;
    // One that was typed is known by what was typed, unless it is about several things.
    result.rule = rule.typed.empty() || scope != rule.scope ? TextOf(rule, scope) : rule.typed;
    result.metric = rule.info->id;
    result.scope = scope;
    result.unit = rule.info->unit;
    result.reason = rule.reason;
    result.file = rule.file;
    result.line = rule.line;
    return result;
  }

  void AddResult(const Rule& rule, const std::string& scope) {
    RuleResult result = Begin(rule, scope);
    const Figure now = figures_.Of(*rule.info, scope);
    if (rule.NeedsBaseline() && !OtherSteps(rule).empty()) {
      result.message = OtherSteps(rule);
    } else if (rule.NeedsBaseline()) {
      JudgeDifference(rule, base_figures_->Of(*rule.info, scope), now, mixed_sets_, &result);
    } else {
      JudgeLimit(rule, now, mixed_runs_, &result);
    }
    Add(rule, std::move(result));
  }

  // Another range is another figure of the same name.
  std::string OtherSteps(const Rule& rule) const {
    const std::string base = StepOf(*baseline_), now = StepOf(runs_);
    if (!rule.info->is_of_step || base.empty() || now.empty() || base == now) return "";
    return "the step is '" + now + "' in the runs, '" + base + "' in the baseline; choose one with --step";
  }

  static std::string StepOf(const RunSet& set) {
    const Breakdown& breakdown = set.runs.front().breakdown;
    return breakdown.steps ? breakdown.steps->path : "";
  }

  void AddNoMatch(const Rule& rule) {
    RuleResult result = Begin(rule, rule.scope);
    const std::string why = WhyNotRecorded(runs_.runs.front(), rule.info->id);
    result.message = why.empty() ? "nothing in the runs matches @" + rule.scope : why;
    const bool is_whole =
        std::all_of(runs_.runs.begin(), runs_.runs.end(), [](const Measurement& run) { return run.is_complete; });
    if (rule.allows_missing && is_whole && why.empty()) result.verdict = Verdict::kPass;
    Add(rule, std::move(result));
  }

  // What may at worst warn does not stop anybody for want of data either.
  void Add(const Rule& rule, RuleResult result) {
    result.is_judged = result.verdict != Verdict::kInconclusive;
    if (rule.is_warning && result.verdict == Verdict::kInconclusive) {
      result.verdict = Verdict::kWarn;
      result.message = "not judged: " + result.message;
    }
    result_.rules.push_back(std::move(result));
  }

  const RunSet& runs_;
  const RunSet* baseline_;
  const CheckOptions& options_;
  Figures figures_;
  std::optional<Figures> base_figures_;
  std::string mixed_runs_, mixed_sets_;
  CheckResult result_;
};

template <class F>
std::string FiguresOf(const CheckResult& result, F is_meant) {
  std::vector<std::string> names;
  for (const RuleResult& rule : result.rules) {
    // A signature would fill the line.
    const bool is_kernel = rule.scope.starts_with("kernel:");
    const std::string scope = is_kernel ? "kernel:" + ShortName(rule.scope.substr(7)) : rule.scope;
    const std::string name = scope.empty() ? rule.metric : rule.metric + "@" + scope;
    const bool is_new = std::find(names.begin(), names.end(), name) == names.end();
    if (is_meant(rule) && is_new) names.push_back(name);
  }
  return JoinedUpTo(kNamedInLine, std::move(names));
}

std::string FiguresWith(const CheckResult& result, Verdict verdict) {
  return FiguresOf(result, [verdict](const RuleResult& rule) { return rule.verdict == verdict; });
}

}  // namespace

CheckResult Check(const Budget& budget, const RunSet& runs, const RunSet* baseline, const CheckOptions& options) {
  return Checker(runs, baseline, options).Run(budget);
}

std::string VerdictLine(const CheckResult& result) {
  const auto count = [&](Verdict verdict) {
    return std::count_if(result.rules.begin(), result.rules.end(),
                         [verdict](const RuleResult& rule) { return rule.verdict == verdict; });
  };
  const int64_t all = static_cast<int64_t>(result.rules.size());
  const auto fails = count(Verdict::kFail), open = count(Verdict::kInconclusive), warnings = count(Verdict::kWarn);
  const std::string warned = warnings > 0 ? CountOf(warnings, "warning") : "";
  const std::string of_all = " of " + CountOf(all, "rule");
  if (fails > 0) {
    return "FAIL: " + FormatCount(fails) + of_all + " failed: " + FiguresWith(result, Verdict::kFail) +
           (open > 0 ? "; " + FormatCount(open) + " NOT JUDGED" : "") + (warned.empty() ? "" : "; " + warned);
  }
  if (open > 0) {
    return "INCONCLUSIVE: " + FormatCount(open) + of_all +
           " NOT JUDGED: " + FiguresWith(result, Verdict::kInconclusive) + (warned.empty() ? "" : "; " + warned);
  }
  const std::string runs = ", " + CountOf(static_cast<int64_t>(result.sources.size()), "run");
  if (warnings > 0)
    return "PASS with " + warned + " in " + CountOf(all, "rule") + runs + ": " + FiguresWith(result, Verdict::kWarn);
  if (all == 0) return "INCONCLUSIVE: no rules given";
  return "PASS: " + CountOf(all, "rule") + runs;
}

std::string NotJudgedLine(const CheckResult& result) {
  if (result.verdict == Verdict::kInconclusive) return "";
  const auto is_open = [](const RuleResult& rule) { return !rule.is_judged; };
  const auto count = std::count_if(result.rules.begin(), result.rules.end(), is_open);
  if (count == 0) return "";
  return "NOT JUDGED: " + FormatCount(count) + " of " + CountOf(static_cast<int64_t>(result.rules.size()), "rule") +
         ": " + FiguresOf(result, is_open);
}

}  // namespace gprof
