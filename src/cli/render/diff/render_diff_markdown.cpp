// A comparison as Markdown, for pull requests.
#include "cli/render/diff/diff_report.h"
#include "cli/render/markdown.h"
#include "gate/diff/diff_words.h"

namespace gprof::cli {
namespace {

void AddTable(const DiffTable& table, std::string* out) {
  if (table.rows.empty() || (table.id == "gpus" && table.rows.size() == 1)) return;
  const std::vector<std::size_t> shown = ShownColumns(table);
  *out += "\n## " + MarkdownEscaped(table.title) + "\n\n|";
  for (const std::size_t i : shown) *out += " " + MarkdownEscaped(table.columns[i].title) + " |";
  *out += "\n|";
  for (const std::size_t i : shown) *out += table.columns[i].unit == Unit::kText ? "---|" : "---:|";
  *out += "\n";
  for (const auto& row : ShownRows(table, shown)) {
    *out += "|";
    for (const std::string& cell : row) *out += " " + MarkdownEscaped(cell) + " |";
    *out += "\n";
  }
  if (!table.note.empty()) *out += "\n" + MarkdownEscaped(table.note) + "\n";
}

}  // namespace

std::string RenderDiffMarkdown(const Diff& diff, const DiffView& view) {
  std::string out = "# " + MarkdownEscaped(OneLine(diff)) + "\n\n";
  for (const DiffLine& line : DiffHead(diff, view)) {
    out += "* **" + line.label + "**: " + MarkdownEscaped(line.text) + "\n";
  }
  for (const DiffTable& table : DiffTables(diff, view)) AddTable(table, &out);
  return out;
}

}  // namespace gprof::cli
