// Parts of rows that several tables share, and the tables themselves.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "export/tables/record_tables.h"

namespace gprof {

extern const RecordTable kKernelTable, kMemcpyTable, kMemsetTable, kGraphLaunchTable, kManagedMemoryTable;
extern const RecordTable kApiTable, kSyncTable, kEventRecordTable, kGraphNodeTable, kOverheadTable, kJitTable;
extern const RecordTable kMemoryTable, kMemoryPoolTable;
extern const RecordTable kNvtxRangeTable, kNvtxMarkTable, kNvtxPayloadTable;
extern const RecordTable kProcessTable, kThreadTable, kDeviceTable, kContextTable, kStreamTable, kCaptureTable,
    kClockTable, kLossTable, kNoticeTable;
std::vector<RecordTable> TablesOfLists();

// The number that the system, CUPTI or the report gives to what an index of the model names; nothing for kNone.
void AddPid(const Trace& trace, uint32_t process, RowWriter& row);
void AddTid(const Trace& trace, uint32_t thread, RowWriter& row);
void AddDevice(const Trace& trace, uint32_t device, RowWriter& row);
void AddStream(const Trace& trace, uint32_t stream, RowWriter& row);
void AddUnlessZero(uint64_t value, RowWriter& row);
// Of the call of the program, whatever CUDA called within it.
void AddCorrelation(const Trace& trace, uint32_t api, RowWriter& row);
void AddFunction(const RecordContext& context, uint32_t api, RowWriter& row);
// The word for an enumerator, its number where there is none.
void AddWord(std::span<const std::string_view> words, std::size_t value, RowWriter& row);

}  // namespace gprof
