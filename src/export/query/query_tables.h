// What a query can read: the record tables, views of them, and the tables of the report.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

struct QueryTable {
  std::string name, meaning;
  std::vector<std::string> columns;
};

struct QueryView {
  std::string_view name, meaning, sql;
};

// gpu_op and gpu_gap.
std::span<const QueryView> QueryViews();

// Record tables and views; with a trace, also the tables of its report, "report_" before their ids.
std::vector<QueryTable> QueryTables(const Trace* trace);

// What a record table has rows of. Where the trace lacks all of these, that it has no rows says nothing. Empty: it
// always says something.
FactSet FactsOfTable(std::string_view table);

struct QueryExample {
  std::string_view question, sql;
};
std::span<const QueryExample> QueryExamples();

}  // namespace gprof
