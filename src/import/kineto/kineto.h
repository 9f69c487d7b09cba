// Kineto (torch.profiler) and other Trace Event JSON.
#pragma once

#include <string>
#include <string_view>

#include "gprof/trace.h"

namespace gprof {

// `bytes` is the whole file, JSON or JSON compressed with gzip, and is mapped: it is best read from front to back once.
// Throws Error (kUnreadable) for what is no trace.
Trace ReadKineto(std::string_view bytes, const std::string& path);

// Whether `bytes` begin as such a file does, which tells where the name does not. Reads little of them.
bool IsKineto(std::string_view bytes);

}  // namespace gprof
