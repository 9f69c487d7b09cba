#include "report/nsys/nsys_samples.h"

#include <utility>

#include "analysis/facts/statistics.h"
#include "analysis/result/tables.h"
#include "base/saturate.h"

namespace gprof {

std::vector<Column> NsysColumns(const std::string& counted, Unit unit) {
  const bool is_size = unit == Unit::kBytes;
  const std::string suffix = is_size ? " (MB)" : " (ns)";
  std::vector<Column> columns;
  const auto add = [&columns](const std::string& name, Unit of) { columns.push_back({name, name, of}); };
  if (!is_size) add("Time (%)", Unit::kPercent);
  add((is_size ? "Total" : "Total Time") + suffix, unit);
  add(counted, Unit::kCount);
  for (const char* const name : {"Avg", "Med", "Min", "Max", "StdDev"}) add(name + suffix, unit);
  return columns;
}

Table TableOfSamples(SamplesByName&& samples, const std::string& counted, Unit unit,
                     const std::vector<std::string>& text_columns, const AnalysisOptions& options) {
  Table table;
  table.columns = NsysColumns(counted, unit);
  for (const std::string& name : text_columns) table.columns.push_back({name, name, Unit::kText});
  const std::size_t name_column = table.columns.size() - 1;
  AddHistogramColumn(options, unit == Unit::kBytes ? "Med (MB)" : "Med (ns)", &table);
  std::vector<std::pair<const std::vector<std::string>*, Statistics>> rows;
  SaturatingSum total;
  for (auto& [names, values] : samples) {
    rows.emplace_back(&names, Summarize(values, SpreadFor(options)));
    total += rows.back().second.total;
  }
  for (const auto& [names, statistics] : rows) {
    std::vector<Cell> row = TimeCells(statistics, total);
    if (unit == Unit::kBytes) row.erase(row.begin());
    row.insert(row.end(), names->begin(), names->end());
    AddHistogramCell(options, statistics, &row);
    table.rows.push_back(std::move(row));
  }
  const std::size_t total_column = unit == Unit::kBytes ? 0 : kTotalNsColumn;
  SortAndCut(&table, total_column, name_column, 0);
  return table;
}

std::string NsysRangeName(const Trace& trace, const NvtxRange& range) {
  const std::string domain = range.domain == kNone ? "" : std::string(trace.Text(trace.domains[range.domain].name));
  return domain + ":" + std::string(trace.Text(range.name));
}

}  // namespace gprof
