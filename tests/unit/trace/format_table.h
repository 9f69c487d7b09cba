// The table of all record kinds for docs/trace-format.md, from the field lists of record.h.
#pragma once

#include <string>
#include <string_view>

namespace gprof {

inline constexpr std::string_view kTableBegin = "<!-- kinds: begin, written by format_table -->\n";
inline constexpr std::string_view kTableEnd = "<!-- kinds: end -->\n";

std::string FormatTable();

// `page` with the table between the markers replaced. Empty when a marker is missing.
std::string WithTable(std::string_view page);

}  // namespace gprof
