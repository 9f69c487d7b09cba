#include "cli/render/markdown.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"

namespace gprof::cli {
namespace {

constexpr std::string_view kMarks = "\\`*_{}[]<>#|~&$";
constexpr std::string_view kNothing = "&#8203;";  // a blank without width

bool IsWord(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// GitHub and GitLab make links of names, numbers of issues and addresses, whatever is escaped, and mail to who is
// named. What follows `before` is parted from it there.
bool IsLink(std::string_view before, std::string_view rest) {
  const char last = before.empty() ? '\0' : before.back(), next = rest.front();
  if (last == '@') return IsWord(next) && !(before.size() > 1 && IsWord(before[before.size() - 2]));
  if (last == '#') return next >= '0' && next <= '9';
  return before.ends_with("www.") || (last == ':' && rest.starts_with("//"));
}

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
  const std::string printable = Printable(text);
  const std::string_view all = printable;
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (IsLink(all.substr(0, i), all.substr(i))) out += kNothing;
    if (kMarks.find(all[i]) != std::string_view::npos) out += '\\';
    out += all[i];
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
