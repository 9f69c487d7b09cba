#include "import/shared/json_scanner.h"

#include <array>
#include <bit>
#include <cstring>

#include "base/text.h"

namespace gprof {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101u, kHighs = 0x8080808080808080u;

// The highest bit of every byte that is 0; bytes above the first one may be wrong.
constexpr uint64_t ZeroBytes(uint64_t word) { return (word - kOnes) & ~word & kHighs; }

// The first quote or backslash, eight bytes at a time.
const char* FindQuote(const char* at, const char* end) {
  while (std::endian::native == std::endian::little && end - at >= 8) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    const uint64_t hits = ZeroBytes(word ^ (kOnes * '"')) | ZeroBytes(word ^ (kOnes * '\\'));
    if (hits != 0) return at + std::countr_zero(hits) / 8;
    at += 8;
  }
  while (at < end && *at != '"' && *at != '\\') ++at;
  return at;
}

enum CharClass : uint8_t { kPlain = 0, kWord = 1, kStructure = 2 };

constexpr std::array<uint8_t, 256> MakeClasses() {
  std::array<uint8_t, 256> classes{};
  for (const char c : std::string_view("\"{}[]")) classes[static_cast<unsigned char>(c)] = kStructure;
  for (const char c : std::string_view("+-.")) classes[static_cast<unsigned char>(c)] = kWord;
  for (unsigned c = '0'; c <= '9'; ++c) classes[c] = kWord;
  for (unsigned c = 'a'; c <= 'z'; ++c) classes[c] = classes[c - 'a' + 'A'] = kWord;
  return classes;
}
constexpr std::array<uint8_t, 256> kClasses = MakeClasses();

uint8_t ClassOf(char c) { return kClasses[static_cast<unsigned char>(c)]; }

bool IsNotFinite(std::string_view word) {
  if (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
  for (const std::string_view name : {"NaN", "nan", "Infinity", "inf", "Inf", "infinity", "NAN", "INF"}) {
    if (word == name) return true;
  }
  return false;
}

// The four digits at the start of `text`, -1 where there are none.
int32_t HexNumber(std::string_view text) {
  if (text.size() < 4) return -1;
  int32_t number = 0;
  for (const char c : text.substr(0, 4)) {
    const int digit = HexDigit(c);
    if (digit < 0) return -1;
    number = number * 16 + digit;
  }
  return number;
}

void AppendUtf8(uint32_t code, std::string* out) {
  const auto add = [&](uint32_t byte) { *out += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) return add(0xC0 | code >> 6), add(0x80 | (code & 0x3F));
  if (code < 0x10000) {
    return add(0xE0 | code >> 12), add(0x80 | (code >> 6 & 0x3F)), add(0x80 | (code & 0x3F));
  }
  add(0xF0 | code >> 18), add(0x80 | (code >> 12 & 0x3F)), add(0x80 | (code >> 6 & 0x3F)), add(0x80 | (code & 0x3F));
}

// What follows "\u"; returns how many characters of it were taken.
std::size_t AppendUnicode(std::string_view text, std::string* out) {
  constexpr uint32_t kReplacement = 0xFFFD;
  const int32_t first = HexNumber(text);
  if (first < 0) {
    *out += "\\u";
    return 0;
  }
  const bool is_high = first >= 0xD800 && first < 0xDC00, is_low = first >= 0xDC00 && first < 0xE000;
  if (is_high && text.substr(4, 2) == "\\u") {
    const int32_t second = HexNumber(text.substr(6));
    if (second >= 0xDC00 && second < 0xE000) {
      const auto high = static_cast<uint32_t>(first - 0xD800), low = static_cast<uint32_t>(second - 0xDC00);
      AppendUtf8(0x10000u + (high << 10) + low, out);
      return 10;
    }
  }
  AppendUtf8(is_high || is_low ? kReplacement : static_cast<uint32_t>(first), out);
  return 4;
}

}  // namespace

std::string_view Unescaped(const JsonPiece& value, std::string* buffer) {
  if (!value.has_escapes) return value.text;
  constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  const std::string_view text = value.text;
  buffer->clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      *buffer += text[i];
      continue;
    }
    const char c = text[++i];
    if (c == 'u') {
      i += AppendUnicode(text.substr(i + 1), buffer);
    } else if (const std::size_t at = kEscapes.find(c); at != std::string_view::npos) {
      *buffer += kMeanings[at];
    } else {
      *buffer += '\\';  // C:\data, written as it is
      *buffer += c;
    }
  }
  return *buffer;
}

bool JsonScanner::ReadString(JsonPiece* value) {
  const char* const first = at_ + 1;
  value->kind = JsonPiece::Kind::kString;
  value->has_escapes = false;
  for (const char* at = FindQuote(first, end_); at < end_; at = FindQuote(at, end_)) {
    if (*at == '"') {
      value->text = {first, static_cast<std::size_t>(at - first)};
      at_ = at + 1;
      return true;
    }
    value->has_escapes = true;
    at += 2;
    if (at > end_) break;
  }
  at_ = end_;
  return Fail();
}

bool JsonScanner::ReadWord(JsonPiece* value) {
  const char* const first = at_;
  while (at_ < end_ && ClassOf(*at_) == kWord) ++at_;
  value->text = {first, static_cast<std::size_t>(at_ - first)};
  value->has_escapes = false;
  if (at_ == first || at_ == end_) return Fail();
  const char c = *first;
  if ((c >= '0' && c <= '9') || ((c == '-' || c == '+' || c == '.') && value->text.size() > 1)) {
    value->kind = JsonPiece::Kind::kNumber;
  } else if (value->text == "true") {
    value->kind = JsonPiece::Kind::kTrue;
  } else if (value->text == "false") {
    value->kind = JsonPiece::Kind::kFalse;
  } else if (value->text == "null") {
    value->kind = JsonPiece::Kind::kNull;
  } else if (IsNotFinite(value->text)) {
    value->kind = JsonPiece::Kind::kNumber;
  } else {
    status_ = Status::kBad;
    return false;
  }
  return true;
}

bool JsonScanner::SkipContainer() {
  std::array<bool, kMaxDepth> is_object;
  std::size_t depth = 0;
  JsonPiece string;
  while (at_ < end_) {
    const char c = *at_;
    if (ClassOf(c) != kStructure) {
      ++at_;
    } else if (c == '"') {
      if (!ReadString(&string)) return false;
    } else if (c == '{' || c == '[') {
      if (depth == kMaxDepth) return Fail();
      is_object[depth++] = c == '{';
      ++at_;
    } else {
      if (is_object[depth - 1] != (c == '}')) return Fail();
      ++at_;
      if (--depth == 0) return true;
    }
  }
  return Fail();
}

bool JsonScanner::ReadValue(JsonPiece* value) {
  switch (const char c = Peek()) {
    case '"':
      return ReadString(value);
    case '{':
    case '[': {
      const char* const first = at_;
      value->kind = c == '{' ? JsonPiece::Kind::kObject : JsonPiece::Kind::kArray;
      value->has_escapes = false;
      if (!SkipContainer()) return false;
      value->text = {first, static_cast<std::size_t>(at_ - first)};
      return true;
    }
    default:
      return ReadWord(value);
  }
}

}  // namespace gprof
