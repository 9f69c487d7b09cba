// JSON, for machines. Strings that are no UTF-8 get a replacement character: names come from programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/number_json.h"  // NumberJson, for numbers
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof::cli {

// Keys keep the order they are written in.
using Json = nlohmann::ordered_json;

std::string ToText(const Json& json);
// The same in one line, for a document within another.
std::string ToCompactText(const Json& json);

const char* SeverityName(Severity severity);

// With its columns, and the analysis that it is of.
Json TableJson(const Table& table, std::string_view analysis);
// A cell of a table; null where it is empty.
Json CellJson(const Cell& cell);

// "trace", "processes", "devices", "health", "losses" and "notices", the same in every schema.
void AddTraceFacts(const Trace& trace, Json* json);

}  // namespace gprof::cli
