#include "export/output/json_text.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace gprof {
namespace {

char Digit(unsigned value) { return static_cast<char>('0' + value); }

// Perfetto takes \\" at the end of a text for a quote within it.
void AppendEscaped(char c, bool is_last, std::string* out) {
  constexpr std::string_view kShort = "\"\"\\\\\nn\rr\tt\bb\ff";
  for (std::size_t i = 0; i < kShort.size() && !(c == '\\' && is_last); i += 2) {
    if (kShort[i] == c) return void(out->append({'\\', kShort[i + 1]}));
  }
  fmt::format_to(std::back_inserter(*out), "\\u{:04x}", static_cast<unsigned char>(c));
}

}  // namespace

void AppendJsonString(std::string_view text, std::string* out) {
  *out += '"';
  std::size_t plain = 0;  // from here on nothing needs to be escaped, up to `i`
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_control = static_cast<unsigned char>(c) < 0x20;
    if (!is_control && c != '"' && c != '\\') continue;
    out->append(text, plain, i - plain);
    plain = i + 1;
    AppendEscaped(c, i + 1 == text.size(), out);
    plain = i + 1;
  }
  out->append(text, plain);
  *out += '"';
}

void AppendJsonNumber(double value, std::string* out) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(*out), "{}", value);
  } else {
    *out += "null";
  }
}

void AppendMicroseconds(int64_t ns, std::string* out) {
  const bool is_negative = ns < 0;
  const uint64_t size = is_negative ? uint64_t{0} - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  if (is_negative) *out += '-';
  AppendInteger(size / 1000, out);
  const auto rest = static_cast<unsigned>(size % 1000);
  const char digits[] = {'.', Digit(rest / 100), Digit(rest / 10 % 10), Digit(rest % 10)};
  out->append(digits, std::size(digits));
}

}  // namespace gprof
