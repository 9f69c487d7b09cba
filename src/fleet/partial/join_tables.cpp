#include "fleet/partial/join_tables.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "analysis/facts/statistics.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr std::string_view kTables[] = {"api",
                                        "api_errors",
                                        "call_sites",
                                        "copy_sizes",
                                        "cpu_functions",
                                        "gap_lengths",
                                        "gemms",
                                        "graph_calls",
                                        "health",
                                        "idle",
                                        "idle_by_call",
                                        "idle_by_function",
                                        "idle_by_launch",
                                        "idle_by_mpi",
                                        "idle_by_next",
                                        "idle_by_nvtx",
                                        "idle_by_os",
                                        "jit",
                                        "kernel_kinds",
                                        "kernel_launches",
                                        "kernel_lengths",
                                        "kernels",
                                        "managed_memory",
                                        "memcpy",
                                        "modules",
                                        "modules_each",
                                        "mpi_gpu_work",
                                        "mpi_sizes",
                                        "mpi_sum",
                                        "nccl",
                                        "nccl_messages",
                                        "nvtx",
                                        "nvtx_payloads",
                                        "occupancy",
                                        "ops",
                                        "ops_by_shape",
                                        "ops_without_flops",
                                        "os_files",
                                        "os_sum",
                                        "pageable",
                                        "polling",
                                        "python_lines",
                                        "python_samples",
                                        "serialised",
                                        "startup",
                                        "sync",
                                        "sync_sites"};

// Their percentages are of time that other tables hold, so that of a rank without rows nobody knows it.
constexpr std::string_view kSharesOfOtherTime[] = {"idle_by_call", "idle_by_function", "idle_by_launch",
                                                   "idle_by_mpi",  "idle_by_next",     "idle_by_nvtx",
                                                   "idle_by_os",   "python_lines",     "serialised"};

// Numbers that tell rows apart, as names do.
constexpr std::string_view kNumbersInNames[] = {"m",           "n",           "k",         "batch",       "code",
                                                "above_bytes", "up_to_bytes", "registers", "shared_bytes"};
// What rows with the same names have in common.
constexpr std::string_view kInCommon[] = {"waves", "used_percent", "blocks_per_sm", "occupancy_percent", "ranks"};

constexpr std::string_view kShares[] = {"percent", "gpu_percent", "kernel_percent", "running_percent", "count_percent"};

// What a column is made of in a row that stands for several.
enum class Kind : uint8_t { kName, kRemark, kSum, kLeast, kMost, kMean, kRate, kShare, kMiddle, kSpread, kUnknown };

template <std::size_t kCount>
bool IsOneOf(const std::string_view (&keys)[kCount], std::string_view key) {
  return std::find(std::begin(keys), std::end(keys), key) != std::end(keys);
}

bool Has(std::string_view key, std::string_view part) { return key.find(part) != std::string_view::npos; }

Kind KindOf(const Column& column) {
  const std::string& key = column.key;
  if (IsOneOf(kNumbersInNames, key)) return Kind::kName;
  if (IsOneOf(kInCommon, key)) return Kind::kRemark;
  // GPUs have the numbers of their rank, and times of events begin with it.
  if (key == "device" || key == "first_ns") return Kind::kUnknown;
  if (column.unit != Unit::kText && (key == "tflops" || key == "peak_percent")) return Kind::kRate;
  if (column.unit == Unit::kText) {
    const bool is_remark = key == "split" || key == "holder" || key == "thread" || key == "values" ||
                           key == "waker_place" || key == "meaning" || key == "advice" || key == "longest";
    if (is_remark) return Kind::kRemark;
    return Has(key, "tflops") ? Kind::kUnknown : Kind::kName;
  }
  if (IsOneOf(kShares, key)) return Kind::kShare;
  if (key.ends_with("median_ns") || key == "median_bytes") return Kind::kMiddle;
  if (key.starts_with("stddev_")) return Kind::kSpread;
  if (key == "mean_ns" || key == "mean_bytes") return Kind::kMean;
  if (key.starts_with("min")) return Kind::kLeast;
  if (key.starts_with("max") || key.starts_with("largest") || key.starts_with("longest")) return Kind::kMost;
  const bool adds_up = column.unit == Unit::kNs || column.unit == Unit::kCount || column.unit == Unit::kBytes;
  if (!adds_up || key == "lanes") return Kind::kUnknown;
  return Kind::kSum;
}

size_t Find(const std::vector<Column>& columns, std::string_view key) {
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.key == key; });
  return static_cast<size_t>(found - columns.begin());
}

// The column that a share is one of, and a mean: the first sum of times or bytes in the table, or of counts.
size_t SumOf(const std::vector<Column>& columns, const std::string& share) {
  if (share == "count_percent") return Find(columns, "count");
  if (const size_t samples = Find(columns, "self"); share == "percent" && samples < columns.size()) return samples;
  if (share == "mean_bytes") return std::min(Find(columns, "bytes"), Find(columns, "total_bytes"));
  const auto is_sum = [](const Column& c) { return KindOf(c) == Kind::kSum; };
  const auto is_large = [&](const Column& c) { return is_sum(c) && (c.unit == Unit::kNs || c.unit == Unit::kBytes); };
  auto found = std::find_if(columns.begin(), columns.end(), is_large);
  if (found == columns.end()) found = std::find_if(columns.begin(), columns.end(), is_sum);
  return static_cast<size_t>(found - columns.begin());
}

// How many things a row is about.
size_t CountColumn(const std::vector<Column>& columns) {
  for (const std::string_view key : {"count", "runs", "calls"}) {
    if (const size_t found = Find(columns, key); found < columns.size()) return found;
  }
  return columns.size();
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

std::string NameIn(const Cell& cell) {
  if (const auto* const number = std::get_if<int64_t>(&cell); number != nullptr) return std::to_string(*number);
  const auto* const text = std::get_if<std::string>(&cell);
  return text == nullptr ? std::string() : *text;
}

bool IsKept(Kind kind) {
  return kind == Kind::kName || kind == Kind::kRemark || kind == Kind::kSum || kind == Kind::kLeast ||
         kind == Kind::kMost || kind == Kind::kRate || kind == Kind::kSpread;
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
  const auto of = [&](std::string_view what) {
    std::string key = columns[at].key;
    return Whole(cells, Find(columns, key.replace(key.find("median"), std::string_view("median").size(), what)));
  };
  const int64_t *const least = of("min"), *const most = of("max"), median = MedianOf(histogram);
  return least != nullptr && most != nullptr && *least <= *most ? std::clamp(median, *least, *most) : median;
}

bool IsHistogram(const Column& column) { return column.key.ends_with(kHistogramSuffix); }

// Of each column but those of histograms that one, where the table has it.
std::vector<size_t> HistogramsOf(const Table& table) {
  std::vector<size_t> places;
  for (const Column& column : table.columns) {
    if (!IsHistogram(column)) places.push_back(Find(table.columns, column.key + std::string(kHistogramSuffix)));
  }
  return places;
}

}  // namespace

bool CanJoinTable(const std::string& id) {
  return std::find(std::begin(kTables), std::end(kTables), id) != std::end(kTables);
}

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

void TableJoin::Add(const Table& with_histograms, uint32_t kept_rows) {
  const Table table = WithoutHistograms(with_histograms);
  if (table_.columns.empty()) {
    table_ = table;
    table_.rows.clear();
    table_.note = WithoutRowsLeftOut(table.note);
    bases_.resize(table_.columns.size());
    ranks_with_base_.resize(table_.columns.size());
  }
  const auto is_alike = [](const Column& a, const Column& b) { return a.key == b.key && a.unit == b.unit; };
  if (!std::equal(table.columns.begin(), table.columns.end(), table_.columns.begin(), table_.columns.end(), is_alike))
    return;  // of another version
  is_cut_ = is_cut_ || table.rows.size() >= kept_rows;
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
    if (KindOf(table.columns[i]) != Kind::kShare) continue;
    const size_t sum = SumOf(table.columns, table.columns[i].key);
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

void TableJoin::AddHistograms(const std::vector<const std::string*>& texts, Row* row) const {
  for (size_t i = 0; i < texts.size(); ++i) {
    if (KindOf(table_.columns[i]) != Kind::kMiddle || !row->histograms[i]) continue;
    if (texts[i] == nullptr || !AddHistogram(*texts[i], &*row->histograms[i])) row->histograms[i].reset();
  }
}

void TableJoin::AddRow(const std::vector<Cell>& cells, const std::vector<const std::string*>& histograms,
                       size_t place) {
  std::vector<std::string> names;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (KindOf(table_.columns[i]) != Kind::kName) continue;
    names.push_back(NameIn(cells[i]));
  }
  const auto [at, is_new] = rows_.try_emplace(std::move(names));
  if (is_new) at->second = {cells, place, std::vector<std::optional<Histogram>>(cells.size(), Histogram())};
  AddHistograms(histograms, &at->second);
  if (is_new) return;
  std::vector<Cell>& sums = at->second.cells;
  const size_t time = SumOf(table_.columns, ""), count = CountColumn(table_.columns);
  for (size_t i = 0; i < cells.size(); ++i) {  // these first: they need both times
    const Column& column = table_.columns[i];
    if (KindOf(column) == Kind::kRate) {
      sums[i] = JoinedRate(sums[i], Whole(sums, time), cells[i], Whole(cells, time));
    } else if (KindOf(column) == Kind::kSpread) {
      const size_t total = column.unit == Unit::kBytes ? SumOf(table_.columns, "mean_bytes") : time;
      sums[i] = JoinedSpread(sums[i], Whole(sums, count), Whole(sums, total), cells[i], Whole(cells, count),
                             Whole(cells, total));
    }
  }
  for (size_t i = 0; i < cells.size(); ++i) {
    const Kind kind = KindOf(table_.columns[i]);
    if (kind == Kind::kName || kind == Kind::kRate || kind == Kind::kSpread) continue;
    sums[i] = IsKept(kind) ? Joined(kind, sums[i], cells[i]) : Cell();
  }
}

void TableJoin::Fill(int64_t ranks, Row* row) const {
  std::vector<Cell>* const cells = &row->cells;
  const size_t count = CountColumn(table_.columns);
  for (size_t i = 0; i < cells->size(); ++i) {
    const Kind kind = KindOf(table_.columns[i]);
    const auto* const text = std::get_if<std::string>(&(*cells)[i]);
    const bool differs = kind == Kind::kRemark && text != nullptr && text->empty();
    if (IsKept(kind) && !differs) continue;
    (*cells)[i] = Cell();
    const std::optional<Histogram>& histogram = row->histograms[i];
    if (kind == Kind::kMiddle && histogram && !histogram->empty()) {
      (*cells)[i] = MedianWithin(*histogram, table_.columns, i, *cells);
    }
    const int64_t* const sum = Whole(*cells, SumOf(table_.columns, table_.columns[i].key));
    const bool is_base_known = ranks_with_base_[i] == ranks || !IsOneOf(kSharesOfOtherTime, table_.id);
    if (kind == Kind::kShare && sum != nullptr && bases_[i] > 0 && is_base_known) {
      (*cells)[i] = 100 * static_cast<double>(*sum) / bases_[i];
    }
    const int64_t* const of = Whole(*cells, count);
    if (kind == Kind::kMean && sum != nullptr && of != nullptr && *of > 0) {
      (*cells)[i] = static_cast<double>(*sum) / static_cast<double>(*of);
    }
  }
}

Table TableJoin::Finish(int64_t ranks, const std::map<std::string, Histogram>& kernels) {
  const bool has_order = table_.id == "gap_lengths" || table_.id == "kernel_lengths" || table_.id == "copy_sizes";
  const size_t sum = SumOf(table_.columns, ""), middle = Find(table_.columns, "median_ns");
  std::vector<Row*> order;
  for (auto& [names, row] : rows_) {
    order.push_back(&row);
    Fill(ranks, &row);
    const auto found = table_.id == "kernels" ? kernels.find(names.back()) : kernels.end();
    if (found != kernels.end() && middle < row.cells.size()) {
      row.cells[middle] = MedianWithin(found->second, table_.columns, middle, row.cells);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](const Row* a, const Row* b) {
    if (has_order) return a->place < b->place;
    const int64_t *x = Whole(a->cells, sum), *y = Whole(b->cells, sum);
    return (x == nullptr ? 0 : *x) > (y == nullptr ? 0 : *y);
  });
  for (Row* const row : order) table_.rows.push_back(std::move(row->cells));
  table_.note += (table_.note.empty() ? "" : " ") + CountOf(ranks, "rank") + " joined";
  const bool has_medians = std::any_of(table_.columns.begin(), table_.columns.end(),
                                       [](const Column& column) { return KindOf(column) == Kind::kMiddle; });
  if (has_medians) table_.note += "; medians are within " + FormatPercent(kBucketErrorPercent);
  if (is_cut_) table_.note += "; of each rank, the first rows only";
  table_.note += ".";
  return std::move(table_);
}

}  // namespace gprof
