#include "fleet/partial/join_tables.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/saturate.h"
#include "base/units.h"
#include "fleet/partial/histogram.h"

namespace gprof {
namespace {

constexpr std::string_view kTables[] = {"idle",
                                        "idle_by_nvtx",
                                        "idle_by_call",
                                        "idle_by_os",
                                        "idle_by_launch",
                                        "idle_by_next",
                                        "gap_lengths",
                                        "kernel_lengths",
                                        "kernels",
                                        "memcpy",
                                        "sync",
                                        "api",
                                        "os_sum",
                                        "python_lines",
                                        "graph_calls",
                                        "startup",
                                        "jit",
                                        "nvtx",
                                        "ops",
                                        "ops_by_shape",
                                        "health",
                                        "managed_memory",
                                        "nvtx_payloads",
                                        "mpi",
                                        "kernel_launches"};

// What a column is made of in a row that stands for several.
enum class Kind : uint8_t { kName, kRemark, kSum, kLeast, kMost, kMean, kShare, kMiddle, kUnknown };

bool Has(std::string_view key, std::string_view part) { return key.find(part) != std::string_view::npos; }

Kind KindOf(const Column& column) {
  const std::string& key = column.key;
  if (column.unit == Unit::kText) {
    const bool is_remark =
        key == "split" || key == "holder" || key == "thread" || key == "values" || key == "meaning" || key == "advice";
    if (is_remark) return Kind::kRemark;
    return Has(key, "tflops") ? Kind::kUnknown : Kind::kName;
  }
  if (key == "percent" || key == "gpu_percent" || key == "count_percent") return Kind::kShare;
  if (key == "median_ns" || key == "median_bytes") return Kind::kMiddle;
  if (key == "mean_ns" || key == "mean_bytes") return Kind::kMean;
  if (key.starts_with("min")) return Kind::kLeast;
  if (key.starts_with("max") || key.starts_with("largest") || key.starts_with("longest")) return Kind::kMost;
  const bool adds_up = column.unit == Unit::kNs || column.unit == Unit::kCount || column.unit == Unit::kBytes;
  if (!adds_up || Has(key, "median") || Has(key, "stddev") || key == "lanes") return Kind::kUnknown;
  return Kind::kSum;
}

size_t Find(const std::vector<Column>& columns, std::string_view key) {
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.key == key; });
  return static_cast<size_t>(found - columns.begin());
}

// The column that a share is one of, and a mean: the first sum in the table, or that of the counts.
size_t SumOf(const std::vector<Column>& columns, const std::string& share) {
  if (share == "count_percent") return Find(columns, "count");
  if (share == "mean_bytes") return Find(columns, "bytes");
  const auto found = std::find_if(columns.begin(), columns.end(), [](const Column& c) {
    return KindOf(c) == Kind::kSum && (c.unit == Unit::kNs || c.unit == Unit::kBytes);
  });
  return static_cast<size_t>(found - columns.begin());
}

const int64_t* Whole(const std::vector<Cell>& cells, size_t at) {
  return at < cells.size() ? std::get_if<int64_t>(&cells[at]) : nullptr;
}

Cell Joined(Kind kind, const Cell& a, const Cell& b) {
  if (std::holds_alternative<std::monostate>(a)) return b;
  if (std::holds_alternative<std::monostate>(b)) return a;
  if (kind == Kind::kRemark) return a == b ? a : Cell(std::string());
  const auto *x = std::get_if<int64_t>(&a), *y = std::get_if<int64_t>(&b);
  if (x == nullptr || y == nullptr) return {};
  if (kind == Kind::kLeast) return std::min(*x, *y);
  if (kind == Kind::kMost) return std::max(*x, *y);
  SaturatingSum sum;
  sum += *x, sum += *y;
  return static_cast<int64_t>(sum);
}

// "27 more rows not shown." is about one rank.
std::string WithoutRowsLeftOut(const std::string& note) {
  const size_t more = note.rfind(" more row");
  if (more == std::string::npos || more == 0) return note;
  const size_t sentence = note.rfind(' ', more - 1);
  return sentence == std::string::npos ? "" : note.substr(0, sentence);
}

bool IsKept(Kind kind) {
  return kind == Kind::kName || kind == Kind::kRemark || kind == Kind::kSum || kind == Kind::kLeast ||
         kind == Kind::kMost;
}

Cell MedianOf(const std::map<int64_t, int64_t>& buckets) {
  int64_t all = 0, seen = 0;
  for (const auto& [bucket, count] : buckets) all += count;
  for (const auto& [bucket, count] : buckets) {
    seen += count;
    if (2 * seen >= all) return MiddleOf(bucket);
  }
  return {};
}

}  // namespace

bool CanJoinTable(const std::string& id) {
  return std::find(std::begin(kTables), std::end(kTables), id) != std::end(kTables);
}

void TableJoin::Add(Table table, uint32_t kept_rows) {
  if (table_.columns.empty()) {
    table_ = table;
    table_.rows.clear();
    table_.note = WithoutRowsLeftOut(table.note);
    bases_.resize(table_.columns.size());
  }
  const auto is_alike = [](const Column& a, const Column& b) { return a.key == b.key && a.unit == b.unit; };
  if (!std::equal(table.columns.begin(), table.columns.end(), table_.columns.begin(), table_.columns.end(), is_alike))
    return;  // of another version
  is_cut_ = is_cut_ || table.rows.size() >= kept_rows;
  AddBases(table);
  for (size_t i = 0; i < table.rows.size(); ++i) AddRow(table.rows[i], i);
}

// What is so many nanoseconds and so many percent tells what 100 % are.
void TableJoin::AddBases(const Table& table) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (KindOf(table.columns[i]) != Kind::kShare) continue;
    const size_t sum = SumOf(table.columns, table.columns[i].key);
    for (const auto& row : table.rows) {
      const auto* const percent = std::get_if<double>(&row[i]);
      const int64_t* const part = Whole(row, sum);
      if (percent == nullptr || part == nullptr || *percent <= 0) continue;
      bases_[i] += std::round(100 * static_cast<double>(*part) / *percent);
      break;
    }
  }
}

void TableJoin::AddRow(const std::vector<Cell>& cells, size_t place) {
  std::vector<std::string> names;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (KindOf(table_.columns[i]) != Kind::kName) continue;
    const auto* const text = std::get_if<std::string>(&cells[i]);
    names.push_back(text == nullptr ? std::string() : *text);
  }
  const auto [at, is_new] = rows_.try_emplace(std::move(names));
  if (is_new) {
    at->second = {cells, place};
    return;
  }
  std::vector<Cell>& sums = at->second.cells;
  for (size_t i = 0; i < cells.size(); ++i) {
    const Kind kind = KindOf(table_.columns[i]);
    if (kind != Kind::kName) sums[i] = IsKept(kind) ? Joined(kind, sums[i], cells[i]) : Cell();
  }
}

void TableJoin::Fill(std::vector<Cell>* cells) const {
  const size_t count = Find(table_.columns, "count");
  for (size_t i = 0; i < cells->size(); ++i) {
    const Kind kind = KindOf(table_.columns[i]);
    if (IsKept(kind)) continue;
    (*cells)[i] = Cell();
    const int64_t* const sum = Whole(*cells, SumOf(table_.columns, table_.columns[i].key));
    if (kind == Kind::kShare && sum != nullptr && bases_[i] > 0) {
      (*cells)[i] = 100 * static_cast<double>(*sum) / bases_[i];
    }
    const int64_t* const of = Whole(*cells, count);
    if (kind == Kind::kMean && sum != nullptr && of != nullptr && *of > 0) {
      (*cells)[i] = static_cast<double>(*sum) / static_cast<double>(*of);
    }
  }
}

Table TableJoin::Finish(int64_t ranks, const std::map<std::string, std::map<int64_t, int64_t>>& histograms) {
  const bool has_order = table_.id == "gap_lengths" || table_.id == "kernel_lengths";
  const size_t sum = SumOf(table_.columns, ""), middle = Find(table_.columns, "median_ns");
  std::vector<Row*> order;
  for (auto& [names, row] : rows_) {
    order.push_back(&row);
    Fill(&row.cells);
    const auto found = table_.id == "kernels" ? histograms.find(names.back()) : histograms.end();
    if (found != histograms.end() && middle < row.cells.size()) row.cells[middle] = MedianOf(found->second);
  }
  std::stable_sort(order.begin(), order.end(), [&](const Row* a, const Row* b) {
    if (has_order) return a->place < b->place;
    const int64_t *x = Whole(a->cells, sum), *y = Whole(b->cells, sum);
    return (x == nullptr ? 0 : *x) > (y == nullptr ? 0 : *y);
  });
  for (Row* const row : order) table_.rows.push_back(std::move(row->cells));
  table_.note += (table_.note.empty() ? "" : " ") + CountOf(ranks, "rank") + " joined";
  if (table_.id == "kernels") table_.note += "; medians are within 0.8%";
  if (is_cut_) table_.note += "; of each rank, the first rows only";
  table_.note += ".";
  return std::move(table_);
}

}  // namespace gprof
