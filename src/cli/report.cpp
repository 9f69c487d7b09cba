#include "cli/report.h"

#include <algorithm>
#include <variant>

#include "analysis/findings.h"
#include "analysis/tables.h"

namespace gprof::cli {

namespace {

// Numbers before text before nothing.
bool ComesFirst(const Cell& a, const Cell& b) {
  const auto rank = [](const Cell& cell) { return std::get_if<std::string>(&cell) ? 1 : cell.index() == 0 ? 2 : 0; };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (const auto* text = std::get_if<std::string>(&a)) return *text < std::get<std::string>(b);
  if (rank(a) == 2) return false;
  const auto* a_whole = std::get_if<int64_t>(&a);
  const auto* b_whole = std::get_if<int64_t>(&b);
  if (a_whole != nullptr && b_whole != nullptr) return *a_whole > *b_whole;
  const auto real = [](const Cell& cell, const int64_t* whole) {
    return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(cell);
  };
  return real(a, a_whole) > real(b, b_whole);
}

}  // namespace

bool SortTables(const std::string& column, uint32_t max_rows, Report* report) {
  bool is_found = false;
  for (Section& section : report->sections) {
    for (Table& table : section.result.tables) {
      const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                      [&](const Column& c) { return c.key == column; });
      if (found != table.columns.end()) {
        is_found = true;
        const auto at = static_cast<std::size_t>(found - table.columns.begin());
        std::stable_sort(table.rows.begin(), table.rows.end(),
                         [at](const auto& a, const auto& b) { return ComesFirst(a[at], b[at]); });
      }
      CutRows(&table, max_rows);
    }
  }
  return is_found;
}

Report RunAnalyses(const Trace& trace, const std::vector<const Analysis*>& analyses, const AnalysisOptions& options) {
  Report report{trace, {}, {}, false, nullptr, {}};
  for (const Analysis* analysis : analyses) {
    report.sections.push_back({analysis, analysis->run(trace, options)});
    const std::vector<Finding>& findings = report.sections.back().result.findings;
    report.findings.insert(report.findings.end(), findings.begin(), findings.end());
  }
  RankFindings(&report.findings);
  return report;
}

}  // namespace gprof::cli
