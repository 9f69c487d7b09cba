#include "cli/measuring/counter_plans.h"

#include <fmt/format.h>
#include <unistd.h>

#include "analysis/facts/counters/counter_sections.h"
#include "base/json_style.h"
#include "base/table.h"
#include "base/terminal.h"
#include "base/units.h"

namespace gprof::cli {
namespace {

std::string Render(const TextTable& table) {
  const Terminal terminal = DetectTerminal(STDOUT_FILENO);
  return RenderTable(table, terminal.columns, Style(terminal.has_color));
}

}  // namespace

std::string CounterSetsText() {
  TextTable table{{{"Set"}, {"Sections", true}, {"What it has"}}, {}};
  for (const CounterSet& set : CounterSets()) {
    table.rows.push_back({std::string(set.name), std::to_string(set.sections.size()), std::string(set.meaning)});
  }
  return Render(table);
}

std::string CounterSectionsText() {
  TextTable table{{{"Section"}, {"In ncu"}, {"What it has"}}, {}};
  for (const CounterSection& section : CounterSections()) {
    table.rows.push_back({std::string(section.id.substr(section.id.find('_') + 1)), std::string(section.ncu_name),
                          std::string(section.meaning)});
  }
  return Render(table);
}

// Those of a namespace (SM_A.TriageCompute.…), which are made for samples over time, come last.
std::string ChipMetricsText(const counters::Chip& chip) {
  constexpr const char* kTypes[] = {"counter", "ratio", "throughput"};
  std::string text, of_namespaces;
  for (const counters::MetricType type : counters::kMetricTypes) {
    for (const std::string& name : chip.BaseMetrics(type)) {
      const counters::MetricProperties properties = chip.PropertiesOf(name);
      std::string& part = name.find('.') == std::string::npos ? text : of_namespaces;
      part += fmt::format("{}\t{}\t{}\t{}\n", name, kTypes[static_cast<int>(type)], properties.unit,
                          properties.description);
    }
  }
  return text + of_namespaces;
}

std::string CounterPlansText(const counters::HostLibrary& library, const std::vector<counters::Plan>& plans) {
  std::string text = fmt::format("Library   {}, {}\n\n", library.Version(), library.path());
  TextTable table{{{"Chip"}, {"Metrics", true}, {"Passes", true}, {"Per launch", true}, {"Not available", true}}, {}};
  for (const counters::Plan& plan : plans) {
    if (plan.problem.empty())
      table.rows.push_back({plan.chip, std::to_string(plan.metrics.size()), std::to_string(plan.passes),
                            FormatNs(counters::ReplayMs(plan.passes) * 1e6), std::to_string(plan.unavailable.size())});
  }
  text += Render(table);
  text += "Per launch: with kernel replay, as measured on an H200, without the time of the kernel itself.\n";
  for (const counters::Plan& plan : plans) {
    if (!plan.problem.empty()) text += plan.problem + "\n";
  }
  if (plans.size() != 1 || plans.front().unavailable.empty()) return text;
  text += fmt::format("\nNot available on {}\n", plans.front().chip);
  for (const std::string& metric : plans.front().unavailable) {
    const auto meant = plans.front().meant.find(metric);
    const bool has_other = meant != plans.front().meant.end() && !meant->second.empty();
    text += "  " + metric + (has_other ? ": did you mean " + meant->second + "?" : "") + "\n";
  }
  return text;
}

std::string CounterPlansJson(const counters::HostLibrary& library, const std::vector<counters::Plan>& plans) {
  Json all = Json::array();
  for (const counters::Plan& plan : plans) {
    if (!plan.problem.empty()) {
      all.push_back({{"chip", plan.chip}, {"problem", plan.problem}});
      continue;
    }
    all.push_back({{"chip", plan.chip},
                   {"passes", plan.passes},
                   {"metrics", plan.metrics},
                   {"unavailable", plan.unavailable},
                   {"config_bytes", plan.config_bytes},
                   {"replay_ms_per_launch", counters::ReplayMs(plan.passes)}});
  }
  const Json document = {
      {"schema", "gprof.counter_plan/1"}, {"library", library.Version()}, {"path", library.path()}, {"chips", all}};
  return document.dump(2) + "\n";
}

}  // namespace gprof::cli
