// What analyses return: metrics, tables and findings, all plain data. `report` prints it, `check` gates on it, `diff`
// subtracts two of it. An analysis is a pure function from a Trace to AnalysisResult; the list is
// src/analysis/registry/registry.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

enum class Unit : uint8_t { kText, kCount, kNs, kBytes, kPercent, kBytesPerSecond, kPerSecond };
enum class Better : uint8_t { kNeither, kLower, kHigher };

// How the values of several ranks give that of all of them, where nobody has their traces.
enum class Join : uint8_t {
  kSum,
  kMost,
  kLeast,
  kRatio,   // of two metrics that can be joined
  kSpan,    // from the first record of any rank to the last
  kMiddle,  // not at all: a median, a mean, or a share of what no metric says
  kNever,   // not at all: what ranks have in common, or do to each other
};

struct MetricJoin {
  Join how = Join::kSum;
  std::string_view part{}, whole{};  // of kRatio
  double scale = 1;

  constexpr bool IsKnown() const { return how != Join::kMiddle && how != Join::kNever; }
};

// What a metric has values of besides the whole trace and each GPU.
enum class Parts : uint8_t { kWhole, kKernels, kRanges, kOsFunctions, kMpiFunctions, kFunctions, kOperators };

// A row of the metric catalogue (src/analysis/result/metrics.cpp, docs/metrics.md): ids are stable.
struct MetricInfo {
  std::string_view id;
  Unit unit;
  Better better;
  bool is_deterministic;  // does not depend on timing: may be gated exactly
  std::string_view meaning;
  FactSet needs = FactSet::None();  // it is known only where the trace lacks none of these
  MetricJoin join{};
  Parts parts = Parts::kWhole;
  bool is_only_of_parts = false;    // it has no value of the whole trace
  bool is_of_host = false;          // whole where GPU work alone is missing
  bool is_of_recording = false;     // says what is missing, and what recording cost: always whole
  bool grows_with_records = false;  // every record that is missing can only have made it smaller
  bool is_of_step = false;          // of the NVTX range that is a step
  std::string_view why_missing{};   // where no run has it; empty: for no reason of its own
};

// A value of a catalogue id. `scope` is empty for the whole trace, else "gpu0", "nvtx:domain/path", …: id@scope.
struct Metric {
  std::string_view id;
  std::string scope;
  double value = 0;  // counts and ns are exact up to 2^53
};

using Cell = std::variant<std::monostate, std::string, int64_t, double>;

enum class Align : uint8_t { kLeft, kRight };

// What the cells of a column are: how rows of several ranks become one follows from it.
enum class ColumnRole : uint8_t {
  kName,    // tells rows apart
  kCommon,  // what rows with the same names have in common
  kSum,
  kLeast,
  kMost,
  kMean,  // of `of`, for each thing that the row counts
  kMedian,
  kDeviation,       // standard deviation of a sample
  kShare,           // of `of`: in percent of its sum over all rows
  kShareElsewhere,  // in percent of time that other tables hold: what that is no empty table tells
  kRate,            // of something for each nanosecond of the row
  kHistogram,       // of the samples of `of`, as text
  kOwn,             // of one trace: times of events, numbers of GPUs, and what else does not add up
};

constexpr ColumnRole RoleOf(Unit unit) {
  if (unit == Unit::kText) return ColumnRole::kName;
  if (unit == Unit::kPercent) return ColumnRole::kShare;
  return unit == Unit::kBytesPerSecond || unit == Unit::kPerSecond ? ColumnRole::kOwn : ColumnRole::kSum;
}

struct Column {
  Column() = default;
  Column(std::string column_key, std::string heading, Unit of_unit, bool extra = false, std::string explanation = {})
      : Column(std::move(column_key), std::move(heading), of_unit, extra, RoleOf(of_unit), std::move(explanation)) {}
  Column(std::string column_key, std::string heading, Unit of_unit, bool extra, ColumnRole of_role,
         std::string explanation = {}, std::string base = {})
      : key(std::move(column_key)),
        title(std::move(heading)),
        unit(of_unit),
        is_extra(extra),
        role(of_role),
        meaning(std::move(explanation)),
        of(std::move(base)) {}

  std::string key;    // JSON name, units in it: total_ns
  std::string title;  // heading of the text table
  Unit unit = Unit::kText;
  bool is_extra = false;  // left out of the text table where there is no room (JSON always has it)
  ColumnRole role = ColumnRole::kName;
  std::string meaning;  // of the heading, where that is not plain: "percent of Total"
  std::string of;       // key of the column that it is a share, mean or histogram of; empty: the first that can be
};

// What becomes of the rows of several ranks.
enum class RowsOfRanks : uint8_t {
  kApart,         // nothing: they are about one trace, as gaps, threads, and what ran beside what are
  kAddUp,         // rows with the same names are one, the largest first
  kAddUpInOrder,  // likewise, in the order that they have
  kOfGpus,        // each is a GPU, with another number in the run than in its rank
};

struct Table {
  std::string id;  // kernels, api, memcpy, …
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::string note;  // under the table: what percentages refer to, for example. NoteOf has all that is said there
  RowsOfRanks of_ranks = RowsOfRanks::kApart;
  bool is_detail = false;     // in text only where its analysis is asked for by name (--only); JSON always has it
  int64_t rows_left_out = 0;  // after those that are there
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
  std::string message;       // what is wrong, what it costs and where: at most 160 characters
  std::string advice;        // what to do about it
  int64_t gain_ns = 0;       // time to be won at most, 0 when not estimated; findings are ordered by it
  std::string basis;         // what the gain rests on
  bool is_measured = false;  // the gain is what `what-if` measured, and no estimate
  Subject subject{};
  int64_t about_ns = 0;  // the time that it is about, where only a part of that could be won
  // The numbers and names behind the message, a line for each; what is worth most comes first.
  std::vector<std::string> evidence{};
};

struct AnalysisResult {
  std::vector<Metric> metrics;
  std::vector<Table> tables;
  std::vector<Finding> findings;
  std::string headline{};  // what the head of a report says of it in a line; empty: nothing
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

class SharedFacts;   // src/analysis/facts/shared_facts.h
class SharedCauses;  // src/analysis/causes/shared_causes.h

// What an analysis reads: the trace, and what several analyses derive from it. That is computed when the first of them
// asks for it and kept for the others, whatever thread they run on, so give all analyses of a trace the same input. The
// trace has to outlive it.
class AnalysisInput {
 public:
  AnalysisInput(const Trace& trace);  // implicit: a single analysis can be run on a trace

  const Trace& trace() const { return *trace_; }
  const SharedFacts& shared() const { return *shared_; }
  const SharedCauses& causes() const { return *causes_; }

 private:
  const Trace* trace_;
  std::shared_ptr<const SharedFacts> shared_;
  std::shared_ptr<const SharedCauses> causes_;  // refer to the facts, which live as long
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
