// The report as a person reads it: who and what, then what to do, then the tables it rests on.
#include <fmt/format.h>

#include <algorithm>

#include "base/demangle.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/facts.h"
#include "cli/report.h"
#include "cli/report_head.h"
#include "cli/verdict.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kMaxProse = 100;  // longer lines are hard to read, whatever the terminal has room for
constexpr std::size_t kMargin = 2;
constexpr std::size_t kFirstFindings = 3;

class TextReport {
 public:
  TextReport(const Report& report, const Terminal& terminal)
      : report_(report), trace_(report.Whole()), terminal_(terminal), style_(terminal.has_color) {
    prose_ = terminal_;
    prose_.columns = std::min(terminal_.columns, kMaxProse);
  }

  std::string Render() {
    Header();
    Health();
    out_ += RenderVerdict(report_, prose_);
    NoGpuWork();
    FirstFindings();
    for (const Section& section : report_.sections) {
      for (const Table& table : section.result.tables) AddTable(table);
    }
    OtherFindings();
    return std::move(out_);
  }

 private:
  void Header() {
    for (const HeadLine& line : HeadOf(report_, prose_.columns)) AddLine(line.label, line.text);
  }

  void Health() { out_ += RenderHealth(trace_, HealthOf(trace_), prose_); }

  void NoGpuWork() {
    if (!trace_.ops.empty() && report_.trace.ops.empty()) {
      Heading("No GPU work in what was selected");
      return;
    }
    const std::vector<std::string> reasons = WhyNoGpuWork(trace_);
    if (reasons.empty()) return;
    Heading("No GPU work in this trace");
    for (const std::string& reason : reasons) Paragraph(reason, kMargin);
  }

  // What is wrong with the trace itself stands at the top already.
  static bool IsAboutHealth(const Finding& finding) { return finding.id.starts_with("health."); }

  // [first, last) of the findings that are about the program, numbered from 1.
  std::size_t AddFindings(const std::string& heading, std::size_t first, std::size_t last) {
    std::size_t number = 0;
    for (const Finding& finding : report_.findings) {
      if (IsAboutHealth(finding)) continue;
      if (number == first) Heading(heading);
      if (number >= first && number < last) AddFinding(finding, number + 1);
      if (++number == last) break;
    }
    return number;
  }

  // The first screen has the most rewarding ones; who asks for analyses by name gets all that they find there.
  std::size_t FirstCount() const { return report_.has_details ? report_.findings.size() : kFirstFindings; }

  void FirstFindings() {
    AddFindings("What to do", 0, FirstCount());
    const std::size_t all = static_cast<std::size_t>(
        std::count_if(report_.findings.begin(), report_.findings.end(), [](const Finding& f) { return !IsAboutHealth(f); }));
    if (all <= FirstCount()) return;
    const std::string more = CountOf(static_cast<int64_t>(all - FirstCount()), "more finding");
    out_ += "     " + style_.Dim(more + " below the tables.") + "\n";
  }

  void OtherFindings() { AddFindings("What else to do", FirstCount(), report_.findings.size()); }

  void AddFinding(const Finding& finding, std::size_t number) {
    const std::string label = fmt::format("{:>3} ", number);
    const std::size_t indent = label.size() + 1;
    std::size_t used = 0;
    for (const std::string& line : Wrap(Printable(finding.message), prose_.columns - indent)) {
      out_ +=
          (used++ == 0 ? Colored(finding.severity, label) + " " : std::string(indent, ' ')) + style_.Bold(line) + "\n";
    }
    if (!finding.advice.empty()) Paragraph(finding.advice, indent);
    std::string tail = "[" + finding.id + "]";
    if (finding.gain_ns > 0) {
      tail = "To be won: up to " + FormatNs(static_cast<double>(finding.gain_ns)) +
             (finding.basis.empty() ? "" : ", " + finding.basis) + ". " + tail;
    }
    for (const std::string& line : Wrap(Printable(tail), prose_.columns - indent)) {
      out_ += std::string(indent, ' ') + style_.Dim(line) + "\n";
    }
  }

  std::string Colored(Severity severity, const std::string& text) const {
    switch (severity) {
      case Severity::kWarning:
        return style_.Yellow(text);
      case Severity::kNote:
        return style_.Cyan(text);
      case Severity::kInfo:
        break;
    }
    return style_.Dim(text);
  }

  void AddTable(const Table& table) {
    if (table.rows.empty() || table.id == "health" || (table.is_detail && !report_.has_details)) return;
    TextTable text;
    std::vector<bool> is_shown;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const Column& column = table.columns[i];
      is_shown.push_back(!column.is_extra || SaysSomething(table, i));
      if (is_shown[i]) text.columns.push_back({column.title, column.unit != Unit::kText, column.is_extra});
    }
    for (const auto& row : table.rows) {
      std::vector<std::string> cells;
      for (std::size_t i = 0; i < row.size() && i < table.columns.size(); ++i) {
        if (!is_shown[i]) continue;
        cells.push_back(FormatCell(row[i], table.columns[i].unit));
        // A signature that would be cut to its ends says less than the name in it.
        const std::string& key = table.columns[i].key;
        const bool is_kernel = key == "kernel" || (table.id == "kernels" && key == "name");
        if (is_kernel && cells.back().size() > terminal_.columns / 3) cells.back() = ShortName(cells.back());
      }
      text.rows.push_back(std::move(cells));
    }
    Heading(table.title);
    out_ += RenderTable(text, terminal_.columns, style_, kMargin);
    if (!table.note.empty()) {
      for (const std::string& line : Wrap(Printable(table.note), prose_.columns - kMargin)) {
        out_ += std::string(kMargin, ' ') + style_.Dim(line) + "\n";
      }
    }
  }

  void Heading(const std::string& title) { out_ += "\n" + style_.Bold(Printable(title)) + "\n"; }

  void AddLine(const std::string& label, const std::string& text) {
    if (!text.empty()) out_ += LabeledLine(label, text, prose_);
  }

  void Paragraph(const std::string& text, std::size_t indent) {
    for (const std::string& line : Wrap(Printable(text), prose_.columns - indent)) {
      out_ += std::string(indent, ' ') + line + "\n";
    }
  }

  const Report& report_;
  const Trace& trace_;
  Terminal terminal_, prose_;
  Style style_;
  std::string out_;
};

}  // namespace

std::string RenderReportText(const Report& report, const Terminal& terminal) {
  return TextReport(report, terminal).Render();
}

}  // namespace gprof::cli
