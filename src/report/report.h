// The result of all analyses of a trace, ready to be printed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/judged_time.h"
#include "analysis/findings/ranked_findings.h"
#include "analysis/registry/compare_traces.h"
#include "analysis/registry/results.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"
#include "report/run_facts.h"

namespace gprof {

struct Section {
  const Analysis* analysis;
  AnalysisResult result;
};

// A program that ran before or after the others of the trace: `bash -c 'a; b'`.
struct ProgramVerdict {
  std::string name;  // "b (4712)"
  std::vector<Finding> findings{};
  std::vector<Metric> totals{};
  JudgedTime judged{};  // that it is judged by
};

struct Report {
  RunFacts run;  // of what was analysed: a selection, or all of it
  std::vector<Section> sections{};
  std::vector<Finding> findings{};  // of all sections, the most rewarding first
  bool has_details = false;         // the analyses were asked for by name: text shows all their tables
  bool is_full = false;             // text and Markdown show all sections, not the first page alone
  bool has_full_names = false;      // in text and Markdown no name is shortened
  bool has_tables = true;           // JSON has the tables; else it says how many it leaves out
  bool has_findings_alone = false;  // no table, no metric
  size_t metric_ranges = 100;  // NVTX ranges whose metrics JSON has: a path may be long, and there may be thousands
  std::optional<RunFacts> whole{};         // of what that was selected from; nothing: it is all of it
  std::string step{};                      // AnalysisOptions::step
  JudgedTime judged{};                     // that findings are judged by, but for those of `programs`
  bool has_whole_graphs = false;           // graphs that were recorded as a whole
  std::vector<ProgramVerdict> programs{};  // where there are several, one after the other: the findings are theirs
  std::string selected{};                  // what was selected, in words
  std::vector<TraceSummary> traces{};      // that `Whole` was merged from; empty for a single one
  std::optional<AnalysisInput> records{};  // what was analysed, for the timeline of a page; results have none
  const RunFacts& Whole() const { return whole ? *whole : run; }
};

// Sorts the rows of every table with a column of that key: numbers from large to small, text by the alphabet; what has
// no value comes last. Then cuts them. False: no table has such a column.
bool SortTables(const std::string& column, uint32_t max_rows, Report* report);

// Where the trace holds programs that ran one after the other, findings are about one of them each. The trace or the
// results have to outlive the report.
Report RunAnalyses(const Trace& trace, const std::vector<const Analysis*>& analyses, const AnalysisOptions& options);
Report RunAnalyses(const Results& results, const std::vector<const Analysis*>& analyses,
                   const AnalysisOptions& options);

// All findings, judged against the time that there is.
std::vector<RankedFinding> RankedFindings(const Report& report);

// As text and Markdown show them: without those about the trace itself, which stand at the top already, and those with
// a leader after the others.
std::vector<RankedFinding> FindingsToShow(const Report& report);

// The evidence that text, Markdown and cards show: on the first page one line.
std::span<const std::string> EvidenceToShow(const Report& report, const Finding& finding);

// "Potential saving: up to 3.00 ms (its basis). …"; for findings with a gain.
std::string GainText(const RankedFinding& ranked);

// Without rows that have no time as long as that, of tables that are sums of time by name; then cut to max_rows.
void LeaveOutShortRows(int64_t min_ns, uint32_t max_rows, Report* report);

// Names of the changes that the findings ask for, for `gprof-cli try`; not those of findings that are minor or about
// what another one is about.
std::vector<std::string> ChangesToTry(const Report& report);

// "gprof-cli report run.trace --full": what shows what the first page leaves out; empty where nothing is left out.
std::string MoreText(const Report& report);

// The metric of the whole trace; nothing where its analysis did not run.
std::optional<double> TotalOf(const Report& report, std::string_view metric);

// The analysis `health` is among those asked for.
bool HasHealth(const Report& report);

// Puts the traces that the report was merged from beside each other, before all other tables.
void AddTraces(std::vector<TraceSummary> traces, const AnalysisOptions& options, Report* report);

// "schema": "gprof.report/1", described in docs/commands/report.md.
std::string RenderReportJson(const Report& report);
// The same document in one line.
std::string RenderCompactReportJson(const Report& report);

// range_words.cpp: what ranges are called in the report of a capture that has no NVTX.

// Ranges of torch.profiler and the like are operators, Python functions and annotations: tables say `Range` instead of
// `NVTX range`, and findings `operator aten::mm` instead of the path that filters take, `cpu_op/aten::mm`.
void NameRanges(const TraceHead& trace, std::vector<Section>* sections);

}  // namespace gprof
