// A question in SQL, answered from the records of a trace and the tables of its report.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

struct QueryLimits {
  std::size_t rows = 100;
  std::size_t text_bytes = 2000;           // of one value
  std::size_t bytes = 16 << 20;            // of all rows
  std::chrono::milliseconds time{30'000};  // of the query, without reading the trace
};

struct QueryResult {
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
  bool has_more = false;  // the query has more rows than these
};

// Throws Error: kUsage for what is no query that reads, kInconclusive where it reads a table of which nothing was
// recorded (its rows would say "none" of what nobody knows), or where it takes too long.
QueryResult RunQuery(const Trace& trace, const std::string& sql, const QueryLimits& limits);

}  // namespace gprof
