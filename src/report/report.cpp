#include "report/report.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <variant>

#include "analysis/facts/shared_facts.h"
#include "analysis/idle/steady_time.h"
#include "analysis/result/findings.h"
#include "analysis/result/run_analyses.h"
#include "analysis/result/tables.h"
#include "base/units.h"

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
      const auto found =
          std::find_if(table.columns.begin(), table.columns.end(), [&](const Column& c) { return c.key == column; });
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
  Report report{.trace = trace, .input = AnalysisInput(trace)};
  std::vector<AnalysisResult> results = RunAll(report.input, analyses, options);
  for (std::size_t i = 0; i < analyses.size(); ++i) report.sections.push_back({analyses[i], std::move(results[i])});
  for (const Section& section : report.sections) {
    const std::vector<Finding>& findings = section.result.findings;
    report.findings.insert(report.findings.end(), findings.begin(), findings.end());
  }
  RankFindings(&report.findings);
  return report;
}

std::vector<RankedFinding> RankedFindings(const Report& report) {
  std::vector<Metric> totals;
  for (const Section& section : report.sections) {
    const std::vector<Metric>& metrics = section.result.metrics;
    std::copy_if(metrics.begin(), metrics.end(), std::back_inserter(totals),
                 [](const Metric& metric) { return metric.scope.empty(); });
  }
  const DeviceTimes& times = report.input.shared().judged(report.input).devices;
  // What is copied and computed before the steady time comes once, and its idle time has findings of its own.
  for (Metric& metric : totals) {
    if (metric.id == "gpu.kernel_ns") metric.value = static_cast<double>(times.kernel_ns);
    if (metric.id == "gpu.copy_only_ns") metric.value = static_cast<double>(times.busy_ns - times.kernel_ns);
  }
  return JudgeFindings(report.findings, totals, times.window_ns);
}

std::vector<RankedFinding> FindingsToShow(const Report& report) {
  std::vector<RankedFinding> ranked = RankedFindings(report);
  std::erase_if(ranked, [](const RankedFinding& r) { return r.finding->id.starts_with("health."); });
  return ranked;
}

std::string GainText(const RankedFinding& ranked) {
  const Finding& finding = *ranked.finding;
  const bool is_led = ranked.leader != nullptr;
  const int64_t gain_ns = is_led ? finding.gain_ns : ranked.gain_ns;
  std::string text = "Potential saving: up to " + FormatNs(static_cast<double>(gain_ns)) +
                     (finding.basis.empty() ? "" : " (" + finding.basis + ")") + ".";
  if (is_led) {
    text += " Overlaps with " + ranked.leader->id + "; do not add the two.";
  } else if (gain_ns < finding.gain_ns) {
    text += " Another " + FormatNs(static_cast<double>(finding.gain_ns - gain_ns)) +
            " is covered by other findings or hidden behind other work.";
  }
  return text;
}

namespace {

struct FirstPageTable {
  std::string_view id;
  std::size_t rows;
  bool is_for_several = false;  // only where it has more than one row
};

constexpr FirstPageTable kFirstPage[] = {
    {"traces", 10}, {"devices", 10, true}, {"kernels", 5}, {"memcpy", 5}, {"api", 5}};

}  // namespace

std::vector<ShownTable> TablesToShow(const Report& report) {
  std::vector<ShownTable> shown;
  const bool is_first_page = !report.is_full && !report.has_details;
  for (const Section& section : report.sections) {
    for (const Table& table : section.result.tables) {
      if (table.rows.empty() || table.id == "health" || (table.is_detail && !report.has_details)) continue;
      const auto* page = std::find_if(std::begin(kFirstPage), std::end(kFirstPage),
                                      [&](const FirstPageTable& t) { return t.id == table.id; });
      if (!is_first_page) {
        shown.push_back({&table, table.rows.size(), false});
      } else if (page != std::end(kFirstPage) && (!page->is_for_several || table.rows.size() > 1)) {
        shown.push_back({&table, std::min(page->rows, table.rows.size()), true});
      }
    }
  }
  return shown;
}

std::string MoreText(const Report& report) {
  if (report.is_full || report.has_details) return "";
  const std::string& path = report.Whole().path;
  if (path.empty() || !report.traces.empty())
    return "--full for all sections, --only NAME for one (--list for the names)";
  return "gprof-cli report " + path + " --full, or gprof-cli view " + path;
}

bool HasHealth(const Report& report) {
  return std::any_of(report.sections.begin(), report.sections.end(),
                     [](const Section& section) { return section.analysis->name == "health"; });
}

void AddTraces(std::vector<TraceSummary> traces, const AnalysisOptions& options, Report* report) {
  // Not in the registry: it compares traces, and has nothing to say of one.
  static constexpr Analysis kTraces{"traces", "the traces of one run side by side", nullptr};
  FindStragglers(&traces);
  AnalysisResult result = CompareTraces(traces, options);
  report->findings.insert(report->findings.end(), result.findings.begin(), result.findings.end());
  RankFindings(&report->findings);
  report->sections.insert(report->sections.begin(), Section{&kTraces, std::move(result)});
  report->traces = std::move(traces);
}

}  // namespace gprof::cli
