// Files with the symbols that libraries were stripped of, found by build id.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "unwind/elf_image.h"

namespace gprof {

struct DebugFileOptions {
  std::vector<std::string> folders;  // laid out as /usr/lib/debug, which is looked at as well
  bool asks_debuginfod = false;      // for what is not on this machine; servers are those of DEBUGINFOD_URLS
  bool takes_exports = false;        // of the library itself where there is nothing better
};

// Where debuginfod keeps what was fetched, as its own programs have it.
std::string DebuginfodCache();

// A file with all symbols of the library with that build id, null where there is none.
std::unique_ptr<ElfImage> FindDebugFile(const std::string& library, const std::string& build_id,
                                        const DebugFileOptions& options);

}  // namespace gprof
