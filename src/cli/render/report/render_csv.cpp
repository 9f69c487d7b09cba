// Tables for spreadsheets and scripts: RFC 4180, with lines that end as they do on Unix.
#include <fmt/format.h>

#include <cmath>

#include "analysis/result/metrics.h"
#include "base/csv_text.h"
#include "base/text.h"
#include "cli/render/report/render_report.h"
#include "report/trust.h"

namespace gprof::cli {
namespace {

std::string Quoted(std::string_view text) {
  std::string quoted;
  AppendCsvText(text, ',', CsvQuotes::kWhereNeeded, &quoted);
  return quoted;
}

// As JSON has them: whole numbers without a point, others with as many digits as it takes to read the same back.
std::string Plain(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return Quoted(*text);
  if (const auto* whole = std::get_if<int64_t>(&cell)) return std::to_string(*whole);
  const auto* real = std::get_if<double>(&cell);
  return real != nullptr && std::isfinite(*real) ? fmt::format("{}", *real) : "";
}

Table MetricTable(const Report& report) {
  Table table{
      "metrics",
      "",
      {{"id", "", Unit::kText}, {"scope", "", Unit::kText}, {"value", "", Unit::kCount}, {"unit", "", Unit::kText}},
      {},
      ""};
  for (const Section& section : report.sections) {
    for (const Metric& metric : section.result.metrics) {
      const MetricInfo* info = FindMetric(metric.id);
      table.rows.push_back({std::string(metric.id), metric.scope, metric.value,
                            info == nullptr ? std::string() : std::string(UnitName(info->unit))});
    }
  }
  return table;
}

Table FindingTable(const Report& report) {
  Table table{"findings",
              "",
              {{"id", "", Unit::kText},
               {"gain_ns", "", Unit::kNs},
               {"message", "", Unit::kText},
               {"evidence", "", Unit::kText},
               {"advice", "", Unit::kText},
               {"basis", "", Unit::kText}},
              {},
              ""};
  for (const Finding& f : report.findings) {
    table.rows.push_back({f.id, f.gain_ns, f.message, Joined(f.evidence, "; "), f.advice, f.basis});
  }
  return table;
}

}  // namespace

std::vector<NamedTable> AllTables(const Report& report) {
  std::vector<NamedTable> tables = {
      {"findings", FindingTable(report)}, {"metrics", MetricTable(report)}, {"trust", TrustTable(report.Whole())}};
  for (const Section& section : report.sections) {
    for (const Table& table : section.result.tables) {
      tables.push_back({std::string(section.analysis->name) + "." + table.id, table});
    }
  }
  return tables;
}

std::string RenderCsv(const Table& table) {
  std::string out;
  for (const Column& column : table.columns) out += (out.empty() ? "" : ",") + Quoted(column.key);
  out += "\n";
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      out += (i == 0 ? "" : ",") + (i < row.size() ? Plain(row[i]) : std::string());
    }
    out += "\n";
  }
  return out;
}

}  // namespace gprof::cli
