#include "fleet/partial/join_tables.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <utility>

#include "analysis/result/tables.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

using enum ColumnRole;

// The first column with that role and one of these units.
size_t First(const std::vector<Column>& columns, ColumnRole role, std::initializer_list<Unit> units) {
  const auto found = std::ranges::find_if(
      columns, [&](const Column& c) { return c.role == role && std::ranges::find(units, c.unit) != units.end(); });
  return static_cast<size_t>(found - columns.begin());
}

// How large a row is: the first sum of times or bytes in the table, or of counts.
size_t SumOf(const std::vector<Column>& columns) {
  const size_t large = First(columns, kSum, {Unit::kNs, Unit::kBytes});
  return large < columns.size() ? large : First(columns, kSum, {Unit::kCount});
}

// The sum that a share is part of, and that a mean and a deviation are of.
size_t SumOf(const std::vector<Column>& columns, const Column& column) {
  if (!column.of.empty()) return FindColumn(columns, column.of);
  const bool is_share = column.unit == Unit::kPercent;
  return is_share ? SumOf(columns) : First(columns, kSum, {column.unit});
}

// How many things a row is about.
size_t CountColumn(const std::vector<Column>& columns) { return First(columns, kSum, {Unit::kCount}); }

const int64_t* Whole(const std::vector<Cell>& cells, size_t at) {
  return at < cells.size() ? std::get_if<int64_t>(&cells[at]) : nullptr;
}

Cell Joined(ColumnRole role, const Cell& a, const Cell& b) {
  if (std::holds_alternative<std::monostate>(a)) return b;
  if (std::holds_alternative<std::monostate>(b)) return a;
  if (role == kCommon) return a == b ? a : Cell(std::string());
  const auto *x = std::get_if<int64_t>(&a), *y = std::get_if<int64_t>(&b);
  if (x == nullptr || y == nullptr) return {};
  if (role == kLeast) return std::min(*x, *y);
  if (role == kMost) return std::max(*x, *y);
  SaturatingSum sum;
  sum += *x, sum += *y;
  return static_cast<int64_t>(sum);
}

std::string NameIn(const Cell& cell) {
  if (const auto* const number = std::get_if<int64_t>(&cell); number != nullptr) return std::to_string(*number);
  const auto* const text = std::get_if<std::string>(&cell);
  return text == nullptr ? std::string() : *text;
}

bool IsShare(const Column& column) { return column.role == kShare || column.role == kShareElsewhere; }

// Each row more changes it; the others are made of those when all rows are there.
bool IsJoined(ColumnRole role) {
  return role == kName || role == kCommon || role == kSum || role == kLeast || role == kMost || role == kRate ||
         role == kDeviation;
}

// Of something for each nanosecond: the mean, by the time of each.
Cell JoinedRate(const Cell& a, const int64_t* a_ns, const Cell& b, const int64_t* b_ns) {
  const auto *x = std::get_if<double>(&a), *y = std::get_if<double>(&b);
  if (x == nullptr || y == nullptr || a_ns == nullptr || b_ns == nullptr || *a_ns <= 0 || *b_ns <= 0) return {};
  const auto first = static_cast<double>(*a_ns), second = static_cast<double>(*b_ns);
  return (*x * first + *y * second) / (first + second);
}

// Of two samples with the deviations a and b, counts and totals.
Cell JoinedSpread(const Cell& a, const int64_t* a_count, const int64_t* a_total, const Cell& b, const int64_t* b_count,
                  const int64_t* b_total) {
  const auto *x = std::get_if<double>(&a), *y = std::get_if<double>(&b);
  if (x == nullptr || y == nullptr || a_count == nullptr || b_count == nullptr) return {};
  if (a_total == nullptr || b_total == nullptr || *a_count <= 0 || *b_count <= 0) return {};
  const auto m = static_cast<double>(*a_count), n = static_cast<double>(*b_count);
  const double apart = static_cast<double>(*a_total) / m - static_cast<double>(*b_total) / n;
  const double squares = *x * *x * (m - 1) + *y * *y * (n - 1) + apart * apart * m * n / (m + n);
  return std::sqrt(squares / (m + n - 1));
}

// The middle of a bucket may be beyond the least and the most of what is in it.
int64_t MedianWithin(const Histogram& histogram, const std::vector<Column>& columns, size_t at,
                     const std::vector<Cell>& cells) {
  const int64_t* const least = Whole(cells, First(columns, kLeast, {columns[at].unit}));
  const int64_t* const most = Whole(cells, First(columns, kMost, {columns[at].unit}));
  const int64_t median = MedianOf(histogram);
  return least != nullptr && most != nullptr && *least <= *most ? std::clamp(median, *least, *most) : median;
}

bool IsHistogram(const Column& column) { return column.role == kHistogram; }

// Of each column but those of histograms that one, where the table has it.
std::vector<size_t> HistogramsOf(const Table& table) {
  std::vector<size_t> places;
  for (const Column& column : table.columns) {
    if (IsHistogram(column)) continue;
    const auto found =
        std::ranges::find_if(table.columns, [&](const Column& c) { return IsHistogram(c) && c.of == column.key; });
    places.push_back(static_cast<size_t>(found - table.columns.begin()));
  }
  return places;
}

}  // namespace

Table WithoutHistograms(Table table) {
  for (auto& row : table.rows) {
    size_t kept = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i < table.columns.size() && IsHistogram(table.columns[i])) continue;
      if (kept != i) row[kept] = std::move(row[i]);
      ++kept;
    }
    row.resize(kept);
  }
  std::erase_if(table.columns, IsHistogram);
  return table;
}

void TableJoin::Add(const Table& with_histograms) {
  const Table table = WithoutHistograms(with_histograms);
  if (table_.columns.empty()) {
    table_ = table;
    table_.rows.clear();
    table_.rows_left_out = 0;
    bases_.resize(table_.columns.size());
    ranks_with_base_.resize(table_.columns.size());
  }
  const auto is_alike = [](const Column& a, const Column& b) { return a.key == b.key && a.unit == b.unit; };
  if (!std::equal(table.columns.begin(), table.columns.end(), table_.columns.begin(), table_.columns.end(), is_alike))
    return;  // of another version
  is_cut_ = is_cut_ || table.rows_left_out > 0;
  AddBases(table);
  const std::vector<size_t> places = HistogramsOf(with_histograms);
  for (size_t i = 0; i < table.rows.size(); ++i) {
    std::vector<const std::string*> histograms;
    for (const size_t place : places) {
      const std::vector<Cell>& row = with_histograms.rows[i];
      histograms.push_back(place < row.size() ? std::get_if<std::string>(&row[place]) : nullptr);
    }
    AddRow(table.rows[i], histograms, i);
  }
}

// What is so many nanoseconds and so many percent tells what 100 % are.
void TableJoin::AddBases(const Table& table) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (!IsShare(table.columns[i])) continue;
    const size_t sum = SumOf(table.columns, table.columns[i]);
    for (const auto& row : table.rows) {
      const auto* const percent = std::get_if<double>(&row[i]);
      const int64_t* const part = Whole(row, sum);
      if (percent == nullptr || part == nullptr || *percent <= 0) continue;
      ++ranks_with_base_[i];
      bases_[i] += std::round(100 * static_cast<double>(*part) / *percent);
      break;
    }
  }
}

void TableJoin::AddHistograms(const std::vector<const std::string*>& texts, JoinedRow* row) const {
  for (size_t i = 0; i < texts.size(); ++i) {
    if (table_.columns[i].role != kMedian || !row->histograms[i]) continue;
    if (texts[i] == nullptr || !AddHistogram(*texts[i], &*row->histograms[i])) row->histograms[i].reset();
  }
}

void TableJoin::AddRow(const std::vector<Cell>& cells, const std::vector<const std::string*>& histograms,
                       size_t place) {
  std::vector<std::string> names;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (table_.columns[i].role == kName) names.push_back(NameIn(cells[i]));
  }
  const auto [at, is_new] = rows_.try_emplace(std::move(names));
  if (is_new) at->second = {cells, place, std::vector<std::optional<Histogram>>(cells.size(), Histogram())};
  AddHistograms(histograms, &at->second);
  if (is_new) return;
  std::vector<Cell>& sums = at->second.cells;
  const size_t time = SumOf(table_.columns), count = CountColumn(table_.columns);
  for (size_t i = 0; i < cells.size(); ++i) {  // these first: they need both times
    const Column& column = table_.columns[i];
    if (column.role == kRate) {
      sums[i] = JoinedRate(sums[i], Whole(sums, time), cells[i], Whole(cells, time));
    } else if (column.role == kDeviation) {
      const size_t total = SumOf(table_.columns, column);
      sums[i] = JoinedSpread(sums[i], Whole(sums, count), Whole(sums, total), cells[i], Whole(cells, count),
                             Whole(cells, total));
    }
  }
  for (size_t i = 0; i < cells.size(); ++i) {
    const ColumnRole role = table_.columns[i].role;
    if (role == kName || role == kRate || role == kDeviation) continue;
    sums[i] = IsJoined(role) ? Joined(role, sums[i], cells[i]) : Cell();
  }
}

void TableJoin::Fill(int64_t ranks, JoinedRow* row) const {
  std::vector<Cell>* const cells = &row->cells;
  const size_t count = CountColumn(table_.columns);
  for (size_t i = 0; i < cells->size(); ++i) {
    const Column& column = table_.columns[i];
    const auto* const text = std::get_if<std::string>(&(*cells)[i]);
    const bool differs = column.role == kCommon && text != nullptr && text->empty();
    if (IsJoined(column.role) && !differs) continue;
    (*cells)[i] = Cell();
    const std::optional<Histogram>& histogram = row->histograms[i];
    if (column.role == kMedian && histogram && !histogram->empty()) {
      (*cells)[i] = MedianWithin(*histogram, table_.columns, i, *cells);
    }
    const int64_t* const sum = Whole(*cells, SumOf(table_.columns, column));
    const bool is_base_known = ranks_with_base_[i] == ranks || column.role != kShareElsewhere;
    if (IsShare(column) && sum != nullptr && bases_[i] > 0 && is_base_known) {
      (*cells)[i] = 100 * static_cast<double>(*sum) / bases_[i];
    }
    const int64_t* const of = Whole(*cells, count);
    if (column.role == kMean && sum != nullptr && of != nullptr && *of > 0) {
      (*cells)[i] = static_cast<double>(*sum) / static_cast<double>(*of);
    }
  }
}

Table TableJoin::Finish(int64_t ranks, const std::map<std::string, Histogram>& kernels) {
  const bool has_order = table_.of_ranks == RowsOfRanks::kAddUpInOrder;
  const size_t sum = SumOf(table_.columns), middle = First(table_.columns, kMedian, {Unit::kNs});
  std::vector<JoinedRow*> order;
  for (auto& [names, row] : rows_) {
    order.push_back(&row);
    Fill(ranks, &row);
    const auto found = table_.id == "kernels" ? kernels.find(names.back()) : kernels.end();
    if (found != kernels.end() && middle < row.cells.size()) {
      row.cells[middle] = MedianWithin(found->second, table_.columns, middle, row.cells);
    }
  }
  std::ranges::stable_sort(order, [&](const JoinedRow* a, const JoinedRow* b) {
    if (has_order) return a->place < b->place;
    const int64_t *x = Whole(a->cells, sum), *y = Whole(b->cells, sum);
    return (x == nullptr ? 0 : *x) > (y == nullptr ? 0 : *y);
  });
  for (JoinedRow* const row : order) table_.rows.push_back(std::move(row->cells));
  AddToNote(&table_, CountOf(ranks, "rank") + " joined");
  const bool has_medians =
      std::ranges::any_of(table_.columns, [](const Column& column) { return column.role == kMedian; });
  if (has_medians) table_.note += "; medians are within " + FormatPercent(kBucketErrorPercent);
  if (is_cut_) table_.note += "; of each rank, the first rows only";
  table_.note += ".";
  return std::move(table_);
}

}  // namespace gprof
