#include "cli/render/render_stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/csv_text.h"
#include "base/table.h"
#include "report/json_values.h"

namespace gprof::cli {
namespace {

constexpr double kBytesInMb = 1e6;
constexpr std::size_t kLeastColumns = 140;  // the numbers alone take 110
constexpr std::size_t kUnlimited = std::size_t{1} << 30;

// Decimals of a figure: none for what is counted in whole units.
int DecimalsOf(const Cell& cell, Unit unit) {
  if (unit == Unit::kBytes) return 3;
  return std::holds_alternative<double>(cell) ? 1 : 0;
}

double NumberOf(const Cell& cell, Unit unit) {
  const auto* const whole = std::get_if<int64_t>(&cell);
  const double value = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(cell);
  return unit == Unit::kBytes ? value / kBytesInMb : value;
}

bool IsNumber(const Cell& cell) {
  return std::holds_alternative<int64_t>(cell) || std::holds_alternative<double>(cell);
}

// "27286.9"; whole numbers are exact.
std::string Digits(const Cell& cell, Unit unit) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (!IsNumber(cell)) return "";
  const auto* const whole = std::get_if<int64_t>(&cell);
  if (whole != nullptr && unit != Unit::kBytes) return std::to_string(*whole);
  return fmt::format("{:.{}f}", NumberOf(cell, unit), DecimalsOf(cell, unit));
}

// "27,286.9"
std::string WithSeparators(std::string digits) {
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = point; at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string Quoted(std::string_view text, char separator) {
  std::string quoted;
  AppendCsvText(text, separator, CsvQuotes::kWhereNeeded, &quoted);
  return quoted;
}

Json RowsJson(const Table& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json object = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string digits = Digits(row[i], table.columns[i].unit);
      // Read back, so that JSON has the figures that the other formats print.
      object[table.columns[i].title] = IsNumber(row[i]) ? Json::parse(digits) : Json(digits);
    }
    rows.push_back(std::move(object));
  }
  return rows;
}

}  // namespace

std::string RenderStatsTable(const Table& table, const Terminal& terminal) {
  TextTable text;
  for (const Column& column : table.columns) text.columns.push_back({column.title, column.unit != Unit::kText});
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Unit unit = table.columns[i].unit;
      cells.push_back(unit == Unit::kText ? Digits(row[i], unit) : WithSeparators(Digits(row[i], unit)));
    }
    text.rows.push_back(std::move(cells));
  }
  const std::size_t width = terminal.is_terminal ? std::max(terminal.columns, kLeastColumns) : kUnlimited;
  return Style(terminal.has_color).Bold(table.title) + "\n" + RenderTable(text, width, Style(terminal.has_color), 2);
}

std::string RenderStatsCsv(const Table& table, char separator) {
  std::string out;
  for (const Column& column : table.columns) {
    out += (out.empty() ? std::string() : std::string(1, separator)) + Quoted(column.title, separator);
  }
  out += "\n";
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i != 0) out += separator;
      out += Quoted(Digits(row[i], table.columns[i].unit), separator);
    }
    out += "\n";
  }
  return out;
}

std::string RenderStatsJson(const std::vector<NamedTable>& tables) {
  if (tables.size() == 1) return ToText(RowsJson(tables.front().table));
  Json all = Json::object();
  for (const NamedTable& table : tables) all[table.name] = RowsJson(table.table);
  return ToText(all);
}

}  // namespace gprof::cli
