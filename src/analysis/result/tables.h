// Tables of results: order and length.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gprof/analysis.h"

namespace gprof {

// Largest in `value_column` first, ties by the text in `name_column`; then cut to max_rows (0: all), as the note says.
// Every row must hold an integer or nothing, which comes last, in the one column, and text in the other.
void SortAndCut(Table* table, size_t value_column, size_t name_column, uint32_t max_rows);

// Cut alone, for rows that are in order.
void CutRows(Table* table, uint32_t max_rows);

// For tables with a row for each of something that a trace has millions of: only the rows that are shown are made.
size_t RowsShown(size_t all_rows, uint32_t max_rows);
void NoteLeftOut(Table* table, size_t all_rows);

}  // namespace gprof
