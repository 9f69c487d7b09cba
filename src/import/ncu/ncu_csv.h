// Reads what ncu --csv --page raw prints.
#pragma once

#include <string>
#include <string_view>

#include "gprof/trace.h"

namespace gprof {

class MemoryBudget;

// There is a line that is the header of such a table; other lines of ncu and of the program may stand before it.
bool IsNcuCsv(std::string_view bytes);

// Throws Error where the table is that of another page.
Trace ReadNcuCsv(std::string_view bytes, const std::string& path);
// The same, of a text that has taken some of `budget` already.
Trace ReadNcuCsv(std::string_view bytes, const std::string& path, MemoryBudget* budget);

// ncu's own files, which only ncu can read.
bool IsNcuReport(std::string_view path);
[[noreturn]] void RefuseNcuReport(const std::string& path);

}  // namespace gprof
