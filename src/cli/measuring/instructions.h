// What instructions samples are of: code that the tracer left in a folder is taken apart by nvdisasm, where there is
// one, and what samples refer to is added to the trace.
#pragma once

#include <string>

namespace gprof::cli {

// Why there are none, to be told; empty when all is well.
std::string AddInstructions(const std::string& trace_path, const std::string& code_folder);

}  // namespace gprof::cli
