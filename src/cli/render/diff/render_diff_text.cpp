// A comparison as a person reads it: the verdict and the changes in words, then the tables they rest on.
#include <algorithm>

#include "base/short_names.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/render/diff/diff_report.h"
#include "cli/render/text_layout.h"
#include "gate/diff/diff_words.h"
#include "report/trace_words.h"

namespace gprof::cli {
namespace {

class TextDiff {
 public:
  TextDiff(const Diff& diff, const DiffView& view, const Terminal& terminal)
      : diff_(diff), view_(view), terminal_(terminal), prose_(terminal), style_(terminal.has_color) {
    prose_.columns = std::min(terminal_.columns, kMaxProse);
  }

  std::string Render() {
    for (const DiffLine& line : DiffHead(diff_, view_)) out_ += LabeledLine(line.label, line.text, prose_);
    for (const DiffTable& table : DiffTables(diff_, view_)) AddTable(table);
    out_ += "\n" + Colored(Printable(OneLine(diff_))) + "\n";
    return std::move(out_);
  }

 private:
  std::string Colored(const std::string& text) const {
    if (!diff_.is_judged) return style_.Bold(text);
    switch (diff_.verdict) {
      case Change::kRegressed:
        return style_.Red(text);
      case Change::kImproved:
        return style_.Green(text);
      case Change::kInconclusive:
        return style_.Yellow(text);
      case Change::kSame:
      case Change::kChanged:
        break;
    }
    return style_.Bold(text);
  }

  void AddTable(const DiffTable& table) {
    if (table.rows.empty()) return;
    // One GPU is what the first table is about.
    if (table.id == "gpus" && table.rows.size() == 1 && view_.only.empty()) return;
    const std::vector<std::size_t> shown = ShownColumns(table);
    TextTable text;
    for (const std::size_t i : shown) {
      const DiffColumn& column = table.columns[i];
      text.columns.push_back({column.title, column.unit != Unit::kText, column.is_extra});
    }
    text.rows = ShownRows(table, shown);
    if (table.id == "kernels") ShortenLast(&text);
    out_ += "\n" + style_.Bold(table.title) + "\n";
    out_ += RenderTable(text, view_.has_full_names ? kAnyWidth : terminal_.columns, style_, kMargin);
    if (!table.note.empty()) AddNote(table.note);
    if (table.id == "kernels") AddRenamed();
  }

  void AddNote(const std::string& note) {
    for (const std::string& line : Wrap(Printable(note), prose_.columns - kMargin)) {
      out_ += std::string(kMargin, ' ') + style_.Dim(line) + "\n";
    }
  }

  // A signature that would be cut to its ends says less than the name in it.
  void ShortenLast(TextTable* text) const {
    if (view_.has_full_names) return;
    std::vector<std::string> names;
    for (const auto& row : text->rows) names.push_back(row.back());
    const std::vector<std::string> shortened = ShortNames(names);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i].size() > terminal_.columns / 3) text->rows[i].back() = shortened[i];
    }
  }

  void AddRenamed() {
    for (const KernelChange& kernel : diff_.kernels) {
      if (kernel.presence != Presence::kRenamed) continue;
      AddNote("Possibly renamed: " + Named(kernel.was) + " -> " + Named(kernel.name) + " (" + kernel.why + ")");
    }
  }

  std::string Named(const std::string& name) const {
    return view_.has_full_names ? name : ShortenMiddle(Printable(name), terminal_.columns);
  }

  const Diff& diff_;
  const DiffView& view_;
  Terminal terminal_, prose_;
  Style style_;
  std::string out_;
};

}  // namespace

std::string RenderDiffText(const Diff& diff, const DiffView& view, const Terminal& terminal) {
  return TextDiff(diff, view, terminal).Render();
}

}  // namespace gprof::cli
