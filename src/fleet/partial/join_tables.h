// Tables of many ranks as one: rows with the same names add up.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fleet/rank_summary.h"
#include "gprof/analysis.h"

namespace gprof {

// Whether tables with that id can be joined. The others are about one trace: gaps, threads, what ran beside what.
bool CanJoinTable(const std::string& id);

// Rows of the tables that are given, by their names. Of what does not add up (medians, shares of something else) there
// is nothing in the result; medians of kernels are of histograms.
class TableJoin {
 public:
  // Rows beyond `kept_rows` were not kept by whoever made the table.
  void Add(Table table, uint32_t kept_rows);
  Table Finish(int64_t ranks, const std::map<std::string, std::map<int64_t, int64_t>>& histograms);

 private:
  struct Row {
    std::vector<Cell> cells;
    size_t place = 0;  // in the first table that has it
  };
  void AddRow(const std::vector<Cell>& cells, size_t place);
  void AddBases(const Table& table);
  void Fill(int64_t ranks, std::vector<Cell>* cells) const;

  Table table_;
  std::vector<double> bases_;             // by column: what percentages are of
  std::vector<int64_t> ranks_with_base_;  // likewise: of how many ranks that is known
  std::map<std::vector<std::string>, Row> rows_;
  bool is_cut_ = false;
};

}  // namespace gprof
