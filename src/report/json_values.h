// JSON, for machines. Strings that are no UTF-8 get a replacement character: names come from programs.
#pragma once

#include <string>
#include <string_view>

#include "base/json_style.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// Keys keep the order they are written in.

std::string ToText(const Json& json);
// The same in one line, for a document within another.

const char* SeverityName(Severity severity);

// With its columns, and the analysis that it is of.
Json TableJson(const Table& table, std::string_view analysis);
// A cell of a table; null where it is empty.
Json CellJson(const Cell& cell);

// "trace", "processes", "devices", "health", "losses" and "notices", the same in every schema.
void AddTraceFacts(const TraceHead& trace, Json* json);

}  // namespace gprof
