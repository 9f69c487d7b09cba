// A file of an export that makes several.
#pragma once

#include <functional>
#include <string>

#include "export/output/output_stream.h"

namespace gprof {

// Makes `name` in `folder` of what `write` writes. Throws Error where that fails.
void WriteFileInFolder(const std::string& folder, const std::string& name,
                       const std::function<void(OutputStream&)>& write);

}  // namespace gprof
