// Columns of a database whose numbers are fields of a record as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "import/nsight/sqlite_reader.h"

namespace gprof {

template <class R>
struct NumberColumn {
  std::string_view name;
  uint32_t R::*field;
};

// The names of columns, those of the numbers behind the others.
template <class R, std::size_t kCount>
std::vector<std::string_view> WithColumns(std::span<const std::string_view> others,
                                          const NumberColumn<R> (&numbers)[kCount]) {
  std::vector<std::string_view> names(others.begin(), others.end());
  for (const NumberColumn<R>& number : numbers) names.push_back(number.name);
  return names;
}

// `first`: the place of the first of them among the columns.
template <class R, std::size_t kCount>
void ReadNumbers(SqliteRows& rows, std::size_t first, const NumberColumn<R> (&numbers)[kCount], R* record) {
  for (std::size_t i = 0; i < kCount; ++i) record->*numbers[i].field = rows.Int32(first + i);
}

}  // namespace gprof
