#include "cli/render/text_layout.h"

#include <string>
#include <utility>
#include <vector>

#include "report/trace_words.h"

namespace gprof::cli {

TextTable TextOf(const Table& table, std::size_t longest_name, std::size_t rows) {
  TextTable text;
  std::vector<bool> is_shown;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    is_shown.push_back(!column.is_extra || SaysSomething(table, i));
    if (is_shown[i]) text.columns.push_back({column.title, column.unit != Unit::kText, column.is_extra});
  }
  for (auto& row : FormatRows(table, longest_name)) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (is_shown[i]) cells.push_back(std::move(row[i]));
    }
    text.rows.push_back(std::move(cells));
    if (text.rows.size() == rows) break;
  }
  return text;
}

}  // namespace gprof::cli
