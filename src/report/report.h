// The result of all analyses of a trace, ready to be printed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/findings/findings.h"
#include "analysis/idle/gaps/steady_time.h"
#include "analysis/result/compare_traces.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

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
  const Trace& trace;  // what was analysed: a selection, or all of it
  std::vector<Section> sections{};
  std::vector<Finding> findings{};  // of all sections, the most rewarding first
  bool has_details = false;         // the analyses were asked for by name: text shows all their tables
  bool is_full = false;             // text and Markdown show all sections, not the first page alone
  bool has_full_names = false;      // in text and Markdown no name is shortened
  size_t metric_ranges = 100;    // NVTX ranges whose metrics JSON has: a path may be long, and there may be thousands
  const Trace* whole = nullptr;  // what `trace` was selected from; nullptr: it is all of it
  std::string step{};            // AnalysisOptions::step
  std::vector<ProgramVerdict> programs{};  // where there are several, one after the other: the findings are theirs
  std::string selected{};                  // what was selected, in words
  std::vector<TraceSummary> traces{};      // that `Whole` was merged from; empty for a single one
  AnalysisInput input{trace};              // of `trace`, with what the analyses derived from it
  const Trace& Whole() const { return whole == nullptr ? trace : *whole; }
  AnalysisInput WholeInput() const { return whole == nullptr ? input : AnalysisInput(*whole); }
};

// Sorts the rows of every table with a column of that key: numbers from large to small, text by the alphabet; what has
// no value comes last. Then cuts them. False: no table has such a column.
bool SortTables(const std::string& column, uint32_t max_rows, Report* report);

// Where the trace holds programs that ran one after the other, findings are about one of them each.
Report RunAnalyses(const Trace& trace, const std::vector<const Analysis*>& analyses, const AnalysisOptions& options);

// All findings, judged against the time that there is.
std::vector<RankedFinding> RankedFindings(const Report& report);

// As text and Markdown show them: without those about the trace itself, which stand at the top already, and those with
// a leader after the others.
std::vector<RankedFinding> FindingsToShow(const Report& report);

// "Potential saving: up to 3.00 ms (its basis). …"; for findings with a gain.
std::string GainText(const RankedFinding& ranked);

// How much of the report text and Markdown show. The first page answers what most people ask; the rest is there for
// who asks for it (--full, --only).
struct ShownTable {
  const Table* table;
  std::size_t rows;    // at most
  bool is_first_page;  // without its note
};
std::vector<ShownTable> TablesToShow(const Report& report);

// "gprof-cli report run.trace --full": what shows what the first page leaves out; empty where nothing is left out.
std::string MoreText(const Report& report);

// The analysis `health` is among those asked for.
bool HasHealth(const Report& report);

// Puts the traces that the report was merged from beside each other, before all other tables.
void AddTraces(std::vector<TraceSummary> traces, const AnalysisOptions& options, Report* report);

// "schema": "gprof.report/1", described in docs/commands/report.md.
std::string RenderReportJson(const Report& report);
// The same document in one line.
std::string RenderCompactReportJson(const Report& report);

}  // namespace gprof
