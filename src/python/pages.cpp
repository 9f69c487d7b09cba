#include "python/pages.h"

#include <cstddef>
#include <string_view>
#include <variant>
#include <vector>

#include "base/units.h"
#include "gprof/analysis.h"
#include "html/page/page.h"
#include "html/page/report_card.h"
#include "html/page/report_page.h"
#include "html/view/browser.h"
#include "report/report.h"
#include "report/trace_amounts.h"

namespace gprof::python {
namespace {

Report Analysed(const Input& input, const AnalysisOptions& options) {
  std::vector<const Analysis*> all;
  for (const Analysis& analysis : AllAnalyses()) all.push_back(&analysis);
  return std::visit([&](const auto& in) { return RunAnalyses(in, all, options); }, input);
}

}  // namespace

std::string ReportOf(const Input& input, const AnalysisOptions& options) {
  return RenderReportJson(Analysed(input, options));
}

std::string Card(const Input& input) { return RenderReportCard(Analysed(input, {})); }

std::string Page(const Input& input, uint64_t event_budget) {
  return PageText(PageOfReport(Analysed(input, {.max_rows = kPageRows}), event_budget));
}

bool OpenFile(const std::string& path) {
  std::string why;
  return !OpenInBrowser(FileUrl(path), &why).empty();
}

std::string Summary(const Input& input) {
  const TraceHead& trace = HeadOf(input);
  const std::size_t operations = std::visit([](const auto& in) { return OperationsIn(in); }, input);
  std::string text =
      FormatNs(trace.end_ns - trace.start_ns) + ", " + CountOf(static_cast<int64_t>(operations), "GPU operation");
  if (!trace.devices.empty()) {
    const std::string_view name = trace.Text(trace.devices.front().name);
    text += " on " + (trace.devices.size() > 1 ? std::to_string(trace.devices.size()) + " x " : "") +
            (name.empty() ? "GPU" : std::string(name));
  }
  return trace.health.IsComplete() ? text : text + "; incomplete";
}

}  // namespace gprof::python
