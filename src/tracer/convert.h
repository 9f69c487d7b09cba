// CUPTI's records to ours.
#pragma once

#include "cupti_api.h"
#include "writer.h"

namespace gprof::tracer {

// Asks the loaded library how long its records are: it may be older or newer than the headers we were built with.
void LearnRecordSizes();

// One record of ours for each, added last where there are several: the cursor goes with it.
void ConvertRecord(const CUpti_Activity* record, ChunkWriter* writer, Cursor cursor);

}  // namespace gprof::tracer
