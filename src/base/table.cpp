#include "base/table.h"

#include <algorithm>

#include "base/short_names.h"
#include "base/text.h"

namespace gprof {
namespace {

constexpr std::size_t kGap = 2;            // blanks between columns
constexpr std::size_t kReadableName = 32;  // columns of a name that are worth more than an extra column
constexpr std::size_t kTellingName = 26;   // and more than the fifth number
constexpr std::size_t kNumbersKept = 4;
constexpr std::size_t kShortestName = 8;

class Layout {
 public:
  Layout(const TextTable& table, std::size_t width) : columns_(table.columns) {
    for (const TextColumn& column : table.columns) {
      widths_.push_back(DisplayWidth(column.title));
      shown_.push_back(true);
    }
    for (const auto& row : table.rows) {
      for (std::size_t i = 0; i < row.size() && i < widths_.size(); ++i) {
        widths_[i] = std::max(widths_[i], DisplayWidth(row[i]));
      }
    }
    DropExtras(width);
    DropNumbers(width);
    ShortenNames(width);
  }

  bool IsShown(std::size_t i) const { return shown_[i]; }
  std::size_t Width(std::size_t i) const { return widths_[i]; }

 private:
  bool IsName(std::size_t i) const { return shown_[i] && !columns_[i].is_right_aligned; }

  // Columns of the whole table when no name takes more than `longest_name`.
  std::size_t Total(std::size_t longest_name) const {
    std::size_t total = 0;
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      if (shown_[i]) total += kGap + (IsName(i) ? std::min(widths_[i], longest_name) : widths_[i]);
    }
    return total < kGap ? 0 : total - kGap;
  }

  void DropExtras(std::size_t width) {
    for (std::size_t i = columns_.size(); i-- > 0 && Total(kReadableName) > width;) {
      if (columns_[i].is_extra) shown_[i] = false;
    }
  }

  void DropNumbers(std::size_t width) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) kept += shown_[i] && columns_[i].is_right_aligned;
    for (std::size_t i = columns_.size(); i-- > 0 && kept > kNumbersKept && Total(kTellingName) > width;) {
      if (!shown_[i] || !columns_[i].is_right_aligned) continue;
      shown_[i] = false;
      --kept;
    }
  }

  // The longest name gives way first, so that short columns stay whole.
  void ShortenNames(std::size_t width) {
    std::size_t longest = 0;
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      if (IsName(i)) longest = std::max(longest, widths_[i]);
    }
    while (longest > kShortestName && Total(longest) > width) --longest;
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      if (IsName(i)) widths_[i] = std::min(widths_[i], longest);
    }
  }

  const std::vector<TextColumn>& columns_;
  std::vector<std::size_t> widths_;
  std::vector<bool> shown_;
};

std::string RenderLine(const TextTable& table, const Layout& layout, const std::vector<std::string>& cells) {
  std::string line;
  std::size_t pending = 0;  // blanks, not written at the end of a line
  bool is_first = true;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (!layout.IsShown(i)) continue;
    if (!is_first) pending += kGap;
    is_first = false;
    const std::string text = i < cells.size() ? cells[i] : std::string();
    const std::size_t used = DisplayWidth(text);
    const std::size_t fill = layout.Width(i) > used ? layout.Width(i) - used : 0;
    if (table.columns[i].is_right_aligned) pending += fill;
    if (!text.empty()) {
      line.append(pending, ' ');
      pending = 0;
      line += text;
    }
    pending += table.columns[i].is_right_aligned ? (text.empty() ? used : 0) : fill;
  }
  return line;
}

// Its lines: one, unless a text goes on below.
std::vector<std::string> RenderRow(const TextTable& table, const Layout& layout,
                                   const std::vector<std::string>& cells) {
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(cells.size()));
  for (std::size_t i = 0; i < cells.size() && i < table.columns.size(); ++i) {
    std::vector<std::string> lines = {cells[i]};
    if (layout.IsShown(i) && DisplayWidth(cells[i]) > layout.Width(i)) lines = Wrap(cells[i], layout.Width(i));
    if (rows.size() < lines.size()) rows.resize(lines.size(), std::vector<std::string>(cells.size()));
    for (std::size_t line = 0; line < lines.size(); ++line) rows[line][i] = std::move(lines[line]);
  }
  std::vector<std::string> text;
  for (const std::vector<std::string>& row : rows) text.push_back(RenderLine(table, layout, row));
  return text;
}

TextTable MadePrintable(const TextTable& table) {
  TextTable printable = table;
  for (TextColumn& column : printable.columns) column.title = Printable(column.title);
  for (auto& row : printable.rows) {
    for (std::string& cell : row) cell = Printable(cell);
  }
  return printable;
}

constexpr std::size_t kMostLines = 2;
constexpr std::size_t kNarrow = 72;  // columns: wider tables have a line for each row

// A text of several words is not cut where a second line has room for all of it.
bool FitsOnLines(const std::string& cell, std::size_t width) {
  const std::vector<std::string> lines = Wrap(cell, width);
  return lines.size() <= kMostLines &&
         std::ranges::all_of(lines, [width](const std::string& line) { return DisplayWidth(line) <= width; });
}

// What is different in a column reads differently.
void ShortenCells(TextTable* table, const Layout& layout, bool may_wrap) {
  for (std::size_t i = 0; i < table->columns.size(); ++i) {
    if (!layout.IsShown(i) || table->columns[i].is_right_aligned) continue;
    std::vector<std::string> cells;
    for (const auto& row : table->rows) cells.push_back(i < row.size() ? row[i] : std::string());
    const auto fits = [&](const std::string& cell) { return FitsOnLines(cell, layout.Width(i)); };
    if (may_wrap && std::ranges::all_of(cells, fits)) continue;
    cells = ShortenApart(cells, layout.Width(i));
    for (std::size_t row = 0; row < cells.size(); ++row) {
      if (i < table->rows[row].size()) table->rows[row][i] = std::move(cells[row]);
    }
  }
}

Layout LayoutWithin(const TextTable& printable, std::size_t width, std::size_t indent) {
  return Layout(printable, width > indent ? width - indent : 0);
}

}  // namespace

std::string RenderTable(const TextTable& table, std::size_t width, const Style& style, std::size_t indent) {
  TextTable printable = MadePrintable(table);
  const Layout layout = LayoutWithin(printable, width, indent);
  ShortenCells(&printable, layout, width < kNarrow);
  std::vector<std::string> titles;
  for (const TextColumn& column : printable.columns) titles.push_back(column.title);
  const std::string margin(indent, ' ');
  std::string out = margin + style.Dim(RenderLine(printable, layout, titles)) + "\n";
  for (const auto& row : printable.rows) {
    for (const std::string& line : RenderRow(printable, layout, row)) out += margin + line + "\n";
  }
  return out;
}

std::vector<std::string> ShownTitles(const TextTable& table, std::size_t width, std::size_t indent) {
  const TextTable printable = MadePrintable(table);
  const Layout layout = LayoutWithin(printable, width, indent);
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < printable.columns.size(); ++i) {
    if (layout.IsShown(i)) titles.push_back(printable.columns[i].title);
  }
  return titles;
}

}  // namespace gprof
