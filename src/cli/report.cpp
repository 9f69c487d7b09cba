#include "cli/report.h"

#include "analysis/findings.h"

namespace gprof::cli {

Report RunAnalyses(const Trace& trace, const std::vector<const Analysis*>& analyses, const AnalysisOptions& options) {
  Report report{trace, {}, {}, false};
  for (const Analysis* analysis : analyses) {
    report.sections.push_back({analysis, analysis->run(trace, options)});
    const std::vector<Finding>& findings = report.sections.back().result.findings;
    report.findings.insert(report.findings.end(), findings.begin(), findings.end());
  }
  RankFindings(&report.findings);
  return report;
}

}  // namespace gprof::cli
