// Where in a program the nodes of CUDA graphs are made: a hook tells the place of a thread while a graph is captured,
// else it is the NVTX ranges that are open then. And which code the lines of generated code came from. Both are told
// once, perhaps long before anything is recorded (gprof/trace/place_calls.h).
#pragma once

#include "tracer/core/collectors.h"
#include "tracer/store/log_rows.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {

struct GeneratedLinesRow {
  RowHeader header;
  trace::StringId file;
  uint32_t first_line, last_line;
  trace::StringId source_file;
  uint32_t source_line;
  trace::StringId function, place;
};

// Of the calling thread, which has this log; empty where nothing is known.
trace::StringId PlaceOfThread(const ThreadLog& log);

void StartPlaces();
void ConvertPlaceRow(const RowHeader* row, const RowSource& source);

inline constexpr Collector kPlaceCollector = {
    .start = StartPlaces,
    .row_types = SetOf(RowType::kGeneratedLines),
    .convert = ConvertPlaceRow,
};

}  // namespace gprof::tracer
