#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace gprof {
namespace {

struct CodePoint {
  uint32_t value = 0;
  std::size_t size = 0;  // bytes; 0 when the bytes are no UTF-8
};

// Strict: no overlong forms, no surrogates, nothing above U+10FFFF.
CodePoint Decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return {};
  uint32_t value = first & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0u) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_good = value >= kSmallest[size] && value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
  return is_good ? CodePoint{value, size} : CodePoint{};
}

// Nearly all texts are: printable ASCII, each byte of which is a character of one column.
bool IsPlain(std::string_view text) {
  bool is_plain = true;
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    constexpr uint64_t kEach = 0x0101010101010101u;
    uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + i, sizeof(bytes));
    // The highest bit of a byte says that it is below 0x20, is 0x7F or is no ASCII; what borrows does no harm, as a
    // byte that others borrow from is told first.
    const uint64_t other = (bytes - 0x20 * kEach) | (bytes + kEach) | bytes;
    is_plain &= (other & 0x80 * kEach) == 0;
  }
  for (; i < text.size(); ++i) is_plain &= text[i] >= 0x20 && text[i] < 0x7F;
  return is_plain;
}

struct Range {
  uint32_t first, last;
};

template <std::size_t N>
bool IsIn(const Range (&ranges)[N], uint32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges), [c](Range r) { return c >= r.first && c <= r.last; });
}

// C1 controls, soft hyphen, zero-width and direction marks, line and paragraph separators, tags, private use.
constexpr Range kHidden[] = {{0x7F, 0x9F},     {0xAD, 0xAD},       {0x61C, 0x61C},   {0x180E, 0x180E},
                             {0x200B, 0x200F}, {0x2028, 0x202E},   {0x2060, 0x206F}, {0xFEFF, 0xFEFF},
                             {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF}, {0xE000, 0xF8FF}, {0xF0000, 0x10FFFF}};

constexpr Range kZeroWidth[] = {{0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},   {0x610, 0x61A},
                                {0x64B, 0x65F},   {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF},
                                {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};

constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},  {0x3041, 0x4DBF},   {0x4E00, 0xA4CF},
                           {0xA960, 0xA97C},   {0xAC00, 0xD7A3},  {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                           {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF},
                           {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

std::size_t WidthOf(uint32_t c) {
  if (c < 0x300) return 1;
  if (IsIn(kZeroWidth, c)) return 0;
  return IsIn(kWide, c) ? 2 : 1;
}

// Takes the next code point off `text`; a bad byte counts as one column wide.
CodePoint Take(std::string_view* text) {
  CodePoint c = Decode(*text);
  if (c.size == 0) c = {'?', 1};
  text->remove_prefix(c.size);
  return c;
}

void AppendEscaped(std::string& out, CodePoint c, char byte) {
  switch (c.value) {
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      break;
  }
  if (c.size <= 1) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(byte));
  } else {
    fmt::format_to(std::back_inserter(out), "\\u{{{:x}}}", c.value);
  }
}

// Bytes at the front of `text` that fit into `width` columns.
std::size_t FittingPrefix(std::string_view text, std::size_t width) {
  std::string_view rest = text;
  std::size_t used = 0, bytes = 0;
  while (!rest.empty()) {
    used += WidthOf(Take(&rest).value);
    if (used > width) break;
    bytes = text.size() - rest.size();
  }
  return bytes;
}

// Optimal string alignment distance: a slip is a wrong, missing, additional or swapped character.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string Printable(std::string_view text) {
  if (IsPlain(text)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = PrintableLength(text);
    const CodePoint c = Decode(text);
    if (length == 0) {
      AppendEscaped(out, c, text.front());
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(c.size, 1));
  }
  return out;
}

std::size_t PrintableLength(std::string_view text) {
  const CodePoint c = Decode(text);
  return c.value < 0x20 || IsIn(kHidden, c.value) ? 0 : c.size;
}

std::string Utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint c = Decode(text);
    if (c.size == 0 || c.value == 0) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else {
      out += text.substr(0, c.size);
    }
    text.remove_prefix(std::max<std::size_t>(c.size, 1));
  }
  return out;
}

std::size_t DisplayWidth(std::string_view text) {
  if (IsPlain(text)) return text.size();
  std::size_t width = 0;
  while (!text.empty()) width += WidthOf(Take(&text).value);
  return width;
}

std::string ShortenMiddle(std::string_view text, std::size_t width) {
  const std::size_t whole = DisplayWidth(text);
  if (whole <= width) return std::string(text);
  if (width == 0) return {};
  const std::size_t tail = (width - 1) / 2, head = width - 1 - tail;
  std::string_view rest = text;
  std::size_t skipped = 0;
  while (!rest.empty() && skipped < whole - tail) skipped += WidthOf(Take(&rest).value);
  return std::string(text.substr(0, FittingPrefix(text, head))) + "…" + std::string(rest);
}

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string AsSentence(std::string text) {
  if (text.empty()) return text;
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text.back() == '.' ? text : text + ".";
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool MatchesGlob(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool MatchesPath(std::string_view pattern, std::string_view path, std::string_view domain) {
  if (MatchesGlob(pattern, path)) return true;
  const bool has_domain = !domain.empty() && path.size() > domain.size() + 1 && path.starts_with(domain);
  return has_domain && MatchesGlob(pattern, path.substr(domain.size() + 1));
}

std::string ShellQuoted(std::string_view text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+=:,@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::vector<std::string> Wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (word.empty()) continue;
    const std::size_t columns = DisplayWidth(word);
    if (!line.empty() && used + 1 + columns > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    used = line.empty() ? columns : used + 1 + columns;
    line += word;
  }
  if (!line.empty() || lines.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string MakeFolderHint(const std::string& path) {
  return "the folder does not exist; create it: mkdir -p '" + path.substr(0, path.find_last_of('/')) + "'";
}

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongestWord = 64;
  if (word.empty() || word.size() > kLongestWord) return {};
  std::string best;
  // One slip in three characters, and never so many that nothing of the word is left.
  const std::string_view letters = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  std::size_t least = std::max<std::size_t>(1, letters.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    // Somebody who types a part of the word has forgotten the rest of it.
    const bool is_part = letters.size() >= 4 && candidate.find(letters) != std::string::npos;
    const std::size_t distance = is_part ? 1 : Distance(word, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

std::string NearestHint(std::string_view word, const std::vector<std::string>& candidates, std::string otherwise) {
  const std::string nearest = Nearest(word, candidates);
  return nearest.empty() ? std::move(otherwise) : "did you mean " + nearest + "?";
}

std::string Joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (&word != &words.front()) text += separator;
    text += word;
  }
  return text;
}

std::string JoinedUpTo(std::size_t most, std::vector<std::string> words) {
  const std::size_t more = words.size() - std::min(most, words.size());
  words.resize(words.size() - more);
  return Joined(words) + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

std::string EnvironmentText(std::initializer_list<const char*> names, std::string otherwise) {
  for (const char* const name : names) {
    if (const char* const value = std::getenv(name); value != nullptr && *value != '\0') return value;
  }
  return otherwise;
}

std::string SignalName(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

std::string EndingText(int exit_code, int signal) {
  return signal != 0 ? "was killed by " + SignalName(signal) : "ended with exit code " + std::to_string(exit_code);
}

}  // namespace gprof
