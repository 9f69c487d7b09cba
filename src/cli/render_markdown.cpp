// The report as Markdown, for pull requests and wikis.
#include "base/text.h"
#include "base/units.h"
#include "cli/facts.h"
#include "cli/report.h"
#include "cli/report_head.h"
#include "cli/verdict.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kColumns = 120;  // room for command lines, and of the bar
constexpr std::string_view kMarks = "\\`*_{}[]<>#|~";

// What Markdown would take for a mark or HTML, written out: names come from programs.
std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : Printable(text)) {
    if (kMarks.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

class MarkdownReport {
 public:
  explicit MarkdownReport(const Report& report) : report_(report) {}

  std::string Render() {
    out_ = "# GPU performance report\n\n";
    for (const HeadLine& line : HeadOf(report_, kColumns)) Item(line.label, line.text);
    Health();
    Verdict();
    Findings();
    for (const Section& section : report_.sections) {
      for (const Table& table : section.result.tables) AddTable(table);
    }
    return std::move(out_);
  }

 private:
  void Item(const std::string& label, const std::string& text) { out_ += "* **" + label + "**: " + Escaped(text) + "\n"; }

  void Health() {
    const Trace& trace = report_.Whole();
    const std::vector<Finding> findings = HealthOf(trace);
    const char* whole = findings.empty() ? "yes, nothing is known to be missing" : "yes, but:";
    Item("Complete", trace.health.IsComplete() ? whole : "NO: what follows is true of what is left");
    for (const Finding& f : findings) out_ += "  * " + Escaped(f.message) + "\n";
  }

  void Verdict() {
    const std::vector<std::string> lines = VerdictOf(report_, kColumns);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i == 0) Item("GPU", lines[i]);
      if (i == 1) out_ += "  `" + lines[i] + "`\n";
      if (i > 1) out_ += "  " + Escaped(lines[i]) + "\n";
    }
    const std::vector<std::string> reasons = WhyNoGpuWork(report_.Whole());
    if (reasons.empty()) return;
    out_ += "\n## No GPU work in this trace\n\n";
    for (const std::string& reason : reasons) out_ += Escaped(reason) + "\n";
  }

  void Findings() {
    std::size_t number = 0;
    for (const Finding& f : report_.findings) {
      if (f.id.starts_with("health.")) continue;
      if (number++ == 0) out_ += "\n## What to do\n\n";
      out_ += std::to_string(number) + ". **" + Escaped(f.message) + "**\n";
      if (!f.advice.empty()) out_ += "   " + Escaped(f.advice) + "\n";
      if (f.gain_ns > 0) {
        out_ += "   To be won: up to " + FormatNs(static_cast<double>(f.gain_ns)) +
                (f.basis.empty() ? "" : ", " + Escaped(f.basis)) + ".\n";
      }
      out_ += "   `" + f.id + "`\n";
    }
  }

  void AddTable(const Table& table) {
    if (table.rows.empty() || table.id == "health" || (table.is_detail && !report_.has_details)) return;
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (!table.columns[i].is_extra || SaysSomething(table, i)) shown.push_back(i);
    }
    out_ += "\n## " + Escaped(table.title) + "\n\n|";
    for (const std::size_t i : shown) out_ += " " + Escaped(table.columns[i].title) + " |";
    out_ += "\n|";
    for (const std::size_t i : shown) out_ += table.columns[i].unit == Unit::kText ? "---|" : "---:|";
    out_ += "\n";
    for (const auto& row : table.rows) {
      out_ += "|";
      for (const std::size_t i : shown) {
        out_ += " " + (i < row.size() ? Escaped(FormatCell(row[i], table.columns[i].unit)) : "") + " |";
      }
      out_ += "\n";
    }
    if (!table.note.empty()) out_ += "\n" + Escaped(table.note) + "\n";
  }

  const Report& report_;
  std::string out_;
};

}  // namespace

std::string RenderReportMarkdown(const Report& report) { return MarkdownReport(report).Render(); }

}  // namespace gprof::cli
