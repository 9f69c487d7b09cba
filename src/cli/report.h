// The result of all analyses of a trace, ready to be printed.
#pragma once

#include <string>
#include <vector>

#include "base/terminal.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof::cli {

struct Section {
  const Analysis* analysis;
  AnalysisResult result;
};

struct Report {
  const Trace& trace;
  std::vector<Section> sections;
  std::vector<Finding> findings;  // of all sections, the most rewarding first
  bool has_details = false;       // the analyses were asked for by name: text shows all their tables
};

Report RunAnalyses(const Trace& trace, const std::vector<const Analysis*>& analyses, const AnalysisOptions& options);

std::string RenderReportText(const Report& report, const Terminal& terminal);

// "schema": "gprof.report/1", described in docs/commands/report.md.
std::string RenderReportJson(const Report& report);

}  // namespace gprof::cli
