// Pieces of JSON, for files too large to be built in memory.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace gprof {

// `text`, which must be UTF-8, in quotes.
void AppendJsonString(std::string_view text, std::string* out);
// The shortest text that reads back as the same number; null for what is none.
void AppendJsonNumber(double value, std::string* out);
// As fmt::format_to, without reading a pattern: there are many numbers.
template <class Integer>
void AppendInteger(Integer value, std::string* out) {
  const fmt::format_int text(value);
  out->append(text.data(), text.size());
}
// 1234567 as 1234.567: microseconds, exact to the nanosecond.
void AppendMicroseconds(int64_t ns, std::string* out);

}  // namespace gprof
