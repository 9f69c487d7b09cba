#include "html/page/report_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "html/page/page.h"
#include "report/report_head.h"
#include "report/shown/shown_tables.h"
#include "report/time_split.h"
#include "report/trace_words.h"
#include "report/trust.h"

namespace gprof {
namespace {

constexpr std::size_t kFirstFindings = 3, kLongestText = 600, kLongestName = 60;

// The page's own colours (src/web/style.css); idle time is striped there as well.
constexpr std::string_view kKernels = "#5b9bd5", kCopies = "#3fae8a",
                           kIdle = "repeating-linear-gradient(45deg,#8886 0 4px,#8883 4px 8px)";
constexpr std::string_view kDim = "opacity:.75", kBold = "font-weight:600";

// Names and messages come from programs, and may be of any length.
std::string Text(const std::string& text) { return EscapeForText(ShortenMiddle(Printable(text), kLongestText)); }

std::string_view ColorOf(Severity severity) {
  switch (severity) {
    case Severity::kWarning:
      return "#ee7733";
    case Severity::kNote:
      return "#5b9bd5";
    case Severity::kInfo:
      break;
  }
  return "#8888";
}

class Card {
 public:
  explicit Card(const Report& report) : report_(report), run_(report.Whole()) {}

  std::string Render() {
    out_ = "<div class=\"gprof-cli\" style=\"font:13px/1.5 system-ui,sans-serif;max-width:60em;color:inherit\">\n";
    Line(kDim, ProgramOf(report_, kLongestText));
    Split();
    for (const Finding& finding : run_.health) AddFinding(finding, "");
    for (const std::string& reason : run_.why_no_gpu_work) Line("", reason);
    Findings();
    for (const ShownTable& shown : TablesToShow(report_)) {
      if (shown.table->id == "kernels") AddTable(*shown.table, shown.rows);
    }
    if (const std::string overhead = OverheadText(run_); !overhead.empty()) {
      Line(kDim, "Profiling overhead: " + overhead + ", not subtracted");
    }
    return std::move(out_) + "</div>\n";
  }

 private:
  void Line(std::string_view style, const std::string& text) {
    if (text.empty()) return;
    out_ += style.empty() ? "<div>" : fmt::format("<div style=\"{}\">", style);
    out_ += Text(text) + "</div>\n";
  }

  void Split() {
    const std::optional<TimeSplit> split = TimeSplitOf(report_);
    if (!split) return;
    const std::vector<std::string> lines = VerdictOf(report_, 1);
    Line(kBold, "GPU: " + lines.front());
    out_ += fmt::format(
        "<div role=\"img\" aria-label=\"{}\" style=\"display:flex;height:14px;margin:4px 0;border:1px solid #8888\">",
        Text(lines.front()));
    AddPart(split->kernel_ns / split->window_ns, kKernels, split->kernels);
    AddPart(split->copy_ns / split->window_ns, kCopies, "copies (no kernel)");
    AddPart(split->idle_ns / split->window_ns, kIdle, "idle");
    out_ += "</div>\n";
    // The second line is the bar of characters.
    for (std::size_t i = 2; i < lines.size(); ++i) Line(kDim, lines[i]);
    if (const std::string steps = StepsOf(report_); !steps.empty()) Line("", "Steps: " + steps);
  }

  void AddPart(double share, std::string_view background, std::string_view title) {
    if (share <= 0) return;
    out_ +=
        fmt::format("<span title=\"{}\" style=\"width:{:.2f}%;background:{}\"></span>", title, 100 * share, background);
  }

  void Findings() {
    std::size_t shown = 0;
    for (const RankedFinding& ranked : FindingsToShow(report_)) {
      if (ranked.leader != nullptr || ranked.is_minor || shown++ == kFirstFindings) break;
      AddFinding(*ranked.finding, ranked.finding->gain_ns > 0 ? GainText(ranked) : "");
    }
  }

  void AddFinding(const Finding& finding, const std::string& gain) {
    out_ += fmt::format("<div style=\"border-left:4px solid {};padding-left:8px;margin:8px 0\">\n",
                        ColorOf(finding.severity));
    Line(kBold, finding.message);
    for (const std::string& line : EvidenceToShow(report_, finding)) Line(kDim, line);
    Line("", finding.advice);
    Line(kDim, gain.empty() ? "[" + finding.id + "]" : gain + " [" + finding.id + "]");
    out_ += "</div>\n";
  }

  void AddTable(const Table& table, std::size_t rows) {
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (!table.columns[i].is_extra) columns.push_back(i);
    }
    const auto add_row = [&](std::string_view element, const auto& text_of) {
      out_ += "<tr>";
      for (const std::size_t i : columns) {
        const bool is_text = table.columns[i].unit == Unit::kText;
        out_ += fmt::format("<{0} style=\"text-align:{1};padding:1px 8px\">{2}</{0}>", element,
                            is_text ? "left" : "right", Text(text_of(i)));
      }
      out_ += "</tr>\n";
    };
    out_ += "<table style=\"border-collapse:collapse;font-size:12px;margin:8px 0\">\n";
    add_row("th", [&](std::size_t i) { return table.columns[i].title; });
    for (const auto& row : FormatRows(table, kLongestName)) {
      if (rows-- == 0) break;
      add_row("td", [&](std::size_t i) { return row[i]; });
    }
    out_ += "</table>\n";
  }

  const Report& report_;
  const RunFacts& run_;  // of the whole trace
  std::string out_;
};

}  // namespace

std::string RenderReportCard(const Report& report) { return Card(report).Render(); }

}  // namespace gprof
