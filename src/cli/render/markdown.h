// Text that stays text in Markdown: names come from programs.
#pragma once

#include <string>
#include <string_view>

namespace gprof::cli {

// What Markdown would take for a mark, HTML or a link, written out, on one line. Nobody is told of a name with @.
std::string MarkdownEscaped(std::string_view text);

// As code. With `is_in_table` the bars in it do not end the cell.
std::string MarkdownCode(std::string_view text, bool is_in_table = false);

}  // namespace gprof::cli
