#include "gprof/library.h"

#include "analysis/result/run_analyses.h"
#include "analysis/trust/unknown_facts.h"
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

std::vector<std::string_view> LackingFacts(const Trace& trace) {
  std::vector<std::string_view> keys;
  ForEachFact(trace.lacks, [&](Fact fact) { keys.push_back(InfoOf(fact).key); });
  return keys;
}

std::string ReportJson(const Trace& trace, const AnalysisOptions& options) {
  return RenderReportJson(RunAnalyses(trace, PointersToAll(), options));
}

}  // namespace gprof
