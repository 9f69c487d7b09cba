#include "cli/render/render_counter_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "analysis/result/tables.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/render/text_layout.h"
#include "report/trace_words.h"

namespace gprof::cli {
namespace {

class PageText {
 public:
  explicit PageText(const Terminal& terminal) : width_(terminal.columns), style_(terminal.has_color) {}

  std::string Of(const CounterPage& page) {
    out_ = "\n" + style_.Bold(Printable(page.kernel)) + "\n";
    for (const std::string& line : {page.launch, page.measured}) Prose(line, kMargin);
    for (const CounterPage::Section& section : page.sections) {
      if (!section.figures.rows.empty()) Figures(section.figures);
      for (const Table& table : section.parts) Part(table);
    }
    if (!page.findings.empty()) Heading("What limits it");
    for (const Finding& finding : page.findings) AddFinding(finding);
    return std::move(out_);
  }

 private:
  using Pair = std::pair<std::string, std::string>;

  void Heading(const std::string& title) { out_ += "\n" + std::string(kMargin, ' ') + style_.Bold(title) + "\n"; }

  void Prose(const std::string& text, std::size_t indent) {
    for (const std::string& line : Wrap(Printable(text), std::min(width_, kMaxProse) - indent))
      out_ += std::string(indent, ' ') + line + "\n";
  }

  void Note(const std::string& note) {
    if (note.empty()) return;
    for (const std::string& line : Wrap(note, std::min(width_, kMaxProse) - kInner))
      out_ += std::string(kInner, ' ') + style_.Dim(line) + "\n";
  }

  // Titles with their values, in as many columns as there is room for, down before across.
  void Figures(const Table& table) {
    const std::vector<std::string> cells = FormatRows(table, 0).front();
    std::vector<Pair> pairs;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i] != "-" && !cells[i].empty()) pairs.emplace_back(table.columns[i].title, cells[i]);
    }
    std::size_t titles = 0, values = 0;
    for (const auto& [title, value] : pairs) {
      titles = std::max(titles, DisplayWidth(title));
      values = std::max(values, DisplayWidth(value));
    }
    constexpr std::size_t kBetween = 2, kGap = 5;
    const std::size_t wide = titles + kBetween + values + kGap;
    const std::size_t columns = std::max<std::size_t>(1, (width_ - kInner + kGap) / wide);
    const std::size_t lines = (pairs.size() + columns - 1) / columns;
    Heading(table.title);
    for (std::size_t line = 0; line < lines; ++line) {
      std::string text(kInner, ' ');
      for (std::size_t i = line; i < pairs.size(); i += lines) {
        if (i != line) text += std::string(kGap, ' ');
        const auto& [title, value] = pairs[i];
        text +=
            title + std::string(titles - DisplayWidth(title) + kBetween + values - DisplayWidth(value), ' ') + value;
      }
      out_ += text + "\n";
    }
    Note(NoteOf(table));
  }

  void Part(const Table& table) {
    Heading(table.title);
    out_ += RenderTable(TextOf(table, 0), width_, style_, kInner);
    Note(NoteOf(table));
  }

  void AddFinding(const Finding& finding) {
    Prose(finding.message, kInner);
    for (const std::string& line : finding.evidence) Prose(line, kInner + kMargin);
    if (!finding.advice.empty()) Prose(finding.advice, kInner + kMargin);
    std::string tail = "[" + finding.id + "]";
    if (finding.gain_ns > 0)
      tail = fmt::format("Potential saving: up to {} ({}). {}", FormatNs(finding.gain_ns), finding.basis, tail);
    Prose(tail, kInner + kMargin);
  }

  static constexpr std::size_t kInner = 2 * kMargin;
  const std::size_t width_;
  const Style style_;
  std::string out_;
};

}  // namespace

std::string RenderCounterPages(std::span<const CounterPage> pages, const Terminal& terminal) {
  std::string text;
  for (const CounterPage& page : pages) text += PageText(terminal).Of(page);
  return text;
}

}  // namespace gprof::cli
