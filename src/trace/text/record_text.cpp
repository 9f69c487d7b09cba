#include "trace/text/record_text.h"

#include <algorithm>

#include "base/text.h"

namespace gprof {
namespace {

constexpr char kHex[] = "0123456789abcdef";

void AppendHex(unsigned char byte, std::string* out) {
  *out += "\\x";
  *out += kHex[byte >> 4];
  *out += kHex[byte & 15];
}

// A byte that is not written as it is, or ASCII.
void AppendByte(char c, std::string* out) {
  switch (c) {
    case '"':
      *out += "\\\"";
      return;
    case '\\':
      *out += "\\\\";
      return;
    case '\n':
      *out += "\\n";
      return;
    case '\t':
      *out += "\\t";
      return;
    default:
      break;
  }
  const bool is_plain = c >= 0x20 && c < 0x7F;
  if (!is_plain) return AppendHex(static_cast<unsigned char>(c), out);
  *out += c;
}

// Reads what follows a backslash.
const char* ReadEscape(std::string_view line, std::size_t* at, std::string* text) {
  if (*at >= line.size()) return "string ends in a backslash";
  const char c = line[(*at)++];
  switch (c) {
    case '"':
    case '\\':
      *text += c;
      return nullptr;
    case 'n':
      *text += '\n';
      return nullptr;
    case 't':
      *text += '\t';
      return nullptr;
    case 'x': {
      const int high = *at < line.size() ? HexDigit(line[*at]) : -1;
      const int low = *at + 1 < line.size() ? HexDigit(line[*at + 1]) : -1;
      if (high < 0 || low < 0) return "\\x needs two hexadecimal digits";
      *text += static_cast<char>(high * 16 + low);
      *at += 2;
      return nullptr;
    }
    default:
      return "unknown escape; there are \\\" \\\\ \\n \\t \\xHH";
  }
}

}  // namespace

void AppendQuoted(std::string_view text, std::string* out) {
  *out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = PrintableLength(text.substr(at));
    if (length > 1) out->append(text, at, length);
    if (length <= 1) AppendByte(text[at], out);
    at += std::max<std::size_t>(length, 1);
  }
  *out += '"';
}

const char* ReadQuoted(std::string_view line, std::size_t* at, std::string* text) {
  text->clear();
  if (*at >= line.size() || line[*at] != '"') return "expected a string in double quotes";
  ++*at;
  while (*at < line.size()) {
    const char c = line[(*at)++];
    if (c == '"') return nullptr;
    if (c != '\\') {
      *text += c;
      continue;
    }
    if (const char* wrong = ReadEscape(line, at, text)) return wrong;
  }
  return "string without a closing quote";
}

const char* KindName(uint16_t kind) {
  const char* name = nullptr;
  trace::ForEachKind([&](auto* r) {
    if (static_cast<uint16_t>(r->kKind) == kind) name = r->kName;
  });
  return name;
}

bool FindKind(std::string_view name, trace::RecordKind* kind) {
  bool is_found = false;
  trace::ForEachKind([&](auto* r) {
    if (name != r->kName) return;
    *kind = r->kKind;
    is_found = true;
  });
  return is_found;
}

}  // namespace gprof
