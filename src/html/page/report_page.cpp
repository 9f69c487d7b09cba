#include "html/page/report_page.h"

#include <string_view>
#include <vector>

#include "export/output/output_stream.h"
#include "html/page/finding_places.h"
#include "html/page/flame_data.h"
#include "html/page/occupancy_data.h"
#include "report/report_head.h"
#include "report/time_split.h"

namespace gprof {
namespace {

constexpr std::size_t kLongestTitle = 200;

}  // namespace

PageContents PageOfReport(const Report& report, uint64_t event_budget) {
  PageContents contents;
  contents.title = ProgramOf(report, kLongestTitle);
  const std::vector<std::string> verdict = VerdictOf(report, 1);
  const bool has_counters = report.records && (!report.records->trace().counter_ranges.empty() ||
                                               !report.records->trace().pc_samples.empty());
  contents.verdict = !verdict.empty() ? verdict.front() : has_counters ? "kernel counters only" : "no GPU work";
  contents.report = RenderCompactReportJson(report);
  // In the order of the document, which places refer to.
  std::vector<Finding> findings;
  for (const RankedFinding& ranked : RankedFindings(report)) findings.push_back(*ranked.finding);
  contents.places = PlacesOf(findings);
  if (report.records) {
    contents.flames = FlamesJson(report);
    contents.occupancy = OccupancyJson(*report.records);
    contents.timelines.push_back({*report.records, report.Whole().head->path, report.step});
  }
  contents.event_budget = event_budget;
  return contents;
}

std::string PageText(const PageContents& contents) {
  std::string text;
  OutputStream stream([&text](std::string_view bytes) { text += bytes; }, false);
  WritePage(contents, stream);
  stream.Finish();
  return text;
}

}  // namespace gprof
