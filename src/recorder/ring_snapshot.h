// What a ring holds, as a trace like any other: the chunks are copied as they are, numbered anew, and those that begin
// before the time that is kept lose what is older.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/trace/file.h"
#include "recorder/ring.h"
#include "trace/write/append.h"

namespace gprof {

struct SnapshotRequest {
  uint64_t run = 0;                                   // of the file (ChunkHeader::run)
  std::function<int(std::string_view chunks)> write;  // appends them; 0, or an errno value
  int64_t from_ns = 0;          // CLOCK_MONOTONIC, as all times of a trace; what ended before is left out
  int64_t until_ns = 0;         // when everything that is in the ring was written: now
  int64_t last_ns = INT64_MAX;  // what ended later is left out
  std::string reason;           // empty: none; "step 'train' took 93 ms, 3.1 times its median of 30 ms"
  trace::ProcessKey writer;     // who says so
  // Whether a process is between two windows now, where nothing that is kept says so.
  std::function<bool(const trace::ProcessKey&)> is_in_pause = {};
};

struct Snapshot {
  int error = 0;         // errno of what could not be written
  uint64_t bytes = 0;    // of the trace
  int64_t from_ns = 0;   // all that happened since then is in it
  uint64_t records = 0;  // of events
  uint64_t damaged = 0;  // chunks whose checksum was wrong
};

Snapshot WriteSnapshot(const Ring& ring, const SnapshotRequest& request);

// Into a file that was made already, with its first chunk.
std::function<int(std::string_view chunks)> AppendTo(TraceFile file);

}  // namespace gprof
