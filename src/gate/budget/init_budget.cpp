#include "gate/budget/init_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/demangle.h"
#include "base/json_style.h"
#include "base/text.h"
#include "base/units.h"
#include "gate/budget/budget.h"
#include "gate/budget/scope_pattern.h"
#include "gate/budget/value_text.h"
#include "gate/statistics/rank_test.h"
#include "gprof/error.h"

namespace gprof {
namespace {

// Counters that do not depend on timing. Of some, nothing at all is what should stay.
struct Counter {
  std::string_view id, why;
  bool is_worth_it_at_zero = false;
};
constexpr Counter kCounters[] = {
    {"memcpy.pageable_bytes", "copies from or to pageable memory are slow and block the host", true},
    {"memcpy.h2d_bytes", ""},
    {"memcpy.d2h_bytes", ""},
    {"memcpy.count", ""},
    {"launches.count", ""},
    {"kernels.count", ""},
    {"sync.count", "each host synchronisation may leave the GPU idle"},
    {"sync.device_count", "device-wide synchronisation is rarely needed", true},
    {"graphs.instantiations", ""},
    {"memory.allocations", ""},
    {"memory.leaked_bytes", "", true},
    {"api.errors", "", true},
};

// Figures that vary: what a limit leaves room for, as a part of the figure and at least.
struct Loose {
  std::string_view id;
  double share, least;
};
constexpr double kUs = 1e3, kMs = 1e6;
constexpr Loose kSteps[] = {{"step.median_ns", 0.2, 200 * kUs}, {"step.p95_ns", 0.4, 500 * kUs}};
constexpr Loose kNoSteps[] = {{"run.wall_ns", 0.25, 50 * kMs}, {"gpu.window_ns", 0.25, kMs}};
constexpr Loose kTimes[] = {
    {"kernels.total_ns", 0.15, 100 * kUs}, {"memcpy.total_ns", 0.25, 100 * kUs}, {"gpu.idle_percent", 0.25, 5}};
// Of this, more is better: a limit from below, where there is any to speak of.
constexpr Loose kOverlap = {"streams.overlap_percent", 0.3, 5};
constexpr double kOverlapWorthARule = 10;
constexpr Loose kKernel = {"kernels.median_ns", 0.15, 2 * kUs};
constexpr std::size_t kMostKernels = 3;
constexpr double kKernelWorthARule = 0.1;  // of the time of all kernels

struct Step {
  double factor;
  const char* name;
};
constexpr std::array<Step, 4> kNsSteps = {{{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}}};

// Two digits are plenty for a limit with room: the next such number above.
double RoundUp(double value) {
  if (value <= 0) return 0;
  const double unit = std::pow(10, std::floor(std::log10(value)) - 1);
  return std::ceil(value / unit - 1e-9) * unit;
}

std::string Quoted(const std::string& text) { return CompactText(nlohmann::json(text)); }

// As budgets have it: 1200, "20%", "5.2ms".
std::string LimitText(double value, Unit unit) {
  if (unit == Unit::kPercent) return Quoted(fmt::format("{:.12g}%", value));
  if (unit != Unit::kNs || value <= 0) return fmt::format("{:.17g}", value);
  std::size_t i = 0;
  while (i + 1 < kNsSteps.size() && value >= kNsSteps[i + 1].factor) ++i;
  return Quoted(fmt::format("{:.6g}{}", value / kNsSteps[i].factor, kNsSteps[i].name));
}

class Writer {
 public:
  Writer(const RunSet& runs, const std::string& baseline) : runs_(runs), baseline_(baseline) {}

  std::string Write() {
    for (const Counter& counter : kCounters) AddCounter(counter);
    Section("Times and shares vary from run to run" +
            std::string(baseline_.empty() ? "; the limits leave headroom." : "."));
    const bool has_steps = !Values("step.median_ns", "").empty();
    if (has_steps) {
      for (const Loose& loose : kSteps) AddLoose(loose, "", "");
    } else {
      for (const Loose& loose : kNoSteps) AddLoose(loose, "", "");
    }
    for (const Loose& loose : kTimes) AddLoose(loose, "", "");
    AddOverlap();
    AddKernels();
    if (lines_.empty()) {
      throw Error(ExitCode::kInconclusive, "these runs have no metric to base a rule on", "use traces of whole runs");
    }
    return Header() + Body();
  }

 private:
  std::vector<double> Values(std::string_view id, const std::string& scope) const {
    std::vector<double> values;
    for (const Measurement& run : runs_.runs) {
      if (const Metric* metric = FindIn(run, id, scope)) values.push_back(metric->value);
    }
    return values.size() == runs_.runs.size() ? values : std::vector<double>();
  }

  std::string Source(const std::vector<double>& values, Unit unit) const {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    if (*low == *high) return FormatValue(*low, unit) + (values.size() > 1 ? " in every run" : " in the run");
    return FormatValueBeside(*low, *high, unit) + " to " + FormatValueBeside(*high, *low, unit) + " in " +
           CountOf(static_cast<int64_t>(values.size()), "run");
  }

  void Section(const std::string& title) { pending_section_ = title; }

  void Add(const std::string& figure, const std::string& rule, const std::string& comment) {
    if (!pending_section_.empty()) lines_.emplace_back("\n    // " + std::exchange(pending_section_, ""), false);
    lines_.emplace_back("    // " + comment, false);
    lines_.emplace_back("    " + Quoted(figure) + ": " + rule, true);
  }

  void AddCounter(const Counter& counter) {
    const std::vector<double> values = Values(counter.id, "");
    if (values.empty()) return;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    if (*high == 0 && !counter.is_worth_it_at_zero) return;
    const MetricInfo& info = *FindMetric(counter.id);
    std::string comment = Source(values, info.unit);
    double limit = *high;
    if (*low != *high) {
      limit = RoundUp(*high * 1.1);
      comment += "; limit with headroom";
    }
    std::string rule = LimitText(limit, Unit::kCount);
    if (!counter.why.empty()) rule = "{\"max\": " + rule + ", \"reason\": " + Quoted(std::string(counter.why)) + "}";
    Add(std::string(counter.id), rule, comment);
  }

  // `figure_scope` is how the budget names the scope, where that is shorter.
  void AddLoose(const Loose& loose, const std::string& scope, const std::string& figure_scope) {
    const std::vector<double> values = Values(loose.id, scope);
    if (values.empty() || *std::max_element(values.begin(), values.end()) <= 0) return;
    AddLooseOf(loose, values, figure_scope);
  }

  void AddLooseOf(const Loose& loose, const std::vector<double>& values, const std::string& scope) {
    const MetricInfo& info = *FindMetric(loose.id);
    const std::string figure = std::string(loose.id) + (scope.empty() ? "" : "@" + scope);
    const std::string source = Source(values, info.unit);
    if (!baseline_.empty()) {
      const std::string floor = LimitText(loose.least, info.unit == Unit::kPercent ? Unit::kCount : info.unit);
      const std::string rule = info.unit == Unit::kPercent ? "{\"max_increase\": " + floor + "}"
                                                           : "{\"max_increase\": \"10%\", \"and\": " + floor + "}";
      return Add(figure, rule, source + (info.unit == Unit::kPercent ? "; increase in percentage points" : ""));
    }
    const double most = *std::max_element(values.begin(), values.end());
    double limit = RoundUp(most + std::max(loose.share * most, loose.least));
    if (info.unit == Unit::kPercent) limit = std::min(limit, 100.0);
    Add(figure, LimitText(limit, info.unit), source);
  }

  void AddOverlap() {
    const std::vector<double> values = Values(kOverlap.id, "");
    if (values.empty()) return;
    const double least = *std::min_element(values.begin(), values.end());
    if (least < kOverlapWorthARule) return;
    const double room = std::max(kOverlap.share * least, kOverlap.least);
    const std::string rule = baseline_.empty() ? "\"min\": " + LimitText(std::floor(least - room), Unit::kPercent)
                                               : "\"max_decrease\": " + LimitText(kOverlap.least, Unit::kCount);
    Add(std::string(kOverlap.id), "{" + rule + "}",
        Source(values, Unit::kPercent) + (baseline_.empty() ? "" : "; decrease in percentage points"));
  }

  // By their short names, so that another template argument is the same kernel.
  void AddKernels() {
    std::map<std::string, double> total_ns;
    std::map<std::string, std::vector<double>> medians_ns;
    for (const Measurement& run : runs_.runs) {
      std::map<std::string, double> of_run;
      for (const Metric& metric : run.metrics) {
        if (!metric.scope.starts_with("kernel:")) continue;
        const std::string name = ShortName(metric.scope.substr(7));
        if (metric.id == "kernels.total_ns") total_ns[name] += metric.value;
        if (metric.id == "kernels.median_ns") of_run[name] = std::max(of_run[name], metric.value);
      }
      for (const auto& [name, ns] : of_run) medians_ns[name].push_back(ns);
    }
    std::vector<std::pair<double, std::string>> order;
    double all_ns = 0;
    for (const auto& [name, ns] : total_ns) {
      order.emplace_back(-ns, name);
      all_ns += ns;
    }
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < std::min(order.size(), kMostKernels); ++i) {
      const auto& [minus_ns, name] = order[i];
      const std::string scope = "kernel:" + name;
      if (-minus_ns < kKernelWorthARule * all_ns || Printable(name) != name || ScopePattern(scope).IsWild()) continue;
      if (medians_ns[name].size() == runs_.runs.size()) AddLooseOf(kKernel, medians_ns[name], scope);
    }
  }

  std::string Guesses() const {
    if (runs_.runs.size() > 1 || !baseline_.empty()) return "";
    return "// A single run shows no noise: the limits on times are guesses. Record several with profile --repeat 5 "
           "--warmup 1.\n";
  }

  std::string Header() const {
    const std::string& program = runs_.runs.front().fingerprint.program;
    std::string text = "// Performance budget" + (program.empty() ? "" : " of " + Printable(program)) +
                       ", written by gprof-cli check --init from " +
                       (runs_.runs.size() == 1 ? Printable(runs_.runs.front().source)
                                               : CountOf(static_cast<int64_t>(runs_.runs.size()), "run")) +
                       ".\n" + Guesses() +
                       "// Edit as needed; docs/commands/check.md describes the rules.\n{\n  \"schema\": " +
                       Quoted(std::string(kBudgetSchema)) + ",\n";
    if (!baseline_.empty()) text += "  \"baseline\": " + Quoted(baseline_) + ",\n";
    return text + "  \"rules\": {\n    // Counters do not depend on timing; the limits are the current values.\n";
  }

  std::string Body() const {
    std::string text;
    std::size_t rules_left = static_cast<std::size_t>(
        std::count_if(lines_.begin(), lines_.end(), [](const auto& line) { return line.second; }));
    for (const auto& [line, is_rule] : lines_) text += line + (is_rule && --rules_left > 0 ? "," : "") + "\n";
    return text + "  }\n}\n";
  }

  const RunSet& runs_;
  const std::string& baseline_;
  std::string pending_section_;
  std::vector<std::pair<std::string, bool>> lines_;  // with whether it is a rule
};

}  // namespace

std::string InitBudget(const RunSet& runs, const std::string& baseline) { return Writer(runs, baseline).Write(); }

}  // namespace gprof
