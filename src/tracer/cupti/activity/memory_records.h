// Memory as CUPTI tells of it: allocations and frees, pools, and managed memory that moves or faults.
#pragma once

#include "tracer/cupti/library/cupti_api.h"
#include "tracer/store/chunk_output.h"

namespace gprof::tracer {

// [writer thread, or salvage] What an older library does not know is 0 in `activity`.
void Convert(const CUpti_ActivityMemory4& activity, ChunkOutput* output, Cursor cursor);
void Convert(const CUpti_ActivityMemoryPool3& activity, ChunkOutput* output, Cursor cursor);
void Convert(const CUpti_ActivityUnifiedMemoryCounter3& activity, ChunkOutput* output, Cursor cursor);

}  // namespace gprof::tracer
