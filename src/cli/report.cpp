#include "cli/report.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>
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

namespace {

// Analyses are pure functions of the same trace, so a large one keeps as many cores busy as there are.
void RunSections(const Trace& trace, const AnalysisOptions& options, std::vector<Section>* sections) {
  constexpr std::size_t kWorthThreads = 200'000;  // operations, calls and ranges
  const bool is_large = trace.ops.size() + trace.api_calls.size() + trace.ranges.size() >= kWorthThreads;
  const std::size_t cores = is_large ? std::max(1u, std::thread::hardware_concurrency()) : 1;
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failures(sections->size());
  const auto work = [&] {
    for (std::size_t i = next++; i < sections->size(); i = next++) {
      Section& section = (*sections)[i];
      try {
        section.result = section.analysis->run(trace, options);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (std::size_t i = 1; i < std::min(cores, sections->size()); ++i) helpers.emplace_back(work);
    } catch (const std::system_error&) {  // a limit of processes: those that did start will do
    }
    work();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace

Report RunAnalyses(const Trace& trace, const std::vector<const Analysis*>& analyses, const AnalysisOptions& options) {
  Report report{trace, {}, {}, false, nullptr, {}, {}};
  for (const Analysis* analysis : analyses) report.sections.push_back({analysis, {}});
  RunSections(trace, options, &report.sections);
  for (const Section& section : report.sections) {
    const std::vector<Finding>& findings = section.result.findings;
    report.findings.insert(report.findings.end(), findings.begin(), findings.end());
  }
  RankFindings(&report.findings);
  return report;
}

void AddTraces(std::vector<TraceSummary> traces, const AnalysisOptions& options, Report* report) {
  // Not in the registry: it compares traces, and has nothing to say of one.
  static constexpr Analysis kTraces{"traces", "the traces of one run beside each other", nullptr};
  FindStragglers(&traces);
  AnalysisResult result = CompareTraces(traces, options);
  report->findings.insert(report->findings.end(), result.findings.begin(), result.findings.end());
  RankFindings(&report->findings);
  report->sections.insert(report->sections.begin(), Section{&kTraces, std::move(result)});
  report->traces = std::move(traces);
}

}  // namespace gprof::cli
