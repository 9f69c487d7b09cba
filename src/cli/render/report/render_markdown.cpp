// The report as Markdown, for pull requests and wikis.
#include "analysis/result/tables.h"
#include "base/units.h"
#include "cli/render/markdown.h"
#include "cli/render/report/render_report.h"
#include "report/report_head.h"
#include "report/shown/shown_tables.h"
#include "report/time_split.h"
#include "report/trace_words.h"
#include "report/trust.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kColumns = 120;     // room for command lines, and of the bar
constexpr std::size_t kLongestName = 48;  // of a kernel: pages break lines, but a signature may have thousands of bytes

class MarkdownReport {
 public:
  explicit MarkdownReport(const Report& report) : report_(report), run_(report.Whole()) {}

  std::string Render() {
    out_ = "# GPU performance report\n\n";
    for (const HeadLine& line : HeadOf(report_, kColumns)) Item(line.label, line.text);
    Health();
    Verdict();
    Findings();
    if (report_.has_findings_alone) return std::move(out_);
    for (const ShownTable& which : TablesToShow(report_)) AddTable(*which.table, which);
    if (HasHealth(report_)) {
      const Table trust = TrustTable(run_);
      AddTable(trust, {&trust, trust.rows.size(), false});
    }
    return std::move(out_);
  }

 private:
  void Item(const std::string& label, const std::string& text) {
    out_ += "* **" + label + "**: " + MarkdownEscaped(text) + "\n";
  }

  void Health() {
    const std::vector<Finding>& findings = run_.health;
    const bool is_said_below = HasHealth(report_);
    if (is_said_below && findings.empty()) return;
    const char* whole = findings.empty() ? "yes" : "yes, with notes:";
    Item("Complete",
         run_.head->health.IsComplete() ? whole : "NO: figures below cover only the data that was recovered");
    for (const Finding& f : findings) out_ += "  * " + MarkdownEscaped(f.message) + "\n";
    const std::string overhead = OverheadText(run_);
    if (!overhead.empty() && !is_said_below) Item("Overhead", overhead);
  }

  void Verdict() {
    const std::vector<std::string> lines = VerdictOf(report_, kColumns);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i == 0) Item("GPU", lines[i]);
      if (i == 1) out_ += "  `" + lines[i] + "`\n";
      if (i > 1) out_ += "  " + MarkdownEscaped(lines[i]) + "\n";
    }
    if (const std::string steps = StepsOf(report_); !steps.empty()) Item("Steps", steps);
    if (run_.why_no_gpu_work.empty()) return;
    out_ += "\n## No GPU work in this trace\n\n";
    for (const std::string& reason : run_.why_no_gpu_work) out_ += MarkdownEscaped(reason) + "\n";
  }

  void Findings() {
    std::size_t number = 0;
    for (const RankedFinding& ranked : FindingsToShow(report_)) {
      const Finding& f = *ranked.finding;
      if (number++ == 0) out_ += "\n## Findings\n\n";
      out_ += std::to_string(number) + ". **" + MarkdownEscaped(f.message) + "**\n";
      for (const std::string& line : EvidenceToShow(report_, f)) out_ += "   * " + MarkdownEscaped(line) + "\n";
      if (!f.advice.empty()) out_ += "   " + MarkdownEscaped(f.advice) + "\n";
      if (f.gain_ns > 0) out_ += "   " + MarkdownEscaped(GainText(ranked)) + "\n";
      out_ += "   `" + f.id + "`\n";
    }
  }

  void AddTable(const Table& table, const ShownTable& which) {
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (!table.columns[i].is_extra || SaysSomething(table, i)) shown.push_back(i);
    }
    out_ += "\n## " + MarkdownEscaped(table.title) + "\n\n";
    for (const std::string& line : which.lines) out_ += MarkdownEscaped(line) + "\n\n";
    if (which.rows == 0) return;
    out_ += "|";
    for (const std::size_t i : shown) out_ += " " + MarkdownEscaped(table.columns[i].title) + " |";
    out_ += "\n|";
    for (const std::size_t i : shown) out_ += table.columns[i].unit == Unit::kText ? "---|" : "---:|";
    out_ += "\n";
    std::size_t left = which.rows;
    for (const auto& row : FormatRows(table, report_.has_full_names ? 0 : kLongestName)) {
      if (left-- == 0) break;
      out_ += "|";
      for (const std::size_t i : shown) out_ += " " + (i < row.size() ? MarkdownEscaped(row[i]) : "") + " |";
      out_ += "\n";
    }
    const std::string note = which.is_first_page ? "" : NoteOf(table);
    if (!note.empty()) out_ += "\n" + MarkdownEscaped(note) + "\n";
  }

  const Report& report_;
  const RunFacts& run_;
  std::string out_;
};

}  // namespace

std::string RenderReportMarkdown(const Report& report) { return MarkdownReport(report).Render(); }

}  // namespace gprof::cli
