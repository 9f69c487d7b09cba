// Tables of many ranks as one: rows with the same names add up.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/result/histogram.h"
#include "fleet/rank/rank_summary.h"
#include "gprof/analysis.h"

namespace gprof {

// Without the columns of histograms, which are for those who join tables.
Table WithoutHistograms(Table table);

// Rows of the tables that are given, by their names. Medians are of histograms; of what does not add up (shares of
// something else) there is nothing in the result.
class TableJoin {
 public:
  void Add(const Table& table);
  Table Finish(int64_t ranks, const std::map<std::string, Histogram>& kernels);

 private:
  struct JoinedRow {
    std::vector<Cell> cells;
    size_t place = 0;                                  // in the first table that has it
    std::vector<std::optional<Histogram>> histograms;  // by column; nothing once one table has none
  };
  void AddRow(const std::vector<Cell>& cells, const std::vector<const std::string*>& histograms, size_t place);
  void AddBases(const Table& table);
  void AddHistograms(const std::vector<const std::string*>& texts, JoinedRow* row) const;
  void Fill(int64_t ranks, JoinedRow* row) const;

  Table table_;
  std::vector<double> bases_;             // by column: what percentages are of
  std::vector<int64_t> ranks_with_base_;  // likewise: of how many ranks that is known
  std::map<std::vector<std::string>, JoinedRow> rows_;
  bool is_cut_ = false;
};

}  // namespace gprof
