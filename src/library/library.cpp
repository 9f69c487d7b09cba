#include "gprof/library.h"

#include "analysis/result/run_analyses.h"
#include "report/report.h"

namespace gprof {
namespace {

std::vector<const Analysis*> PointersToAll() {
  std::vector<const Analysis*> all;
  for (const Analysis& analysis : AllAnalyses()) all.push_back(&analysis);
  return all;
}

}  // namespace

std::vector<AnalysisResult> RunAllAnalyses(const Trace& trace, const AnalysisOptions& options) {
  return RunAll(AnalysisInput(trace), PointersToAll(), options);
}

std::string ReportJson(const Trace& trace, const AnalysisOptions& options) {
  return cli::RenderReportJson(cli::RunAnalyses(trace, PointersToAll(), options));
}

}  // namespace gprof
