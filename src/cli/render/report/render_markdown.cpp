// The report as Markdown, for pull requests and wikis.
#include "base/units.h"
#include "cli/render/markdown.h"
#include "cli/render/report/render_report.h"
#include "report/report_head.h"
#include "report/time_split.h"
#include "report/trace_summary.h"
#include "report/trust.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kColumns = 120;     // room for command lines, and of the bar
constexpr std::size_t kLongestName = 48;  // of a kernel: pages break lines, but a signature may have thousands of bytes

class MarkdownReport {
 public:
  explicit MarkdownReport(const Report& report) : report_(report), trust_(TrustOf(report.WholeInput())) {}

  std::string Render() {
    out_ = "# GPU performance report\n\n";
    for (const HeadLine& line : HeadOf(report_, kColumns)) Item(line.label, line.text);
    Health();
    Verdict();
    Findings();
    for (const ShownTable& which : TablesToShow(report_)) AddTable(*which.table, which);
    if (HasHealth(report_)) {
      const Table trust = TrustTable(trust_);
      AddTable(trust, {&trust, trust.rows.size(), false});
    }
    return std::move(out_);
  }

 private:
  void Item(const std::string& label, const std::string& text) {
    out_ += "* **" + label + "**: " + MarkdownEscaped(text) + "\n";
  }

  void Health() {
    const Trace& trace = report_.Whole();
    const std::vector<Finding>& findings = trust_.health;
    const bool is_said_below = HasHealth(report_);
    if (is_said_below && findings.empty()) return;
    const char* whole = findings.empty() ? "yes" : "yes, with notes:";
    Item("Complete", trace.health.IsComplete() ? whole : "NO: figures below cover only the data that was recovered");
    for (const Finding& f : findings) out_ += "  * " + MarkdownEscaped(f.message) + "\n";
    const std::string overhead = OverheadText(trust_);
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
    const std::vector<std::string> reasons = WhyNoGpuWork(report_.Whole());
    if (reasons.empty()) return;
    out_ += "\n## No GPU work in this trace\n\n";
    for (const std::string& reason : reasons) out_ += MarkdownEscaped(reason) + "\n";
  }

  void Findings() {
    std::size_t number = 0;
    for (const RankedFinding& ranked : FindingsToShow(report_)) {
      const Finding& f = *ranked.finding;
      if (number++ == 0) out_ += "\n## Findings\n\n";
      out_ += std::to_string(number) + ". **" + MarkdownEscaped(f.message) + "**\n";
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
    out_ += "\n## " + MarkdownEscaped(table.title) + "\n\n|";
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
    if (!table.note.empty() && !which.is_first_page) out_ += "\n" + MarkdownEscaped(table.note) + "\n";
  }

  const Report& report_;
  const Trust trust_;
  std::string out_;
};

}  // namespace

std::string RenderReportMarkdown(const Report& report) { return MarkdownReport(report).Render(); }

}  // namespace gprof::cli
