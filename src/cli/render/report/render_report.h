// A report as people and spreadsheets read it. As JSON, which programs outside of the command want as well, it is made
// in report/report.h.
#pragma once

#include <string>
#include <vector>

#include "base/terminal.h"
#include "gprof/analysis.h"
#include "report/lines/annotated_file.h"
#include "report/report.h"

namespace gprof::cli {

std::string RenderReportText(const Report& report, const Terminal& terminal);

// One line for logs: "run.trace: kernels 3.1%, …; memcpy.pageable up to 34.80 ms; …".
std::string RenderReportLine(const Report& report);

// The same sections as the text, for pages that show Markdown as GitHub does.
std::string RenderReportMarkdown(const Report& report);

// A source file with the figures of its lines beside it: those that have some and a few around them, or all. `source`
// is empty where the file cannot be read.
std::string RenderAnnotationText(const AnnotatedFile& file, const std::vector<std::string>& source, bool is_full,
                                 const Terminal& terminal);
std::string RenderAnnotationMarkdown(const AnnotatedFile& file, const std::vector<std::string>& source, bool is_full);

// A table as CSV: the keys of its columns, then plain numbers. Tables are named "analysis.table": "idle.gaps"; beside
// those of the analyses there are "metrics", "findings" and "trust".
struct NamedTable {
  std::string name;
  Table table;
};
std::vector<NamedTable> AllTables(const Report& report);
std::string RenderCsv(const Table& table);

}  // namespace gprof::cli
