#include "counters/metric_names.h"

#include <algorithm>
#include <regex>

#include "analysis/counters/counter_sections.h"
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
  try {
    const std::regex expression(text);
    return OfBaseMetrics(chip, [&](const std::string& base) { return std::regex_search(base, expression); });
  } catch (const std::regex_error& e) {
    throw Error(ExitCode::kUsage, "'" + text + "' is not a valid regular expression: " + e.what(),
                "write for example --metrics 'regex:^dram__bytes'");
  }
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

bool NeedsChip(const std::string& word) { return word.starts_with(kRegex) || word.starts_with(kBreakdown); }

Metrics MetricsOfSection(const std::string& name) {
  const CounterSection* const section = FindCounterSection(name);
  if (section == nullptr) throw Error(ExitCode::kUsage, "there is no section '" + name + "'", HintForSection(name));
  Metrics metrics;
  for (const auto names : MetricsOf(*section)) metrics.emplace_back(names.begin(), names.end());
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
