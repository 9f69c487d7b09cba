// What analyses return: metrics, tables and findings, all plain data. `report` prints it, `check` gates on it, `diff`
// subtracts two of it. An analysis is a pure function from a Trace to AnalysisResult; the list is
// src/analysis/result/registry.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

enum class Unit : uint8_t { kText, kCount, kNs, kBytes, kPercent, kBytesPerSecond, kPerSecond };
enum class Better : uint8_t { kNeither, kLower, kHigher };

// A row of the metric catalogue (src/analysis/result/metrics.cpp, docs/metrics.md): ids are stable.
struct MetricInfo {
  std::string_view id;
  Unit unit;
  Better better;
  bool is_deterministic;  // does not depend on timing: may be gated exactly
  std::string_view meaning;
  FactSet needs;  // it is known only where the trace lacks none of these
};

// A value of a catalogue id. `scope` is empty for the whole trace, else "gpu0", "nvtx:domain/path", …: id@scope.
struct Metric {
  std::string_view id;
  std::string scope;
  double value = 0;  // counts and ns are exact up to 2^53
};

using Cell = std::variant<std::monostate, std::string, int64_t, double>;

enum class Align : uint8_t { kLeft, kRight };

struct Column {
  std::string key;    // JSON name, units in it: total_ns
  std::string title;  // heading of the text table
  Unit unit = Unit::kText;
  bool is_extra = false;  // left out of the text table where there is no room (JSON always has it)
};

struct Table {
  std::string id;  // kernels, api, memcpy, …
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::string note;        // one sentence under the table: what percentages refer to, for example
  bool is_detail = false;  // in text only where its analysis is asked for by name (--only); JSON always has it
};

enum class Severity : uint8_t { kInfo, kNote, kWarning };

// What a finding is about, by the names that tables, metrics and the timeline have for it. What is empty, it does not
// say.
struct Subject {
  std::string device;                 // "gpu0"
  std::string stream;                 // "copy (stream 14)"
  std::string thread;                 // "loader (4711)"
  std::string process;                // "train (4711)"
  std::string kernel;                 // in full
  std::string range;                  // path of an NVTX range
  std::string function;               // of CUDA
  std::string direction;              // of copies: "host to device"
  std::string trace;                  // one of several
  std::string line;                   // of Python: "train.py:12"
  std::vector<std::string> causes{};  // of idle time: "host"; the largest first
};

struct Finding {
  std::string id;  // memcpy.pageable, streams.one_used, …: stable, see src/analysis/findings/finding_catalogue.cpp
  Severity severity = Severity::kNote;
  std::string message;  // what is the case, with numbers
  std::string advice;   // what to do about it
  int64_t gain_ns = 0;  // time to be won at most, 0 when not estimated; findings are ordered by it
  std::string basis;    // what the gain rests on
  Subject subject{};
};

struct AnalysisResult {
  std::vector<Metric> metrics;
  std::vector<Table> tables;
  std::vector<Finding> findings;
};

struct AnalysisOptions {
  uint32_t max_rows = 20;  // rows of a table, 0 for all
  int64_t min_gap_ns = 0;  // shorter gaps share one row of the table of gaps; sums have them all
  std::string step{};      // path or name of the NVTX range that is one step; empty: look for it
  // What a report in text does not show may be left out: tables that are is_detail, and metrics but for those at its
  // head (src/cli/render/time_split.cpp). Findings and all other tables are the same.
  bool is_brief = false;
  // Columns "median_ns.histogram" at the end of tables, by which rows of many ranks have a median.
  bool has_histograms = false;
};

class SharedFacts;  // src/analysis/facts/shared_facts.h

// What an analysis reads: the trace, and what several analyses derive from it. That is computed when the first of them
// asks for it and kept for the others, whatever thread they run on, so give all analyses of a trace the same input. The
// trace has to outlive it.
class AnalysisInput {
 public:
  AnalysisInput(const Trace& trace);  // implicit: a single analysis can be run on a trace

  const Trace& trace() const { return *trace_; }
  const SharedFacts& shared() const { return *shared_; }

 private:
  const Trace* trace_;
  std::shared_ptr<const SharedFacts> shared_;
};

struct Analysis {
  std::string_view name;
  std::string_view summary;
  AnalysisResult (*run)(const AnalysisInput&, const AnalysisOptions&);
};

// In the order in which the report shows them.
std::span<const Analysis> AllAnalyses();
const Analysis* FindAnalysis(std::string_view name);

std::span<const MetricInfo> MetricCatalogue();
const MetricInfo* FindMetric(std::string_view id);

}  // namespace gprof
