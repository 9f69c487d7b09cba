#include "analysis/topics/counters/counter_pages.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "analysis/causes/counters/counter_rules.h"
#include "analysis/facts/counters/counter_sections.h"
#include "analysis/topics/counters/counter_tables.h"
#include "base/units.h"

namespace gprof {
namespace {

std::string ShapeWords(const KernelCounters& kernel, const char* what) {
  std::string words;
  for (const char axis : {'x', 'y', 'z'}) {
    const auto size = kernel.Value(fmt::format("launch__{}_dim_{}", what, axis));
    if (!size) return {};
    words += (words.empty() ? "" : " x ") + FormatCount(std::llround(*size));
  }
  return words;
}

std::string LaunchWords(const Trace& trace, const KernelCounters& kernel) {
  std::string words;
  const auto add = [&](const std::string& text) { words += (words.empty() ? "" : ", ") + text; };
  for (const char* const what : {"grid", "block"}) {
    const std::string shape = ShapeWords(kernel, what);
    if (!shape.empty()) add(fmt::format("{} {}", what, shape));
  }
  if (kernel.device != kNone) {
    const Device& device = trace.devices[kernel.device];
    const std::string_view name = trace.Text(device.name);
    add(name.empty() ? fmt::format("GPU {}", device.ordinal) : fmt::format("GPU {} ({})", device.ordinal, name));
  }
  return words;
}

const char* ReplayWords(trace::ReplayMode replay) {
  switch (replay) {
    case trace::ReplayMode::kKernel:
      return " (kernel replay)";
    case trace::ReplayMode::kApplication:
      return " (a run of the program for each)";
    case trace::ReplayMode::kNone:
    case trace::ReplayMode::kRange:
    case trace::ReplayMode::kUnknown:
      break;
  }
  return "";
}

std::string MeasuredWords(const Trace& trace, const KernelCounters& kernel) {
  std::string words = fmt::format("{} {}", FormatCount(kernel.launches), kernel.launches == 1 ? "launch" : "launches");
  if (kernel.launches > 1) words += " (values are means)";
  const CounterPlan* const plan = kernel.plan == kNone ? nullptr : &trace.counter_plans[kernel.plan];
  if (kernel.passes > 0) {
    words += fmt::format(", {} {}", kernel.passes, kernel.passes == 1 ? "pass" : "passes");
    if (plan != nullptr && kernel.passes > 1) words += ReplayWords(plan->replay);
  }
  if (kernel.includes_launch) words += ", durations include the launch of the kernel";
  const std::string conditions = plan == nullptr ? std::string() : ConditionsOf(*plan);
  return conditions.empty() ? words : words + ", " + conditions;
}

Table WithoutKernel(Table table) {
  table.columns.erase(table.columns.begin());
  for (std::vector<Cell>& row : table.rows) row.erase(row.begin());
  return table;
}

// Of metrics that are counters.
std::map<std::string_view, std::string_view> UnitsOf(const Trace& trace) {
  std::map<std::string_view, std::string_view> units;
  for (const CounterValue& value : trace.counter_values) {
    const std::string_view metric = trace.Text(value.metric);
    if (value.text == NameId{} && !metric.starts_with("launch__") && !metric.starts_with("device__"))
      units[metric] = trace.Text(value.unit);
  }
  return units;
}

std::string NumberText(double value) {
  constexpr double kExact = 1e15;
  const bool is_whole = std::abs(value) < kExact && value == std::round(value);
  return is_whole ? FormatCount(std::llround(value)) : fmt::format("{:.6g}", value);
}

Table MetricTable(const KernelCounters& kernel, const std::map<std::string_view, std::string_view>& units,
                  const std::string& title) {
  Table table{"counter_metrics",
              title,
              {{"metric", "Metric", Unit::kText}, {"value", "Value", Unit::kText}, {"unit", "Unit", Unit::kText}},
              {},
              ""};
  for (const std::string_view name : kernel.Metrics()) {
    const auto unit = units.find(name);
    const auto value = kernel.Value(name);
    if (unit != units.end() && value)
      table.rows.push_back({std::string(name), NumberText(*value), std::string(unit->second)});
  }
  return table;
}

// Those that no section has: somebody asked for them by name. Nsight Compute has hundreds, which --csv prints.
std::map<std::string_view, std::string_view> UnitsOfOthers(const Trace& trace) {
  constexpr std::size_t kMost = 50;
  std::map<std::string_view, std::string_view> units = UnitsOf(trace);
  for (const CounterSection& section : CounterSections()) {
    for (const auto& names : MetricsOf(section)) {
      for (const std::string_view name : names) units.erase(name);
    }
  }
  if (units.size() > kMost) units.clear();
  return units;
}

std::vector<CounterPage::Section> SectionsOf(const Trace& trace, const KernelCounters& kernel,
                                             std::span<const DiagnosedKernel> one) {
  std::vector<CounterPage::Section> sections;
  for (const CounterSection& section : CounterSections()) {
    CounterPage::Section on_page;
    if (!section.columns.empty()) on_page.figures = WithoutKernel(SectionTable(section, one, 1));
    for (Table& table : LongTablesOf(section.id, trace, {&kernel, 1})) {
      if (!table.rows.empty()) on_page.parts.push_back(WithoutKernel(std::move(table)));
    }
    if (!on_page.figures.rows.empty() || !on_page.parts.empty()) sections.push_back(std::move(on_page));
  }
  return sections;
}

}  // namespace

std::vector<CounterPage> CounterPagesOf(const Trace& trace) {
  const std::vector<KernelCounters> kernels = KernelCountersOf(trace);
  const std::map<std::string_view, std::string_view> others = UnitsOfOthers(trace);
  std::vector<CounterPage> pages;
  for (const KernelCounters& kernel : kernels) {
    const std::vector<DiagnosedKernel> one = DiagnosedKernels(trace, {&kernel, 1});
    pages.push_back({kernel.name, LaunchWords(trace, kernel), MeasuredWords(trace, kernel),
                     SectionsOf(trace, kernel, one), FindingsOf(one.front())});
    Table table = MetricTable(kernel, others, "Other metrics");
    if (!table.rows.empty()) pages.back().sections.push_back({{}, {std::move(table)}});
  }
  return pages;
}

std::vector<CounterPage> MetricPagesOf(const Trace& trace) {
  const std::map<std::string_view, std::string_view> units = UnitsOf(trace);
  std::vector<CounterPage> pages;
  for (const KernelCounters& kernel : KernelCountersOf(trace)) {
    pages.push_back({kernel.name,
                     LaunchWords(trace, kernel),
                     MeasuredWords(trace, kernel),
                     {{{}, {MetricTable(kernel, units, "Metrics")}}},
                     {}});
  }
  return pages;
}

}  // namespace gprof
