// docs/metrics.md, written from the catalogue, the causes and the columns of the tables.
#include "analysis/facts/recording/unknown_facts.h"
#include "analysis/result/idle_causes.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"

namespace gprof {
namespace {

constexpr std::string_view kIntroduction =
    "# Metrics and tables\n"
    "\n"
    "All metrics and tables of `report`, `check` and `diff`, by name. This page is generated from the code\n"
    "(`metrics_doc --update docs/metrics.md`), and a test keeps the two in step.\n"
    "\n"
    "## Metrics\n"
    "\n"
    "An id refers to the whole trace. With `@` and a scope it refers to a part of it: `gpu.idle_ns@gpu0` for one\n"
    "GPU, `nvtx.total_ns@nvtx:step/load` for one NVTX range by its path, `kernels.total_ns@kernel:saxpy(int, float*)`\n"
    "for one kernel by its name, `os.blocked_ns@os:read` for one operating system function.\n"
    "\n"
    "*needs* names the [facts](#facts) that a metric depends on. If a trace lacks one, the metric is absent, so\n"
    "that a gate cannot pass on missing data: the result is inconclusive, with the reason.\n"
    "\n"
    "*better* is the direction of an improvement. *exact* metrics do not depend on timing: the same program gives the\n"
    "same value in every run, so a gate can require the exact value.\n"
    "\n"
    "| id | unit | better | exact | needs | meaning |\n"
    "|---|---|---|---|---|---|\n";

constexpr std::string_view kFacts =
    "\n"
    "## Facts\n"
    "\n"
    "Data that a trace may lack. A trace of `profile` lacks what was not requested or did not occur; a trace of\n"
    "another tool ([import](import.md)) lacks what that tool did not record. JSON lists them in `not_recorded`, with\n"
    "the reason.\n"
    "\n"
    "| fact | meaning | reason in a trace of `profile` |\n"
    "|---|---|---|\n";

constexpr std::string_view kCauses =
    "\n"
    "## Causes of idle time\n"
    "\n"
    "An idle gap is a time without a kernel, copy or memset running on a GPU, of any process, while it was recorded.\n"
    "A gap that spans the pause between two captures is cut at their borders.\n"
    "\n"
    "The operation that ends the gap determines the cause: from it the report goes back to the CUDA call that\n"
    "launched it, and follows the thread of that call from the beginning of the gap. Every nanosecond gets the first\n"
    "cause that applies:\n"
    "\n"
    "1. There is no launch call in the trace, or its process had not started yet or was not recorded: `unknown`.\n"
    "2. The call had returned before the gap began: `queue`, or `dependency` where an event that the stream had been\n"
    "   told to wait for held it up. While managed memory moves to or from the GPU it is `memory`.\n"
    "3. CUPTI reports overhead of its own on the thread: `profiler`; the driver compiles or loads code: `load`.\n"
    "4. The thread is in the launch call: `launch`, or `copy` where a pageable copy fills its staging buffer.\n"
    "5. The thread is in another CUDA call: `sync`, `copy`, `memory`, `load` or `api`, by what the call is for.\n"
    "6. The thread is blocked in a recorded operating system call, or off the core without having been\n"
    "   preempted: `os`. Where neither was recorded, that time is part of `host`.\n"
    "7. The thread runs its own code: `host`. This and `os` belong to the innermost push/pop NVTX range of the\n"
    "   thread.\n"
    "\n"
    "One gap may be split among several causes. The parts sum to the gap and the gaps to the idle time, exactly.\n"
    "\n"
    "| cause | metric | meaning |\n"
    "|---|---|---|\n";

constexpr std::string_view kTables =
    "\n"
    "## Tables\n"
    "\n"
    "The columns of every table by their JSON keys, with their headings. The unit is at the end of a key (`_ns`,\n"
    "`_bytes`, `_percent`) or behind the heading; other numbers are counts. Counts and nanoseconds are integers;\n"
    "medians are exact; standard deviations are those of a sample.\n";

std::string NeedsText(FactSet needs) {
  std::string text;
  ForEachFact(needs, [&](Fact fact) { text += (text.empty() ? "`" : ", `") + std::string(InfoOf(fact).key) + "`"; });
  return text;
}

std::string MetricRow(const MetricInfo& info) {
  return "| `" + std::string(info.id) + "` | " + std::string(UnitName(info.unit)) + " | " +
         std::string(info.better == Better::kNeither ? "" : BetterName(info.better)) + " | " +
         (info.is_deterministic ? "yes" : "") + " | " + NeedsText(info.needs) + " | " + std::string(info.meaning) +
         " |\n";
}

std::string FactRow(Fact fact) {
  const FactInfo& info = InfoOf(fact);
  return "| `" + std::string(info.key) + "` | " + std::string(info.name) + " | " + std::string(info.why) + " |\n";
}

std::string CauseRow(const CauseInfo& info) {
  return "| `" + std::string(info.name) + "` | `" + std::string(info.metric) + "` | " + std::string(info.meaning) +
         " |\n";
}

// The unit too where the key does not say it.
std::string ColumnText(const Column& column) {
  const std::string_view unit = UnitName(column.unit);
  const bool is_said = column.unit == Unit::kCount || column.key.find(unit) != std::string::npos ||
                       (column.unit == Unit::kBytesPerSecond && column.key.ends_with("bytes_per_second"));
  return "`" + column.key + "` (" + column.title + (is_said ? "" : ", " + std::string(unit)) + ")";
}

std::string TableSection(const Table& table) {
  const std::string note = NoteOf(table);
  std::string text = "\n### " + table.id + "\n\n" + table.title + "." + (note.empty() ? "" : " " + note) + "\n\n";
  std::string_view separator;
  for (const Column& column : table.columns) {
    text += std::string(separator) + ColumnText(column);
    separator = ", ";
  }
  return text + "\n";
}

}  // namespace

std::string MetricsMarkdown() {
  std::string text(kIntroduction);
  for (const MetricInfo& info : MetricCatalogue()) text += MetricRow(info);
  text += kFacts;
  ForEachFact(FactSet::All(), [&](Fact fact) { text += FactRow(fact); });
  text += kCauses;
  ForEachCause([&](Cause cause) { text += CauseRow(InfoOf(cause)); });
  text += kTables;
  Trace nothing;  // gives every table without its rows
  nothing.strings.emplace_back();
  for (const Analysis& analysis : AllAnalyses()) {
    for (const Table& table : analysis.run(nothing, {}).tables) text += TableSection(table);
  }
  return text;
}

}  // namespace gprof
