// SQLite exports of Nsight Systems.
#pragma once

#include <string>

#include "gprof/trace.h"

namespace gprof {

// Throws Error (kUnreadable) for what is no such export. docs/import.md says what becomes of which table.
Trace ReadNsight(const std::string& path);

}  // namespace gprof
