#include "python/pages.h"

#include <string_view>
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

Report Analysed(const Trace& trace, uint32_t max_rows) {
  std::vector<const Analysis*> all;
  for (const Analysis& analysis : AllAnalyses()) all.push_back(&analysis);
  AnalysisOptions options;
  options.max_rows = max_rows;
  return RunAnalyses(trace, all, options);
}

}  // namespace

std::string Card(const Trace& trace) { return RenderReportCard(Analysed(trace, AnalysisOptions{}.max_rows)); }

std::string Page(const Trace& trace, uint64_t event_budget) {
  return PageText(PageOfReport(Analysed(trace, kPageRows), event_budget));
}

bool OpenFile(const std::string& path) {
  std::string why;
  return !OpenInBrowser(FileUrl(path), &why).empty();
}

std::string Summary(const Trace& trace) {
  std::string text = FormatNs(trace.end_ns - trace.start_ns) + ", " +
                     CountOf(static_cast<int64_t>(OperationsIn(trace)), "GPU operation");
  if (!trace.devices.empty()) {
    const std::string_view name = trace.Text(trace.devices.front().name);
    text += " on " + (trace.devices.size() > 1 ? std::to_string(trace.devices.size()) + " x " : "") +
            (name.empty() ? "GPU" : std::string(name));
  }
  return trace.health.IsComplete() ? text : text + "; incomplete";
}

}  // namespace gprof::python
