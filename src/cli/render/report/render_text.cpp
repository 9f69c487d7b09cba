// The report as a person reads it: who and what, then what to do, then the tables it rests on.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analysis/result/tables.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/render/report/render_report.h"
#include "cli/render/text_layout.h"
#include "report/analysis_names.h"
#include "report/report_head.h"
#include "report/shown/shown_tables.h"
#include "report/time_split.h"
#include "report/trace_words.h"
#include "report/trust.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kFirstFindings = 3;

class TextReport {
 public:
  TextReport(const Report& report, const Terminal& terminal)
      : report_(report),
        run_(report.Whole()),
        findings_(FindingsToShow(report)),
        terminal_(terminal),
        style_(terminal.has_color) {
    prose_ = terminal_;
    prose_.columns = std::min(terminal_.columns, kMaxProse);
  }

  std::string Render() {
    const bool is_first_page = !report_.is_full && !report_.has_details;
    Header();
    // What is well is said once: in a few words at the end of the first page, or under the heading of data quality.
    const bool has_no_other_place = !is_first_page && !HasHealth(report_);
    if (has_no_other_place || !run_.health.empty()) out_ += RenderHealth(*run_.head, run_.health, prose_);
    if (has_no_other_place) AddLine("Overhead", OverheadText(run_));
    out_ += RenderVerdict(report_, prose_);
    NoGpuWork();
    FirstFindings();
    if (report_.has_findings_alone) return std::move(out_);
    for (const ShownTable& shown : TablesToShow(report_)) AddTable(*shown.table, shown);
    NothingFound();
    if (is_first_page) return LastLines();
    OtherFindings();
    DataQuality();
    return std::move(out_);
  }

 private:
  void Header() {
    for (const HeadLine& line : HeadOf(report_, prose_.columns)) AddLine(line.label, line.text);
  }

  std::string LastLines() {
    out_ += "\n";
    std::string overhead = OverheadText(run_);
    if (!overhead.empty()) overhead = "profiling overhead: " + overhead + ", not subtracted";
    if (run_.health.empty()) overhead = overhead.empty() ? "complete" : "complete; " + overhead;
    AddLine("Data", overhead);
    const std::vector<std::string> changes = ChangesToTry(report_);
    if (!changes.empty()) AddLine("Try", "gprof-cli try -- APP runs the program with " + Joined(changes));
    AddLine("More", MoreText(report_));
    return std::move(out_);
  }

  void DataQuality() {
    if (!HasHealth(report_)) return;
    const Table table = TrustTable(run_);
    Heading(table.title);
    for (const auto& row : table.rows) {
      std::string lines = LabeledLine(FormatCell(row[0], Unit::kText), FormatCell(row[1], Unit::kText), prose_);
      out_ += lines;
    }
  }

  void NoGpuWork() {
    if (!run_.used_devices.empty() && report_.run.used_devices.empty()) {
      Heading("No GPU work in the selection");
      return;
    }
    if (run_.why_no_gpu_work.empty()) return;
    Heading("No GPU work in this trace");
    for (const std::string& reason : run_.why_no_gpu_work) Paragraph(reason, kMargin);
  }

  // Who asks for an analysis by its name is told that it has nothing to say, and why.
  void NothingFound() {
    if (!report_.has_details) return;
    for (const Section& section : report_.sections) {
      if (!IsEmpty(section.result)) continue;
      const std::string why = WhyEmpty(*report_.run.head, report_.run.unknown, section.analysis->name);
      Heading("Nothing to show for " + std::string(section.analysis->name));
      if (!why.empty()) Paragraph(why, kMargin);
    }
  }

  // [first, last) of the findings that are about the program, numbered from 1.
  void AddFindings(const std::string& heading, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < std::min(last, findings_.size()); ++i) {
      if (i == first) Heading(heading);
      AddFinding(findings_[i], i + 1);
    }
  }

  // The first screen has the most rewarding ones, none of them minor or about what another one there is about; who asks
  // for analyses by name gets all that they find there.
  std::size_t FirstCount() const {
    if (report_.has_details) return findings_.size();
    const auto leaders = static_cast<std::size_t>(std::count_if(
        findings_.begin(), findings_.end(), [](const RankedFinding& f) { return f.leader == nullptr && !f.is_minor; }));
    return std::min(leaders, kFirstFindings);
  }

  void FirstFindings() {
    AddFindings("Findings", 0, FirstCount());
    if (findings_.size() <= FirstCount()) return;
    if (FirstCount() == 0) Heading("Findings");
    const std::string more = CountOf(static_cast<int64_t>(findings_.size() - FirstCount()), "more finding");
    const bool is_below = report_.is_full || report_.has_details;
    out_ += "     " + style_.Dim(more + (is_below ? " below the tables." : " with --full.")) + "\n";
  }

  void OtherFindings() { AddFindings("Other findings", FirstCount(), findings_.size()); }

  void AddFinding(const RankedFinding& ranked, std::size_t number) {
    const Finding& finding = *ranked.finding;
    const std::string label = fmt::format("{:>3} ", number);
    const std::size_t indent = label.size() + 1;
    std::size_t used = 0;
    for (const std::string& line : Wrap(Printable(finding.message), prose_.columns - indent)) {
      out_ +=
          (used++ == 0 ? Colored(finding.severity, label) + " " : std::string(indent, ' ')) + style_.Bold(line) + "\n";
    }
    for (const std::string& line : EvidenceToShow(report_, finding)) DimParagraph(line, indent);
    if (!finding.advice.empty()) Paragraph(finding.advice, indent);
    std::string tail = "[" + finding.id + "]";
    if (finding.gain_ns > 0) tail = GainText(ranked) + " " + tail;
    DimParagraph(tail, indent);
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

  void AddTable(const Table& table, const ShownTable& shown) {
    const TextTable text = TextOf(table, report_.has_full_names ? 0 : terminal_.columns / 3, shown.rows);
    Heading(table.title);
    for (const std::string& line : shown.lines) Paragraph(line, kMargin);
    if (shown.rows == 0) return;
    const std::size_t width = report_.has_full_names ? kAnyWidth : terminal_.columns;
    out_ += RenderTable(text, width, style_, kMargin);
    if (shown.is_first_page) return;
    const std::vector<std::string> headings = ShownTitles(text, width, kMargin);
    const std::string note = NoteOf(table, &headings);
    if (!note.empty()) DimParagraph(note, kMargin);
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

  void DimParagraph(const std::string& text, std::size_t indent) {
    for (const std::string& line : Wrap(Printable(text), prose_.columns - indent)) {
      out_ += std::string(indent, ' ') + style_.Dim(line) + "\n";
    }
  }

  const Report& report_;
  const RunFacts& run_;  // of the whole trace
  const std::vector<RankedFinding> findings_;
  Terminal terminal_, prose_;
  Style style_;
  std::string out_;
};

}  // namespace

std::string RenderReportText(const Report& report, const Terminal& terminal) {
  return TextReport(report, terminal).Render();
}

std::string RenderReportLine(const Report& report) {
  std::string line = report.Whole().head->path + ": ";
  const std::vector<std::string> verdict = VerdictOf(report, kMaxProse);
  line += verdict.empty() ? "no GPU work" : verdict.front();
  if (!report.Whole().head->health.IsComplete()) line += "; INCOMPLETE";
  std::size_t shown = 0;
  for (const RankedFinding& ranked : FindingsToShow(report)) {
    if (ranked.leader != nullptr || ranked.is_minor || shown++ == kFirstFindings) break;
    line += "; " + ranked.finding->id;
    if (ranked.gain_ns > 0) line += " up to " + FormatNs(ranked.gain_ns);
  }
  return Printable(line) + "\n";
}

}  // namespace gprof::cli
