// CUPTI's records to ours.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tracer/cupti/library/cupti_api.h"
#include "tracer/store/chunk_output.h"

namespace gprof::tracer {

// Asks the loaded library how long its records are: it may be older or newer than the headers we were built with.
void LearnRecordSizes();
// 0 for a kind that it does not know.
std::size_t RecordBytes(uint32_t kind);

// Of all that were converted. [writer thread]
uint64_t LastOperationEndNs();

// From here on, operations that CUPTI delivers before they have ended are in progress, not without times. `look`:
// InProgressRecord::look. [writer thread]
void TellUnfinishedWork(uint32_t look);

// Keeps the name of a kernel, which a record has as a pointer, where it outlives the process. [any thread, as CUPTI
// delivers]
void KeepNameOf(const CUpti_Activity* record);

// One record of ours for each, added last where there are several: the cursor goes with it.
void ConvertRecord(const CUpti_Activity* record, ChunkOutput* output, Cursor cursor);

}  // namespace gprof::tracer
