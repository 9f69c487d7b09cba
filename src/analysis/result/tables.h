// Tables of results: order and length, what stands where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gprof/analysis.h"

namespace gprof {

// Largest in `value_column` first, ties by the text in `name_column`; then cut to max_rows (0: all).
// Every row must hold an integer or nothing, which comes last, in the one column, and text in the other.
void SortAndCut(Table* table, size_t value_column, size_t name_column, uint32_t max_rows);

// Cut alone, for rows that are in order.
void CutRows(Table* table, uint32_t max_rows);

// For tables with a row for each of something that a trace has millions of: only the rows that are shown are made.
size_t RowsShown(size_t all_rows, uint32_t max_rows);
void CountLeftOut(Table* table, size_t all_rows);

void AddToNote(Table* table, const std::string& sentence);

// The column with that key; as many as there are columns where none has it.
size_t FindColumn(const std::vector<Column>& columns, std::string_view key);

// What the row has in that column; 0 or no text where it has nothing, or something else.
template <class T>
T ValueAt(const Table& table, const std::vector<Cell>& row, std::string_view key) {
  const size_t at = FindColumn(table.columns, key);
  const T* const value = at < row.size() ? std::get_if<T>(&row[at]) : nullptr;
  return value == nullptr ? T{} : *value;
}

// Null where there is none.
const Table* FindTable(const AnalysisResult& result, std::string_view id);

// The metric of the whole trace; nothing where it is not known.
std::optional<double> TotalOf(const AnalysisResult& result, std::string_view metric);

// What stands under the table: its note, what its columns mean, and how many rows are not shown. Where headings are
// given, other columns are not spoken of.
std::string NoteOf(const Table& table, const std::vector<std::string>* headings = nullptr);

// "33.42 ms", "1.07 GB", "97.3%"; what has no unit of its own as a number, "1,234.5".
std::string FormatFigure(double value, Unit unit);

}  // namespace gprof
