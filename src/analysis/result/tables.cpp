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

}  // namespace

void SortAndCut(Table* table, size_t value_column, size_t name_column, uint32_t max_rows) {
  std::stable_sort(table->rows.begin(), table->rows.end(), [&](const auto& a, const auto& b) {
    const int64_t a_value = SortValue(a[value_column]), b_value = SortValue(b[value_column]);
    if (a_value != b_value) return a_value > b_value;
    return std::get<std::string>(a[name_column]) < std::get<std::string>(b[name_column]);
  });
  CutRows(table, max_rows);
}

void CutRows(Table* table, uint32_t max_rows) {
  const size_t rows = table->rows.size();
  table->rows.resize(RowsShown(rows, max_rows));
  NoteLeftOut(table, rows);
}

size_t RowsShown(size_t all_rows, uint32_t max_rows) {
  return max_rows == 0 ? all_rows : std::min<size_t>(all_rows, max_rows);
}

void NoteLeftOut(Table* table, size_t all_rows) {
  const size_t left_out = all_rows - table->rows.size();
  if (left_out == 0) return;
  table->note += (table->note.empty() ? "" : " ") + CountOf(static_cast<int64_t>(left_out), "more row") + " not shown.";
}

}  // namespace gprof
