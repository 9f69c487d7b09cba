#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/csv_text.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/render/answers/render_answers.h"
#include "cli/render/text_layout.h"
#include "report/json_values.h"

namespace gprof::cli {
namespace {

// Numbers as they are: who queries wants to compute with them.
std::string PlainText(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<int64_t>(&cell)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&cell)) return fmt::format("{}", *real);
  return "";
}

bool HoldsNumbers(const QueryResult& result, std::size_t column) {
  const auto is_number = [column](const std::vector<Cell>& row) { return row[column].index() >= 2; };
  const auto is_text = [column](const std::vector<Cell>& row) { return row[column].index() == 1; };
  return std::ranges::any_of(result.rows, is_number) && std::ranges::none_of(result.rows, is_text);
}

std::string RowsSaid(const QueryResult& result) {
  const std::string rows = CountOf(static_cast<int64_t>(result.rows.size()), "row");
  return result.has_more ? "the first " + rows + "; --most N shows more" : rows;
}

Json TableJson(const QueryTable& table) {
  return {{"name", table.name}, {"meaning", table.meaning}, {"columns", table.columns}};
}

}  // namespace

std::string RenderQueryText(const QueryResult& result, const Terminal& terminal) {
  TextTable table;
  for (std::size_t i = 0; i < result.columns.size(); ++i) {
    table.columns.push_back({.title = result.columns[i], .is_right_aligned = HoldsNumbers(result, i)});
  }
  for (const std::vector<Cell>& row : result.rows) {
    std::vector<std::string>& cells = table.rows.emplace_back();
    std::ranges::transform(row, std::back_inserter(cells), PlainText);
  }
  const Style style(terminal.has_color);
  return RenderTable(table, terminal.columns, style) + style.Dim("(" + RowsSaid(result) + ")") + "\n";
}

std::string RenderQueryCsv(const QueryResult& result) {
  std::string out;
  const auto add_row = [&](const auto& cells, const auto& text_of) {
    bool is_first = true;
    for (const auto& cell : cells) {
      if (!std::exchange(is_first, false)) out += ',';
      text_of(cell);
    }
    out += '\n';
  };
  const auto add_text = [&](const std::string& text) { AppendCsvText(Utf8(text), ',', CsvQuotes::kWhereNeeded, &out); };
  add_row(result.columns, add_text);
  for (const std::vector<Cell>& row : result.rows) {
    add_row(row, [&](const Cell& cell) {
      if (const auto* text = std::get_if<std::string>(&cell)) return add_text(*text);
      out += PlainText(cell);
    });
  }
  return out;
}

std::string RenderQueryJson(const QueryResult& result) {
  Json json = {{"schema", "gprof.query/1"}, {"columns", result.columns}, {"rows", Json::array()}};
  for (const std::vector<Cell>& row : result.rows) {
    Json cells = Json::array();
    for (const Cell& cell : row) cells.push_back(CellJson(cell));
    json["rows"].push_back(std::move(cells));
  }
  json["has_more"] = result.has_more;
  return CompactText(json) + "\n";
}

std::string RenderSchemaText(const std::vector<QueryTable>& tables, const Terminal& terminal) {
  const Style style(terminal.has_color);
  std::string out;
  for (const QueryTable& table : tables) {
    out += style.Bold(table.name) + "  " + Printable(table.meaning) + "\n";
    for (const std::string& line : Wrap(Joined(table.columns), std::min(terminal.columns, kMaxProse) - kMargin)) {
      out += std::string(kMargin, ' ') + Printable(line) + "\n";
    }
  }
  if (tables.size() == 1) return out;
  out += "\n" + style.Bold("Examples") + "\n";
  for (const QueryExample& example : QueryExamples()) {
    out += std::string(kMargin, ' ') + std::string(example.question) + "\n";
    for (const std::string& line : Wrap(example.sql, std::min(terminal.columns, kMaxProse) - 2 * kMargin)) {
      out += std::string(2 * kMargin, ' ') + style.Dim(line) + "\n";
    }
  }
  return out;
}

std::string RenderSchemaJson(const std::vector<QueryTable>& tables) {
  Json json = {{"schema", "gprof.query-schema/1"}, {"tables", Json::array()}, {"examples", Json::array()}};
  for (const QueryTable& table : tables) json["tables"].push_back(TableJson(table));
  for (const QueryExample& example : QueryExamples()) {
    json["examples"].push_back({{"question", example.question}, {"sql", example.sql}});
  }
  return CompactText(json) + "\n";
}

}  // namespace gprof::cli
