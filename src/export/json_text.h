// Pieces of JSON, for files too large to be built in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gprof {

// `text`, which must be UTF-8, in quotes.
void AppendJsonString(std::string_view text, std::string* out);
// The shortest text that reads back as the same number; null for what is none.
void AppendJsonNumber(double value, std::string* out);
// 1234567 as 1234.567: microseconds, exact to the nanosecond.
void AppendMicroseconds(int64_t ns, std::string* out);

}  // namespace gprof
