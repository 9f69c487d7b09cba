#include "cli/render/markdown.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"

namespace gprof::cli {
namespace {

constexpr std::string_view kMarks = "\\`*_{}[]<>#|~";

std::size_t LongestRunOfTicks(std::string_view text) {
  std::size_t longest = 0, length = 0;
  for (const char c : text) {
    length = c == '`' ? length + 1 : 0;
    longest = std::max(longest, length);
  }
  return longest;
}

}  // namespace

std::string MarkdownEscaped(std::string_view text) {
  std::string out;
  for (const char c : Printable(text)) {
    if (kMarks.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string MarkdownCode(std::string_view text, bool is_in_table) {
  const std::string printable = Printable(text);
  const std::string fence(LongestRunOfTicks(printable) + 1, '`');
  // A code span cannot begin or end with a tick; one space on both sides is taken off again.
  const bool needs_space = printable.empty() || printable.front() == '`' || printable.back() == '`';
  std::string out = fence + (needs_space ? " " : "");
  for (const char c : printable) {
    if (c == '|' && is_in_table) out += '\\';
    out += c;
  }
  return out + (needs_space ? " " : "") + fence;
}

}  // namespace gprof::cli
