// Traces for tests, written as text.
#pragma once

#include <string>
#include <string_view>

#include "gprof/trace.h"
#include "trace/text/assemble.h"
#include "trace/text/dump.h"

namespace gprof {

inline Trace LoadText(std::string_view text) { return LoadTraceFromMemory(AssembleTrace(text), "test.trace"); }

inline std::string DumpText(std::string_view bytes, DumpOptions options = {}) {
  std::string text;
  DumpRecords(bytes, options, [&](std::string_view line) { text.append(line).append("\n"); });
  return text;
}

}  // namespace gprof
