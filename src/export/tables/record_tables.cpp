#include "export/tables/record_tables.h"

#include <vector>

#include "analysis/facts/operations/operations.h"
#include "export/tables/record_rows.h"

namespace gprof {

std::span<const RecordTable> AllRecordTables() {
  static const std::vector<RecordTable> kTables = [] {
    std::vector<RecordTable> tables = {
        kKernelTable,     kMemcpyTable,    kMemsetTable,      kGraphLaunchTable, kManagedMemoryTable,
        kApiTable,        kSyncTable,      kEventRecordTable, kGraphNodeTable,   kMemoryTable,
        kMemoryPoolTable, kNvtxRangeTable, kNvtxMarkTable,    kNvtxPayloadTable, kOverheadTable,
        kJitTable,        kProcessTable,   kThreadTable,      kDeviceTable,      kContextTable,
        kStreamTable,     kCaptureTable,   kClockTable,       kLossTable,        kNoticeTable};
    for (const RecordTable& table : TablesOfLists()) tables.push_back(table);
    return tables;
  }();
  return kTables;
}

void AddPid(const Trace& trace, uint32_t process, RowWriter& row) {
  if (process == kNone) return row.Nothing();
  row.Unsigned(trace.processes[process].pid);
}

void AddTid(const Trace& trace, uint32_t thread, RowWriter& row) {
  if (thread == kNone) return row.Nothing();
  row.Unsigned(trace.threads[thread].tid);
}

void AddDevice(const Trace& trace, uint32_t device, RowWriter& row) {
  if (device == kNone) return row.Nothing();
  row.Unsigned(trace.devices[device].ordinal);
}

void AddStream(const Trace& trace, uint32_t stream, RowWriter& row) {
  if (stream == kNone) return row.Nothing();
  row.Unsigned(trace.streams[stream].id);
}

void AddUnlessZero(uint64_t value, RowWriter& row) {
  if (value == 0) return row.Nothing();
  row.Unsigned(value);
}

void AddCorrelation(const Trace& trace, uint32_t api, RowWriter& row) {
  const uint32_t call = OutermostCall(trace, api);
  if (call == kNone) return row.Nothing();
  row.Unsigned(trace.api_calls.Correlation(call));
}

void AddFunction(const RecordContext& context, uint32_t api, RowWriter& row) {
  const uint32_t call = OutermostCall(context.trace(), api);
  if (call == kNone) return row.Nothing();
  row.Text(context.Clean(context.trace().api_calls[call].function));
}

void AddWord(std::span<const std::string_view> words, std::size_t value, RowWriter& row) {
  if (value < words.size()) return row.Text(words[value]);
  row.Unsigned(value);
}

}  // namespace gprof
