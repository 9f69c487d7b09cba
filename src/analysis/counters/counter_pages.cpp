#include "analysis/counters/counter_pages.h"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <utility>

#include "analysis/counters/counter_sections.h"
#include "analysis/counters/counter_tables.h"
#include "analysis/counters/diagnosed_kernels.h"
#include "base/units.h"

namespace gprof {
namespace {

std::string ShapeWords(const KernelCounters& kernel, const char* what) {
  std::string words;
  for (const char axis : {'x', 'y', 'z'}) {
    const auto size = kernel.Of(fmt::format("launch__{}_dim_{}", what, axis));
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
    add(fmt::format("GPU {} ({})", device.ordinal, trace.Text(device.name)));
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
  std::vector<CounterPage> pages;
  for (const KernelCounters& kernel : kernels) {
    const std::vector<DiagnosedKernel> one = DiagnosedKernels(trace, {&kernel, 1});
    pages.push_back({kernel.name, LaunchWords(trace, kernel), MeasuredWords(trace, kernel),
                     SectionsOf(trace, kernel, one), FindingsOf(one.front())});
  }
  return pages;
}

}  // namespace gprof
