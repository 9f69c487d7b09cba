#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "cli/render/answers/render_answers.h"
#include "cli/render/text_layout.h"
#include "report/trace_words.h"

namespace gprof::cli {
namespace {

class ExplanationText {
 public:
  ExplanationText(const Explanation& explanation, const Terminal& terminal)
      : explanation_(explanation), terminal_(terminal), prose_(terminal), style_(terminal.has_color) {
    prose_.columns = std::min(terminal.columns, kMaxProse);
  }

  std::string Render() {
    if (explanation_.named) {
      Finding();
    } else {
      Absence();
    }
    return std::move(out_);
  }

 private:
  void Finding() {
    const gprof::Finding& finding = *explanation_.named->ranked.finding;
    for (const std::string& line : Wrap(Printable(finding.message), prose_.columns)) out_ += style_.Bold(line) + "\n";
    Line("Evidence", explanation_.named->evidence + ": " + explanation_.meaning);
    Line("Line", finding.subject.line);
    Line("Gain", finding.gain_ns > 0 ? GainText(explanation_.named->ranked) : "not estimated");
    Line("Advice", finding.advice);
    Numbers();
    Rows();
    if (!explanation_.command.empty()) {
      Heading("Check");
      Paragraph(AsSentence(explanation_.check.what));
      // A command is copied as a whole, so it is not wrapped.
      out_ += std::string(kMargin, ' ') + Printable(explanation_.command) + "\n";
    }
    List("Not recorded; would say more", explanation_.more);
  }

  void Absence() {
    Line("Finding", explanation_.id + ": " + explanation_.meaning);
    switch (explanation_.answer) {
      case AnswerKind::kNotFound:
        return Line("Answer", "not found: what it rests on was recorded, and does not show it");
      case AnswerKind::kRecorded:
        return Line("Answer", "recorded");
      case AnswerKind::kNotRecorded:
        return Line("Answer", "not recorded: " + (explanation_.lacks.empty() ? "" : explanation_.lacks.front()));
      default:
        Line("Answer", "cannot tell: it was not found, but what would show it may be missing");
        List("Not recorded", explanation_.lacks);
    }
  }

  void Numbers() {
    const std::vector<std::string>& evidence = explanation_.named->ranked.finding->evidence;
    if (evidence.empty() && explanation_.metrics.empty()) return;
    Heading("Numbers");
    for (const std::string& line : evidence) Paragraph(line);
    for (const Metric& metric : explanation_.metrics) {
      const MetricInfo* const info = FindMetric(metric.id);
      const Unit unit = info == nullptr ? Unit::kCount : info->unit;
      Paragraph(std::string(metric.id) + " " + FormatCell(metric.value, unit));
    }
  }

  void Rows() {
    const Table& table = explanation_.rows;
    if (table.rows.empty()) return;
    Heading(table.title + (explanation_.are_rows_narrowed ? ": what the finding names" : ""));
    out_ += RenderTable(TextOf(table, terminal_.columns / 3), terminal_.columns, style_, kMargin);
    if (table.rows_left_out > 0) Paragraph(CountOf(table.rows_left_out, "more row") + ".");
  }

  void List(const std::string& heading, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    Heading(heading);
    for (const std::string& line : lines) Paragraph(line);
  }

  void Line(const std::string& label, const std::string& text) {
    if (!text.empty()) out_ += LabeledLine(label, text, prose_);
  }

  void Heading(const std::string& title) { out_ += "\n" + style_.Bold(Printable(title)) + "\n"; }

  void Paragraph(const std::string& text) {
    for (const std::string& line : Wrap(Printable(text), prose_.columns - kMargin)) {
      out_ += std::string(kMargin, ' ') + line + "\n";
    }
  }

  const Explanation& explanation_;
  Terminal terminal_, prose_;
  Style style_;
  std::string out_;
};

}  // namespace

std::string RenderExplanationText(const Explanation& explanation, const Terminal& terminal) {
  return ExplanationText(explanation, terminal).Render();
}

}  // namespace gprof::cli
