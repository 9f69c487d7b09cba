// The functions of frames that have no name in a trace, as more of it: chunks to append.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collect/symbols/debug_files.h"

namespace gprof {

struct MissingSymbols {
  struct File {
    std::string path, build_id;
    uint64_t frames = 0;  // of it without a name
    uint64_t named = 0;   // that have one now
    uint64_t lines = 0;   // of it that have a source line now
  };
  std::string chunks;
  std::vector<File> files;  // that frames without a name or a line lie in
};

// `bytes` is a trace. Throws Error where it is none.
MissingSymbols FindMissingSymbols(std::string_view bytes, const std::string& path, const DebugFileOptions& options);

// The same of processes that have ended, as the end of a recording does it: only what is about code is looked at. Empty
// where there is nothing to name, or no trace.
std::string NameFramesOfEnded(std::string_view bytes, const DebugFileOptions& options);

}  // namespace gprof
