// Reads a trace of any tool that gprof-cli knows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gprof/trace.h"

namespace gprof {

enum class TraceFormat : uint8_t {
  kUnknown,
  kGprof,
  kSqlite,  // Nsight Systems, nvprof
  kJson,    // Kineto, Chrome
  kGzip,    // of JSON or CSV
  kPickle,  // a snapshot of PyTorch's memory
};

// Told by the first bytes, whatever the name is.
TraceFormat FormatOf(std::string_view bytes);

// As LoadTrace (gprof/trace.h), and takes captures of other tools as well: docs/import.md. "-" is the standard input.
Trace ReadTrace(const std::string& path);

}  // namespace gprof
