// Kernel counters, for which Nsight Systems has no tables.
#include "export/sqlite/sqlite_export.h"

namespace gprof {
namespace {

constexpr std::string_view kRangeColumns =
    "id INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, globalPid INTEGER, deviceId INTEGER, contextId INTEGER NOT "
    "NULL, streamId INTEGER NOT NULL, correlationId INTEGER, start INTEGER, passes INTEGER, scope TEXT NOT NULL, "
    "status "
    "TEXT NOT NULL, chip TEXT NOT NULL, library TEXT NOT NULL";

constexpr std::string_view kValueColumns =
    "rangeId INTEGER NOT NULL, metric TEXT NOT NULL, unit TEXT NOT NULL, value REAL, text TEXT";

template <class E>
std::string_view WordOf(E value) {
  return WordsOf(value).at(static_cast<std::size_t>(value));
}

void WriteRanges(SqliteExport& out) {
  SqliteTable table(out.database, "KERNEL_COUNTER_RANGES", kRangeColumns);
  const Trace& trace = out.trace;
  for (uint32_t i = 0; i < trace.counter_ranges.size(); ++i) {
    const CounterRange& range = trace.counter_ranges[i];
    const CounterPlan plan = range.plan == kNone ? CounterPlan{} : trace.counter_plans[range.plan];
    const auto process = range.process == kNone ? std::nullopt : std::optional(out.ProcessId(range.process));
    const auto device = range.device == kNone ? std::nullopt : std::optional(out.DeviceId(range.device));
    const auto start = range.start_ns == 0 ? std::nullopt : std::optional(out.Time(range.start_ns));
    table.Add(i, out.clean(range.name), process, device, range.context, range.stream, UnlessZero(range.correlation),
              start, UnlessZero(range.passes), WordOf(range.scope), WordOf(range.status), out.clean(plan.chip),
              out.clean(plan.library));
  }
}

void WriteValues(SqliteExport& out) {
  SqliteTable table(out.database, "KERNEL_COUNTER_VALUES", kValueColumns);
  for (const CounterValue& value : out.trace.counter_values) {
    out.progress.Add();
    const bool is_text = value.text != NameId{};
    const auto number = is_text ? std::nullopt : std::optional(NumberOf(value));
    const auto text = is_text ? std::optional(out.clean(value.text)) : std::nullopt;
    table.Add(value.range, out.clean(value.metric), out.clean(value.unit), number, text);
  }
}

}  // namespace

void WriteSqliteCounters(SqliteExport& out) {
  WriteRanges(out);
  WriteValues(out);
}

}  // namespace gprof
