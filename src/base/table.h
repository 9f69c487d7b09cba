// Text in aligned columns that fit the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/terminal.h"

namespace gprof {

struct TextColumn {
  std::string title;
  bool is_right_aligned = false;
  bool is_extra = false;  // the first to go where there is no room, the last column before the others
};

struct TextTable {
  std::vector<TextColumn> columns;
  std::vector<std::vector<std::string>> rows;  // of raw text: the table makes it Printable
};

// Lines of at most `width` columns: first the extra columns go, while a left-aligned one would be shortened to less
// than 32 columns; then right-aligned ones beyond the fourth, while it would be less than 26; then the left-aligned
// ones are shortened in the middle. A number is never cut.
std::string RenderTable(const TextTable& table, std::size_t width, const Style& style, std::size_t indent = 0);

// Titles of the columns that RenderTable has room for.
std::vector<std::string> ShownTitles(const TextTable& table, std::size_t width, std::size_t indent = 0);

}  // namespace gprof
