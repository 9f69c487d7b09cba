#include "analysis/tables.h"

#include <algorithm>
#include <string>
#include <variant>

#include "base/units.h"

namespace gprof {

void SortAndCut(Table* table, size_t value_column, size_t name_column, uint32_t max_rows) {
  std::stable_sort(table->rows.begin(), table->rows.end(), [&](const auto& a, const auto& b) {
    const int64_t a_value = std::get<int64_t>(a[value_column]), b_value = std::get<int64_t>(b[value_column]);
    if (a_value != b_value) return a_value > b_value;
    return std::get<std::string>(a[name_column]) < std::get<std::string>(b[name_column]);
  });
  CutRows(table, max_rows);
}

void CutRows(Table* table, uint32_t max_rows) {
  const size_t rows = table->rows.size();
  if (max_rows == 0 || rows <= max_rows) return;
  table->rows.resize(max_rows);
  table->note += (table->note.empty() ? "" : " ") + CountOf(static_cast<int64_t>(rows - max_rows), "more row") +
                 " not shown.";
}

}  // namespace gprof
