// A result as lines with labels, "Culprit    1a2b3c4 …", for a terminal and for Markdown.
#pragma once

#include <string>
#include <vector>

#include "base/terminal.h"

namespace gprof::cli {

struct LabelledLine {
  std::string label, text;
};

std::string TextOfLines(const std::vector<LabelledLine>& lines, const Terminal& terminal);
std::string MarkdownOfLines(const std::vector<LabelledLine>& lines);

}  // namespace gprof::cli
