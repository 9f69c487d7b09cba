#include "counters/metric_names.h"

#include <algorithm>

#include "analysis/facts/counters/counter_sections.h"
#include "base/expression/regular_expression.h"
#include "base/text.h"
#include "counters/throughput_parts.h"
#include "gprof/error.h"

namespace gprof::counters {
namespace {

constexpr std::string_view kRegex = "regex:", kGroup = "group:", kBreakdown = "breakdown:";
constexpr const char* kRollups[][4] = {{".sum", ".avg", ".min", ".max"},
                                       {".ratio", ".pct", nullptr, nullptr},
                                       {".avg.pct_of_peak_sustained_elapsed", nullptr, nullptr, nullptr}};

void AddRollups(const Chip& chip, MetricType type, const std::string& base, Metrics* metrics) {
  const std::vector<std::string> known = chip.SubMetrics(type, base);
  for (const char* const rollup : kRollups[static_cast<int>(type)]) {
    if (rollup != nullptr && std::find(known.begin(), known.end(), rollup) != known.end())
      metrics->push_back({base + rollup});
  }
}

// What some ending is the beginning of, where it is none itself: counters have several, and all end with a word.
std::string WholeRollup(std::string_view rollup) {
  constexpr std::string_view kReductions[] = {".sum", ".avg", ".min", ".max"};
  constexpr std::string_view kEnds[] = {".pct_of_peak_sustained_active", ".pct_of_peak_sustained_elapsed",
                                        ".peak_sustained_active", ".per_cycle_active", ".per_second"};
  for (const std::string_view reduction : kReductions) {
    if (!rollup.starts_with(reduction)) continue;
    const std::string_view rest = rollup.substr(reduction.size());
    if (rest.size() < 2) return "";  // nothing to go by
    for (const std::string_view end : kEnds) {
      if (end.starts_with(rest) && end != rest && rest != ".peak_sustained") return std::string(reduction).append(end);
    }
  }
  return "";
}

template <class F>
Metrics OfBaseMetrics(const Chip& chip, F&& is_wanted) {
  Metrics metrics;
  for (const MetricType type : kMetricTypes) {
    for (const std::string& base : chip.BaseMetrics(type)) {
      if (is_wanted(base)) AddRollups(chip, type, base, &metrics);
    }
  }
  return metrics;
}

Metrics OfExpression(const Chip& chip, const std::string& text) {
  const RegularExpression expression(text, "example: --metrics 'regex:^dram__bytes'");
  return OfBaseMetrics(chip, [&](const std::string& base) { return expression(base); });
}

// The throughput and what it is the maximum of, in the same unit.
Metrics OfBreakdown(const Chip& chip, const std::string& metric) {
  const std::size_t dot = metric.find('.');
  const std::string base = metric.substr(0, dot);
  const std::string rollup = dot == std::string::npos ? kRollups[2][0] : metric.substr(dot);
  const std::vector<std::string> parts = ThroughputParts(chip.name(), base);
  if (parts.empty())
    throw Error(ExitCode::kUsage,
                "'" + base + "' is no throughput of " + chip.name() + " that libnvperf_host breaks down",
                "gprof-cli counters --query-metrics --chip " + chip.name() + " lists its throughputs");
  Metrics metrics = {{base + rollup}};
  for (const std::string& part : parts) metrics.push_back({part + rollup});
  return metrics;
}

// What has the numbers of sections of ncu that are about more than a launch.
std::string HintForSection(const std::string& name) {
  if (name == "SourceCounters") return "gprof-cli counters --page source samples instructions and what they wait for";
  if (name.starts_with("PmSampling") || name.starts_with("Nvlink"))
    return "gprof-cli profile --gpu-metrics-devices all samples the whole GPU over time";
  std::vector<std::string> names;
  for (const CounterSection& section : CounterSections()) {
    names.emplace_back(section.id.substr(section.id.find('_') + 1));
    names.emplace_back(section.ncu_name);
  }
  return NearestHint(name, names, "--list-sections lists them");
}

}  // namespace

std::string NearestMetric(const Chip& chip, const std::string& metric) {
  const std::size_t dot = metric.find('.');
  const std::string base = metric.substr(0, dot), rollup = dot == std::string::npos ? "" : metric.substr(dot);
  std::vector<std::string> bases;
  for (const MetricType type : kMetricTypes) {
    const std::vector<std::string> rollups = chip.SubMetrics(type, base);
    if (!rollups.empty()) return base + (Nearest(rollup, rollups).empty() ? rollups.front() : Nearest(rollup, rollups));
    for (std::string& name : chip.BaseMetrics(type)) bases.push_back(std::move(name));
  }
  const std::string nearest = Nearest(base, bases);
  return nearest.empty() ? nearest : nearest + rollup;
}

void RequireMetricName(const std::string& word) {
  if (word.find(':') != std::string::npos) return;  // group:SECTION and the like
  if (const CounterSection* const section = FindCounterSection(word)) {
    const std::string name(section->id.substr(section->id.find('_') + 1));
    throw Error(ExitCode::kUsage, "--metrics: '" + word + "' is a section, not a metric",
                "--section " + name + " measures it, or --metrics " + std::string(MetricsOf(*section).front().front()) +
                    " one of its metrics");
  }
  if (word.find("__") == std::string::npos) {
    throw Error(ExitCode::kUsage, "--metrics: no metric is called '" + word + "'",
                "metrics are named as in sm__warps_active.avg.pct_of_peak_sustained_active; gprof-cli counters "
                "--query-metrics lists them");
  }
  const std::size_t dot = word.find('.');
  const std::string meant = dot == std::string::npos ? "" : WholeRollup(word.substr(dot));
  if (meant.empty()) return;
  throw Error(ExitCode::kUsage, "--metrics: '" + word + "' is only the beginning of a name",
              "did you mean " + word.substr(0, dot) + meant + "?");
}

bool NeedsChip(const std::string& word) { return word.starts_with(kRegex) || word.starts_with(kBreakdown); }

Metrics MetricsOfSection(const std::string& name) {
  const CounterSection* const section = FindCounterSection(name);
  if (section == nullptr) throw Error(ExitCode::kUsage, "there is no section '" + name + "'", HintForSection(name));
  Metrics metrics;
  for (const auto names : MetricsOf(*section)) metrics.emplace_back(names.begin(), names.end());
  if (section->with.empty()) return metrics;
  for (auto& names : MetricsOfSection(std::string(section->with))) metrics.push_back(std::move(names));
  return metrics;
}

Metrics MetricsOfWord(const Chip& chip, const std::string& word) {
  if (word.starts_with(kRegex)) return OfExpression(chip, word.substr(kRegex.size()));
  if (word.starts_with(kGroup)) return MetricsOfSection(word.substr(kGroup.size()));
  if (word.starts_with(kBreakdown)) return OfBreakdown(chip, word.substr(kBreakdown.size()));
  if (word.find('.') != std::string::npos) return {{word}};
  Metrics metrics = OfBaseMetrics(chip, [&](const std::string& base) { return base == word; });
  return metrics.empty() ? Metrics{{word}} : metrics;
}

Metrics MetricsOfWord(const std::string& word) {
  if (word.starts_with(kGroup)) return MetricsOfSection(word.substr(kGroup.size()));
  if (NeedsChip(word))
    throw Error(ExitCode::kUsage, "'" + word + "' needs the name of a chip", "add --chip, for example --chip GH100");
  if (word.find('.') != std::string::npos) return {{word}};
  Metrics metrics;
  for (const auto& rollups : kRollups) {
    for (const char* const rollup : rollups) {
      if (rollup != nullptr) metrics.push_back({word + rollup});
    }
  }
  return metrics;
}

}  // namespace gprof::counters
