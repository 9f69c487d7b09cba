// One finding with the numbers behind it, and the rows of a query.
#pragma once

#include <string>

#include "base/terminal.h"
#include "export/query/query.h"
#include "export/query/query_tables.h"
#include "report/answers/explanation.h"

namespace gprof::cli {

std::string RenderExplanationText(const Explanation& explanation, const Terminal& terminal);

std::string RenderQueryText(const QueryResult& result, const Terminal& terminal);
std::string RenderQueryCsv(const QueryResult& result);
// "schema": "gprof.query/1".
std::string RenderQueryJson(const QueryResult& result);

// Tables with their columns, and examples.
std::string RenderSchemaText(const std::vector<QueryTable>& tables, const Terminal& terminal);
std::string RenderSchemaJson(const std::vector<QueryTable>& tables);

}  // namespace gprof::cli
