#include "analysis/result/tables.h"

#include <algorithm>
#include <limits>
#include <string>
#include <variant>

#include "base/units.h"

namespace gprof {
namespace {

// A cell without a value comes last.
int64_t SortValue(const Cell& cell) {
  return std::holds_alternative<std::monostate>(cell) ? std::numeric_limits<int64_t>::min() : std::get<int64_t>(cell);
}

void Append(const std::string& sentence, std::string* note) { *note += (note->empty() ? "" : " ") + sentence; }

}  // namespace

void SortAndCut(Table* table, size_t value_column, size_t name_column, uint32_t max_rows) {
  std::ranges::stable_sort(table->rows, [&](const auto& a, const auto& b) {
    const int64_t a_value = SortValue(a[value_column]), b_value = SortValue(b[value_column]);
    if (a_value != b_value) return a_value > b_value;
    return std::get<std::string>(a[name_column]) < std::get<std::string>(b[name_column]);
  });
  CutRows(table, max_rows);
}

void CutRows(Table* table, uint32_t max_rows) {
  const size_t rows = table->rows.size();
  table->rows.resize(RowsShown(rows, max_rows));
  CountLeftOut(table, rows);
}

size_t RowsShown(size_t all_rows, uint32_t max_rows) {
  return max_rows == 0 ? all_rows : std::min<size_t>(all_rows, max_rows);
}

void CountLeftOut(Table* table, size_t all_rows) {
  table->rows_left_out += static_cast<int64_t>(all_rows - table->rows.size());
}

void AddToNote(Table* table, const std::string& sentence) { Append(sentence, &table->note); }

std::string NoteOf(const Table& table, const std::vector<std::string>* headings) {
  std::string note = table.note;
  for (const Column& column : table.columns) {
    const bool is_shown = headings == nullptr || std::ranges::find(*headings, column.title) != headings->end();
    if (is_shown && !column.meaning.empty()) Append(column.title + ": " + column.meaning + ".", &note);
  }
  if (table.rows_left_out > 0) Append(CountOf(table.rows_left_out, "more row") + " not shown.", &note);
  return note;
}

std::string FormatFigure(double value, Unit unit) {
  switch (unit) {
    case Unit::kNs:
      return FormatNs(value);
    case Unit::kBytes:
      return FormatBytes(value);
    case Unit::kPercent:
      return FormatPercent(value);
    case Unit::kBytesPerSecond:
      return FormatBytesPerSecond(value);
    case Unit::kPerSecond:
      return FormatPerSecond(value);
    case Unit::kText:
    case Unit::kCount:
      break;
  }
  return FormatNumber(value);
}

size_t FindColumn(const std::vector<Column>& columns, std::string_view key) {
  return static_cast<size_t>(std::ranges::find(columns, key, &Column::key) - columns.begin());
}

const Table* FindTable(const AnalysisResult& result, std::string_view id) {
  const auto found = std::ranges::find(result.tables, id, &Table::id);
  return found == result.tables.end() ? nullptr : &*found;
}

std::optional<double> TotalOf(const AnalysisResult& result, std::string_view metric) {
  const auto found =
      std::ranges::find_if(result.metrics, [&](const Metric& m) { return m.id == metric && m.scope.empty(); });
  return found == result.metrics.end() ? std::nullopt : std::optional(found->value);
}

}  // namespace gprof
