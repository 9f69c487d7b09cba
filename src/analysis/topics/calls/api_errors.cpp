// Calls that returned an error to the program, by function and code.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "analysis/facts/calls/error_names.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr int32_t kNotReady = 600;

struct Errors {
  int64_t count = 0;
  uint32_t first = kNone;  // the earliest call
};
using ErrorMap = std::map<std::pair<NameId, int32_t>, Errors>;

// What an event or stream that still works answers to a query is no error.
bool IsError(const ApiCall& call) {
  return call.result != 0 && !(call.result == kNotReady && call.api_class == ApiClass::kQuery);
}

ErrorMap Collect(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  ErrorMap errors;
  for (const uint32_t i : input.shared().calls().failed()) {
    const ApiCall& call = trace.api_calls[i];
    if (!IsError(call)) continue;
    Errors& entry = errors[{call.function, call.result}];
    ++entry.count;
    if (entry.first == kNone || call.start_ns < trace.api_calls[entry.first].start_ns) entry.first = i;
  }
  return errors;
}

std::string PathOf(const Trace& trace, const ApiCall& call) {
  return PathName(trace, call.range == kNone ? NameId{} : trace.ranges[call.range].path);
}

Table ErrorTable(const Trace& trace, const ErrorMap& errors, uint32_t max_rows) {
  Table table{"api_errors",
              "Calls that returned an error",
              {{"count", "Count", Unit::kCount, false},
               {"function", "Function", Unit::kText, false},
               {"error", "Error", Unit::kText, false},
               {"code", "Code", Unit::kCount, true, ColumnRole::kName},
               {"first_ns", "First", Unit::kNs, false, ColumnRole::kOwn,
                "time since the start of the trace; thread and range are those of the first error"},
               {"thread", "Thread", Unit::kText, true, ColumnRole::kCommon},
               {"path", "NVTX range", Unit::kText, true}},
              {},
              "Queries that return 600 (not ready) do not count.",
              RowsOfRanks::kAddUp};
  for (const auto& [key, entry] : errors) {
    const ApiCall& first = trace.api_calls[entry.first];
    table.rows.push_back({entry.count, std::string(trace.Text(key.first)), ErrorName(key.second, first.domain),
                          int64_t{key.second}, first.start_ns - trace.start_ns, ThreadName(trace, first.thread),
                          PathOf(trace, first)});
  }
  // In order of time: later errors often follow from the first.
  std::ranges::stable_sort(
      table.rows, [](const auto& a, const auto& b) { return std::get<int64_t>(a[4]) < std::get<int64_t>(b[4]); });
  CutRows(&table, max_rows);
  return table;
}

Finding ErrorFinding(const Trace& trace, const ErrorMap& errors) {
  // The first of those that lose the context, else of all: the others often follow from it.
  const ErrorMap::value_type* first = nullptr;
  int64_t count = 0;
  bool is_sticky = false;
  for (const auto& entry : errors) {
    count += entry.second.count;
    const bool is_worse = LosesContext(entry.first.second) && !is_sticky;
    const bool is_as_bad = LosesContext(entry.first.second) == is_sticky;
    const auto start_ns = [&](const Errors& e) { return trace.api_calls[e.first].start_ns; };
    if (first == nullptr || is_worse || (is_as_bad && start_ns(entry.second) < start_ns(first->second))) first = &entry;
    is_sticky = is_sticky || is_worse;
  }
  const ApiCall& call = trace.api_calls[first->second.first];
  const std::string path = PathOf(trace, call);
  Finding finding = NewFinding("api.errors", is_sticky ? 100 : 0);  // all that comes after is lost
  const std::string function(trace.Text(first->first.first)), error = ErrorName(first->first.second, call.domain);
  finding.message = CountOf(count, "CUDA call") + " returned an error" +
                    (is_sticky ? "; the context is lost, first reported by " + function + ": " + error
                               : "; first: " + function + ", " + error) +
                    " at " + FormatNs(call.start_ns - trace.start_ns) + (call.range == kNone ? "" : " in " + path);
  if (is_sticky) {
    finding.advice =
        "Every later call fails as well: find the faulty kernel with compute-sanitizer. Figures after that point are "
        "those of a failing program.";
  }
  finding.subject.function = function;
  finding.subject.thread = ThreadName(trace, call.thread);
  if (call.range != kNone) finding.subject.range = path;
  return finding;
}

}  // namespace

AnalysisResult RunApiErrors(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  const ErrorMap errors = Collect(input);
  int64_t count = 0;
  for (const auto& entry : errors) count += entry.second.count;
  AddMetric(&result, "api.errors", count);
  if (!errors.empty()) result.findings.push_back(ErrorFinding(trace, errors));
  result.tables.push_back(ErrorTable(trace, errors, options.max_rows));
  return result;
}

}  // namespace gprof
