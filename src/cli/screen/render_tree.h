// Trees of time as lines of text.
#pragma once

#include <cstdint>
#include <string>

#include "base/terminal.h"
#include "report/tree/tree_rows.h"

namespace gprof::cli {

// Which figures stand before the name: where there is little room, the name is worth more.
struct TreeColumns {
  explicit TreeColumns(std::size_t columns);
  bool has_share, has_count;
  std::size_t room;  // of the name
};

// "  47.33 ms  56.5%       80  "
std::string TreeFigures(const TreeColumns& columns, const TimeNode& node, int64_t whole_ns);
std::string TreeHeadings(const TreeColumns& columns);

// What has less than `least_percent` of the time of a tree is one line.
std::string RenderTree(const NamedTree& tree, double least_percent, uint32_t depth, const Terminal& terminal);

}  // namespace gprof::cli
