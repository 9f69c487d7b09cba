#include "export/json_text.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace gprof {

void AppendJsonString(std::string_view text, std::string* out) {
  *out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(*out), "\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      *out += c;
    }
  }
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
  fmt::format_to(std::back_inserter(*out), "{}{}.{:03}", is_negative ? "-" : "", size / 1000, size % 1000);
}

}  // namespace gprof
