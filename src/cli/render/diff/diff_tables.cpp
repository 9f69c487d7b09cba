#include "cli/render/diff/diff_tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <variant>

#include "analysis/result/metrics.h"
#include "base/units.h"
#include "gate/diff/diff_words.h"
#include "gprof/error.h"
#include "report/trace_words.h"

namespace gprof::cli {
namespace {

using Row = std::vector<Cell>;

Cell PercentCell(double part, double whole) { return whole == 0 ? Cell() : Cell(100 * part / whole); }
Cell TextCell(std::string_view text) { return text.empty() ? Cell() : Cell(std::string(text)); }

void Append(Row more, Row* row) { row->insert(row->end(), more.begin(), more.end()); }

// Every table of times begins with these.
std::vector<DiffColumn> TimeColumns() {
  return {{"change_ns", "Change", Unit::kNs, true, false},
          {"change_percent", "Change (%)", Unit::kPercent, true, false},
          {"base_ns", "Base", Unit::kNs, false, false},
          {"new_ns", "New", Unit::kNs, false, false}};
}

Row TimeCells(const TimeChange& time) {
  return {time.ChangeNs(),
          PercentCell(static_cast<double>(time.ChangeNs()), std::fabs(static_cast<double>(time.base_ns))), time.base_ns,
          time.new_ns};
}

// What all runs say, in words and for machines.
std::vector<DiffColumn> JudgedColumns() {
  return {{"verdict", "Verdict", Unit::kText, false, false}, {"evidence", "", Unit::kText, false, false},
          {"p_value", "", Unit::kCount, false, false},       {"shift", "", Unit::kCount, false, false},
          {"shift_low", "", Unit::kCount, false, false},     {"shift_high", "", Unit::kCount, false, false},
          {"runs_needed", "", Unit::kCount, false, false}};
}

Row JudgedCells(const std::optional<SampleComparison>& judged) {
  if (!judged) return Row(JudgedColumns().size());
  return {std::string(ChangeName(judged->change)),
          judged->evidence,
          judged->p_value,
          judged->shift,
          judged->shift_low,
          judged->shift_high,
          static_cast<int64_t>(judged->runs_needed)};
}

DiffTable TableOfTimes(std::string id, std::string title, std::vector<DiffColumn> others) {
  DiffTable table{std::move(id), std::move(title), TimeColumns(), {}, {}, "", 0};
  for (const std::vector<DiffColumn>& more : {JudgedColumns(), others}) {
    table.columns.insert(table.columns.end(), more.begin(), more.end());
  }
  return table;
}

Row RowOfTimes(const TimeChange& time, Row others) {
  Row row = TimeCells(time);
  Append(JudgedCells(time.judged), &row);
  Append(std::move(others), &row);
  return row;
}

std::string OfGpus(const Diff& diff) {
  const size_t gpus = std::max(diff.base.gpus, diff.now.gpus);
  return gpus > 1 ? " of " + std::to_string(gpus) + " GPUs" : "";
}

DiffTable TimeTable(const Diff& diff) {
  DiffTable table = TableOfTimes("time", "Where the time went",
                                 {{"share_percent", "% of change", Unit::kPercent, true, true},
                                  {"part", "", Unit::kText, false, false},
                                  {"in_window", "", Unit::kCount, false, false},
                                  {"label", "Part", Unit::kText, false, false}});
  const auto change_ns = static_cast<double>(diff.window.ChangeNs());
  const auto add = [&](const TimeChange& time, Cell share, std::string key, bool is_in_window, std::string label) {
    return RowOfTimes(time, {std::move(share), std::move(key), int64_t{is_in_window}, std::move(label)});
  };
  for (const PartChange& part : diff.parts) {
    Cell share;
    if (part.is_in_window) share = PercentCell(static_cast<double>(part.time.ChangeNs()), change_ns);
    table.rows.push_back(add(part.time, share, part.key, part.is_in_window, part.label));
  }
  const auto in_window = static_cast<size_t>(
      std::count_if(diff.parts.begin(), diff.parts.end(), [](const PartChange& part) { return part.is_in_window; }));
  if (diff.window.base_ns != 0 || diff.window.new_ns != 0) {
    table.sums.push_back({in_window, add(diff.window, change_ns == 0 ? Cell() : Cell(100.0), "window", true,
                                         "= GPU window" + OfGpus(diff))});
    table.sums.push_back(
        {diff.parts.size(), add(diff.gpu_wall, {}, "wall", false,
                                OfGpus(diff).empty() ? "= wall time" : "= wall time, summed over GPUs")});
    table.note = "GPU window: from the first to the last operation, the sum of the rows above.";
  }
  return table;
}

DiffTable StepTable(const Diff& diff) {
  DiffTable table{"steps",
                  "Time per step",
                  {{"change_ns", "Change", Unit::kNs, true, false},
                   {"change_percent", "Change (%)", Unit::kPercent, true, false},
                   {"base_ns", "Base", Unit::kNs, false, false},
                   {"new_ns", "New", Unit::kNs, false, false},
                   {"base_total_ns", "", Unit::kNs, false, false},
                   {"new_total_ns", "", Unit::kNs, false, false},
                   {"part", "", Unit::kText, false, false},
                   {"label", "Part", Unit::kText, false, false}},
                  {},
                  {},
                  "",
                  0};
  if (!diff.steps) return table;
  const StepChange& steps = *diff.steps;
  const auto add = [&](int64_t base_ns, int64_t new_ns, const std::string& key, const std::string& label) -> Row {
    const double base = steps.BaseMeanNs(base_ns), now = steps.NewMeanNs(new_ns);
    return {now - base, PercentCell(now - base, base), base, now, base_ns, new_ns, key, label};
  };
  for (const StepPartChange& part : steps.parts) {
    table.rows.push_back(add(part.base_total_ns, part.new_total_ns, part.key, part.label));
  }
  table.sums.push_back({steps.parts.size(), add(steps.base_total_ns, steps.new_total_ns, "step", "= mean step")});
  table.note = "Means over " + FormatCount(steps.base_count) + " \"" + steps.base_path + "\" steps in the base and " +
               FormatCount(steps.new_count) + (steps.new_path == steps.base_path ? "" : " \"" + steps.new_path + "\"") +
               " in the new run, warm-up excluded (medians of the parts would not add up).";
  return table;
}

DiffTable GpuTable(const Diff& diff) {
  DiffTable table = TableOfTimes("gpus", "GPU time by GPU",
                                 {{"busy_change_ns", "Busy", Unit::kNs, true, true},
                                  {"idle_change_ns", "Idle", Unit::kNs, true, true},
                                  {"presence", "Status", Unit::kText, false, true},
                                  {"device", "GPU", Unit::kText, false, false}});
  for (const DeviceChange& device : diff.devices) {
    int64_t idle_ns = 0;
    for (const PartChange& part : device.parts) idle_ns += part.key.starts_with("idle.") ? part.time.ChangeNs() : 0;
    table.rows.push_back(RowOfTimes(device.window, {device.window.ChangeNs() - idle_ns, idle_ns,
                                                    TextCell(PresenceName(device.presence)), device.device}));
  }
  return table;
}

// "4x1x1 of 256x1x1", "4x1x1 of 256x1x1 to 8x1x1 of 128x1x1".
std::string ShapeText(const KernelChange& kernel) {
  if (kernel.presence == Presence::kNew || kernel.base_shape == kernel.new_shape) return kernel.new_shape;
  if (kernel.presence == Presence::kGone) return kernel.base_shape;
  return kernel.base_shape + " -> " + kernel.new_shape;
}

DiffTable KernelTable(const Diff& diff, bool has_unchanged) {
  DiffTable table = TableOfTimes("kernels", "Kernels",
                                 {{"presence", "Status", Unit::kText, false, true},
                                  {"base_count", "Base count", Unit::kCount, false, true},
                                  {"new_count", "New count", Unit::kCount, false, true},
                                  {"base_shape", "", Unit::kText, false, false},
                                  {"new_shape", "", Unit::kText, false, false},
                                  {"shape_text", "Shape", Unit::kText, false, true},
                                  {"was", "", Unit::kText, false, false},
                                  {"why", "", Unit::kText, false, false},
                                  {"name", "Kernel", Unit::kText, false, false}});
  for (const KernelChange& kernel : diff.kernels) {
    if (!has_unchanged && kernel.time.ChangeNs() == 0 && kernel.base_count == kernel.new_count) {
      ++table.unchanged;
      continue;
    }
    table.rows.push_back(
        RowOfTimes(kernel.time, {TextCell(PresenceName(kernel.presence)), kernel.base_count, kernel.new_count,
                                 TextCell(kernel.base_shape), TextCell(kernel.new_shape), TextCell(ShapeText(kernel)),
                                 TextCell(kernel.was), TextCell(kernel.why), kernel.name}));
  }
  return table;
}

DiffTable TransferTable(const Diff& diff, bool has_unchanged) {
  DiffTable table = TableOfTimes("transfers", "Copies and memsets",
                                 {{"presence", "Status", Unit::kText, false, true},
                                  {"base_bytes", "Base bytes", Unit::kBytes, false, true},
                                  {"new_bytes", "New bytes", Unit::kBytes, false, true},
                                  {"base_count", "Base count", Unit::kCount, false, true},
                                  {"new_count", "New count", Unit::kCount, false, true},
                                  {"direction", "Direction", Unit::kText, false, false},
                                  {"memory", "Memory", Unit::kText, false, false}});
  for (const TransferChange& t : diff.transfers) {
    const bool is_same = t.time.ChangeNs() == 0 && t.base_count == t.new_count && t.base_bytes == t.new_bytes;
    if (!has_unchanged && is_same) {
      ++table.unchanged;
      continue;
    }
    table.rows.push_back(RowOfTimes(t.time, {TextCell(PresenceName(t.presence)), t.base_bytes, t.new_bytes,
                                             t.base_count, t.new_count, t.direction, t.memory}));
  }
  return table;
}

DiffTable PathTable(const Diff& diff, bool has_unchanged) {
  DiffTable table = TableOfTimes("paths", "GPU time by NVTX range",
                                 {{"presence", "Status", Unit::kText, false, true},
                                  {"busy_change_ns", "Busy", Unit::kNs, true, true},
                                  {"idle_change_ns", "Idle", Unit::kNs, true, true},
                                  {"host_change_ns", "", Unit::kNs, true, false},
                                  {"base_count", "Base ranges", Unit::kCount, false, true},
                                  {"new_count", "New ranges", Unit::kCount, false, true},
                                  {"path", "NVTX range", Unit::kText, false, false}});
  if (!has_unchanged && diff.paths.size() == 1 && diff.paths.front().path.empty()) return table;  // the GPU time again
  for (const PathChange& path : diff.paths) {
    if (!has_unchanged && path.window.ChangeNs() == 0 && path.base_count == path.new_count) {
      ++table.unchanged;
      continue;
    }
    table.rows.push_back(RowOfTimes(
        path.window,
        {TextCell(PresenceName(path.presence)), path.busy.ChangeNs(), path.idle.ChangeNs(), path.host.ChangeNs(),
         path.base_count, path.new_count, path.path.empty() ? std::string("(no range)") : path.path}));
  }
  table.note =
      "Exclusive times: work launched in the range itself, and idle time while its thread was in it. They add up "
      "to the GPU window.";
  return table;
}

// The unit of a metric is that of its row.
std::string MetricText(const std::optional<double>& value, Unit unit) {
  if (!value) return "-";
  const bool is_whole = *value == std::floor(*value) && std::fabs(*value) < 9e15;
  return FormatCell(is_whole && unit != Unit::kPercent ? Cell(static_cast<int64_t>(*value)) : Cell(*value), unit);
}

// "+3.1 pp": the difference of two percentages is none itself.
std::string PointsText(double points) {
  constexpr double kLeast = 0.005;
  if (std::fabs(points) < kLeast) return "0 pp";
  std::string text = FormatPercentChange(points);
  text.pop_back();
  return text + " pp";
}

std::string MetricChangeText(const MetricChange& metric) {
  if (!metric.base || !metric.now) return metric.now ? "new" : "gone";
  const double change = *metric.now - *metric.base;
  if (metric.unit == Unit::kPercent) return PointsText(change);
  const std::string text = MetricText(change, metric.unit);
  return change > 0 ? "+" + text : text;
}

std::string BetterText(const MetricChange& metric) {
  if (metric.judged && metric.judged->change == Change::kRegressed) return "worse";
  if (metric.judged && metric.judged->change == Change::kImproved) return "better";
  return metric.judged ? std::string(ChangeName(metric.judged->change)) : "";
}

Cell ValueCell(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }

// Kernel counters have a table of their own, in which the kernel stands in a column.
bool IsCounter(const MetricChange& metric) { return metric.id.starts_with("kernel."); }

Row MetricRow(const MetricChange& m, bool is_of_counters) {
  Cell percent;
  if (m.base && m.now) percent = PercentCell(*m.now - *m.base, std::fabs(*m.base));
  const char* const better = m.better == Better::kLower ? "lower" : m.better == Better::kHigher ? "higher" : "neither";
  Row row = {MetricChangeText(m),
             percent,
             MetricText(m.base, m.unit),
             MetricText(m.now, m.unit),
             TextCell(m.is_deterministic ? "exact" : ""),
             int64_t{m.is_deterministic},
             std::string(better),
             std::string(UnitName(m.unit)),
             TextCell(BetterText(m)),
             ValueCell(m.base),
             ValueCell(m.now),
             m.id,
             m.scope};
  Append(JudgedCells(m.judged), &row);
  if (is_of_counters) {
    row.push_back(m.id.substr(m.id.find('.') + 1));
    row.push_back(m.scope.substr(m.scope.find(':') + 1));
  } else {
    row.push_back(m.scope.empty() ? m.id : m.id + "@" + m.scope);
  }
  return row;
}

std::string NoteOfMetrics(const Diff& diff) {
  const auto is_percent = [](const MetricChange& m) { return m.unit == Unit::kPercent; };
  const bool has_points = std::any_of(diff.metrics.begin(), diff.metrics.end(), is_percent);
  return std::string("Deterministic metrics come first; they are compared exactly.") +
         (has_points ? " pp: percentage points." : "");
}

DiffTable MetricTable(const Diff& diff, bool is_of_counters) {
  DiffTable table{is_of_counters ? "counters" : "metrics",
                  is_of_counters ? "Kernel counters" : "Changed metrics",
                  {{"change_text", "Change", Unit::kCount, false, false},
                   {"change_percent", "Change (%)", Unit::kPercent, true, false},
                   {"base_text", "Base", Unit::kCount, false, false},
                   {"new_text", "New", Unit::kCount, false, false},
                   {"exact_text", "Exact", Unit::kText, false, true},
                   {"deterministic", "", Unit::kCount, false, false},
                   {"better", "", Unit::kText, false, false},
                   {"unit", "", Unit::kText, false, false},
                   {"is", "Status", Unit::kText, false, false},
                   {"base", "", Unit::kCount, false, false},
                   {"new", "", Unit::kCount, false, false},
                   {"id", "", Unit::kText, false, false},
                   {"scope", "", Unit::kText, false, false}},
                  {},
                  {},
                  "",
                  0};
  const std::vector<DiffColumn> judged = JudgedColumns();
  for (const DiffColumn& column : judged) {
    table.columns.push_back(column);
    table.columns.back().title.clear();
  }
  table.columns.push_back({"metric", is_of_counters ? "Counter" : "Metric", Unit::kText, false, false});
  if (is_of_counters) table.columns.push_back({"kernel", "Kernel", Unit::kText, false, false});
  for (const MetricChange& m : diff.metrics) {
    if (IsCounter(m) != is_of_counters) continue;
    table.rows.push_back(MetricRow(m, is_of_counters));
  }
  table.note = NoteOfMetrics(diff);
  return table;
}

std::size_t ColumnOf(const DiffTable& table, const std::string& key) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].key == key) return i;
  }
  return table.columns.size();
}

double NumberOf(const Cell& cell) {
  if (const auto* whole = std::get_if<int64_t>(&cell)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  return 0;
}

// Numbers from large to small, changes by their size; text by the alphabet.
bool ComesFirst(const Cell& a, const Cell& b) {
  const auto *x = std::get_if<std::string>(&a), *y = std::get_if<std::string>(&b);
  if (x != nullptr && y != nullptr) return *x < *y;
  return std::fabs(NumberOf(a)) > std::fabs(NumberOf(b));
}

bool Sort(const std::string& key, DiffTable* table) {
  const std::size_t at = ColumnOf(*table, key);
  if (at == table->columns.size()) return false;
  std::stable_sort(table->rows.begin(), table->rows.end(),
                   [at](const Row& a, const Row& b) { return ComesFirst(a[at], b[at]); });
  return true;
}

// What sums to the GPU time stands together.
void Group(DiffTable* table) {
  const std::size_t at = ColumnOf(*table, "in_window");
  std::stable_partition(table->rows.begin(), table->rows.end(),
                        [at](const Row& row) { return NumberOf(row[at]) != 0; });
}

// What is left out stands in one row, so that the rows that are shown sum as before. Parts of the time are few.
void Cut(uint32_t max_rows, DiffTable* table) {
  if (max_rows == 0 || table->rows.size() <= max_rows || table->id == "time" || table->id == "steps") return;
  const std::size_t change = ColumnOf(*table, "change_ns"), base = ColumnOf(*table, "base_ns"),
                    now = ColumnOf(*table, "new_ns");
  const std::size_t left_out = table->rows.size() - max_rows;
  if (base < table->columns.size()) {
    Row rest(table->columns.size());
    std::array<double, 3> sums{};
    for (std::size_t i = max_rows; i < table->rows.size(); ++i) {
      sums[0] += NumberOf(table->rows[i][change]);
      sums[1] += NumberOf(table->rows[i][base]);
      sums[2] += NumberOf(table->rows[i][now]);
    }
    rest[change] = sums[0], rest[base] = sums[1], rest[now] = sums[2];
    rest[ColumnOf(*table, "change_percent")] = PercentCell(sums[0], std::fabs(sums[1]));
    rest.back() = "(" + CountOf(static_cast<int64_t>(left_out), "more row") + ")";
    table->sums.insert(table->sums.begin(), {max_rows, std::move(rest)});
  } else {
    table->note +=
        (table->note.empty() ? "" : " ") + CountOf(static_cast<int64_t>(left_out), "more row") + " not shown.";
  }
  table->rows.resize(max_rows);
}

std::vector<DiffTable> AllTables(const Diff& diff, bool has_unchanged) {
  return {TimeTable(diff),
          StepTable(diff),
          GpuTable(diff),
          KernelTable(diff, has_unchanged),
          TransferTable(diff, has_unchanged),
          PathTable(diff, has_unchanged),
          MetricTable(diff, true),
          MetricTable(diff, false)};
}

}  // namespace

std::vector<std::string> DiffTableNames() {
  std::vector<std::string> names;
  for (const DiffTable& table : AllTables({}, true)) names.push_back(table.id);
  return names;
}

std::vector<DiffTable> DiffTables(const Diff& diff, const DiffView& view) {
  std::vector<DiffTable> tables = AllTables(diff, view.has_unchanged);
  bool is_sorted = view.sort.empty();
  for (DiffTable& table : tables) {
    // Without it the other tables are ranked as they are made.
    const bool is_of_parts = table.id == "time" || table.id == "steps";
    if (!view.sort.empty() || is_of_parts) is_sorted |= Sort(view.sort.empty() ? "change_ns" : view.sort, &table);
    if (table.id == "time") Group(&table);
    Cut(view.max_rows, &table);
    if (table.unchanged > 0) {
      table.note += (table.note.empty() ? "" : " ") + CountOf(static_cast<int64_t>(table.unchanged), "unchanged row") +
                    " not shown.";
    }
  }
  if (!is_sorted) {
    throw Error(ExitCode::kUsage, "no table has a column '" + view.sort + "'",
                "docs/commands/diff.md lists the columns, such as change_ns, base_ns, new_count and name");
  }
  if (!view.only.empty()) {
    std::erase_if(tables, [&](const DiffTable& table) {
      return std::find(view.only.begin(), view.only.end(), table.id) == view.only.end();
    });
  }
  return tables;
}

std::vector<size_t> ShownColumns(const DiffTable& table) {
  std::vector<size_t> shown;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const DiffColumn& column = table.columns[i];
    const auto is_empty = [&](const auto& row) { return FormatDiffCell(row[i], column).empty(); };
    const bool may_go = column.is_extra || column.key == "verdict";
    if (column.title.empty() || (may_go && std::all_of(table.rows.begin(), table.rows.end(), is_empty))) continue;
    shown.push_back(i);
  }
  return shown;
}

std::vector<std::vector<std::string>> ShownRows(const DiffTable& table, const std::vector<size_t>& columns) {
  std::vector<std::vector<std::string>> shown;
  const auto add = [&](const Row& row) {
    shown.emplace_back();
    for (const size_t i : columns) shown.back().push_back(FormatDiffCell(row[i], table.columns[i]));
  };
  size_t sum = 0;
  for (size_t row = 0; row <= table.rows.size(); ++row) {
    for (; sum < table.sums.size() && table.sums[sum].after <= row; ++sum) add(table.sums[sum].cells);
    if (row < table.rows.size()) add(table.rows[row]);
  }
  return shown;
}

std::string FormatDiffCell(const Cell& cell, const DiffColumn& column) {
  if (cell.index() == 0) return "";
  // JSON has the name that it had first.
  if (const auto* text = std::get_if<std::string>(&cell); text != nullptr && column.key == "direction")
    return *text == "fill" ? "memset" : *text;
  if (!column.is_change || std::holds_alternative<std::string>(cell)) return FormatCell(cell, column.unit);
  return column.unit == Unit::kPercent ? FormatPercentChange(NumberOf(cell)) : FormatNsChange(NumberOf(cell));
}

}  // namespace gprof::cli
