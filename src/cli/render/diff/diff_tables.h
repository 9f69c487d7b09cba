// The tables of a comparison, the same for people and machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gate/diff/diff.h"
#include "gprof/analysis.h"

namespace gprof::cli {

struct DiffColumn {
  std::string key;    // name in JSON, units in it: change_ns
  std::string title;  // heading; empty: for machines only
  Unit unit = Unit::kText;
  bool is_change = false;  // printed with a sign
  bool is_extra = false;   // left out where there is no room
};

struct DiffTable {
  std::string id;  // time, steps, gpus, kernels, transfers, paths, metrics: what --only names
  std::string title;
  std::vector<DiffColumn> columns;
  std::vector<std::vector<Cell>> rows;
  struct Sum {
    size_t after = 0;  // how many rows stand above it
    std::vector<Cell> cells;
  };
  std::vector<Sum> sums;  // in order, for people
  std::string note;
  size_t unchanged = 0;  // rows that were left out because nothing in them changed
};

// What of a comparison is shown, and how.
struct DiffView {
  std::vector<std::string> only;  // tables; empty: all that there is something to say in
  std::string sort;               // column; empty: the largest change first
  uint32_t max_rows = 0;          // of a table, 0: all
  bool has_full_names = false;
  bool has_unchanged = false;  // rows in which nothing changed
  std::string selected;        // the part of the runs that was compared, in words
};

// Names of the tables, in their order.
std::vector<std::string> DiffTableNames();

// Sorted and cut. Throws Error where no table has the column to sort by.
std::vector<DiffTable> DiffTables(const Diff& diff, const DiffView& view);

// The columns for people, without those that say nothing in any row.
std::vector<size_t> ShownColumns(const DiffTable& table);

// The text of these columns, sums in their places.
std::vector<std::vector<std::string>> ShownRows(const DiffTable& table, const std::vector<size_t>& columns);

std::string FormatDiffCell(const Cell& cell, const DiffColumn& column);

}  // namespace gprof::cli
