#include "export/query/query.h"

#include <algorithm>
#include <cctype>

#include "analysis/facts/recording/unknown_facts.h"
#include "base/text.h"
#include "export/query/query_database.h"
#include "export/query/query_tables.h"
#include "gprof/error.h"

namespace gprof {
namespace {

bool MentionsReport(std::string sql) {
  std::ranges::transform(sql, sql.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return Contains(sql, "report_");
}

// That there is no row says something only where rows could have been recorded.
void RefuseUnknown(const Trace& trace, const RecordTable& table) {
  const FactSet facts = FactsOfTable(table.name), unknown = UnknownFacts(trace);
  if (facts.IsEmpty() || (facts & unknown) != facts) return;
  std::string why;
  ForEachFact(facts, [&](Fact fact) { why += (why.empty() ? "" : "; ") + WhyUnknown(trace, fact); });
  throw Error(ExitCode::kInconclusive, "cannot tell: '" + std::string(table.name) + "' was not recorded",
              why + "; an empty table would look as if there was none");
}

void FillTables(const Trace& trace, QueryDatabase& database) {
  const ExportOptions options;
  RecordContext context(trace, options);
  const auto read = database.TablesRead();
  for (const RecordTable& table : AllRecordTables()) {
    if (!read.contains(std::string(table.name))) continue;
    if (database.Fill(table, context) == 0) RefuseUnknown(trace, table);
  }
}

// Sums over a part of the rows would look like sums over all.
void RefuseCut(const std::vector<Table>& tables, const QueryDatabase& database) {
  for (const Table& table : tables) {
    if (table.rows_left_out == 0 || !database.TablesRead().contains("report_" + table.id)) continue;
    throw Error(ExitCode::kInconclusive,
                "report_" + table.id + " has more than " + std::to_string(kMostReportRows) + " rows",
                "query the records, or select a part of the trace with report --format csv --rows 0");
  }
}

std::size_t SizeOf(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text == nullptr ? sizeof(cell) : text->size();
}

}  // namespace

QueryResult RunQuery(const Trace& trace, const std::string& sql, const QueryLimits& limits) {
  QueryDatabase database;
  const std::vector<Table> of_report = MentionsReport(sql) ? TablesOfReport(trace) : std::vector<Table>();
  for (const Table& table : of_report) database.Add(table);
  database.Prepare(sql);
  RefuseCut(of_report, database);
  FillTables(trace, database);
  database.Start(limits.time);
  QueryResult result;
  result.columns = database.Columns();
  std::size_t bytes = 0;
  while (database.Step()) {
    result.has_more = result.rows.size() == limits.rows || bytes > limits.bytes;
    if (result.has_more) break;
    std::vector<Cell>& row = result.rows.emplace_back();
    for (int i = 0; i < static_cast<int>(result.columns.size()); ++i) {
      row.push_back(database.At(i, limits.text_bytes));
      bytes += SizeOf(row.back());
    }
  }
  return result;
}

}  // namespace gprof
