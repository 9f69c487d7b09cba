// Every record as one line of text, chunk by chunk: for people, for tests, and for assemble, which is its inverse.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/trace/record.h"

namespace gprof {

struct DumpOptions {
  std::vector<trace::RecordKind> kinds;  // all of them when empty
  bool has_all_fields = false;           // fields with their default value too
  bool has_chunk_lines = true;           // without them the text cannot be assembled again
  std::string path = "the trace";        // for messages
};

// Calls `write` with each line, without its end. Damage and unknown kinds become comment lines (#) at the end.
// Throws Error when `bytes` is not a trace.
void DumpRecords(std::string_view bytes, const DumpOptions& options,
                 const std::function<void(std::string_view)>& write);

}  // namespace gprof
