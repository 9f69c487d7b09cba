#include "base/python_line_table.h"

#include <cstddef>

namespace gprof {
namespace {

uint8_t ByteAt(std::string_view table, std::size_t at) { return static_cast<uint8_t>(table[at]); }
int8_t SignedAt(std::string_view table, std::size_t at) { return static_cast<int8_t>(table[at]); }

// Pairs of steps: bytes of code, lines.
int64_t LineOfPairs(int64_t line, std::string_view table, uint64_t offset) {
  uint64_t code = 0;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    code += ByteAt(table, i);
    if (code > offset) break;
    line += SignedAt(table, i + 1);
  }
  return line;
}

// The same of 3.10, where the step of lines comes before the bytes that have it, and -128 says that they have none.
int64_t LineOfRanges(int64_t line, std::string_view table, uint64_t offset) {
  constexpr int8_t kNoLine = -128;
  uint64_t end = 0;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    const int8_t step = SignedAt(table, i + 1);
    if (step != kNoLine) line += step;
    end += ByteAt(table, i);
    if (offset < end) return step == kNoLine ? 0 : line;
  }
  return 0;
}

// Numbers of 6 bits a byte, the lowest first; the lowest bit of all is the sign.
int64_t SignedNumber(std::string_view table, std::size_t at) {
  uint64_t number = 0;
  for (unsigned shift = 0; at < table.size() && shift < 60; ++at, shift += 6) {
    number |= uint64_t{ByteAt(table, at) & 0x3Fu} << shift;
    if ((ByteAt(table, at) & 0x40) == 0) break;
  }
  const auto half = static_cast<int64_t>(number >> 1);
  return (number & 1) != 0 ? -half : half;
}

// From 3.11 on: entries begin with a byte whose highest bit is set, and no other byte has it.
int64_t LineOfLocations(int64_t line, std::string_view table, uint64_t offset) {
  constexpr unsigned kFirstOneLine = 10, kNoColumns = 13, kLong = 14, kNone = 15;
  uint64_t end = 0;
  for (std::size_t at = 0; at < table.size();) {
    const unsigned first = ByteAt(table, at++);
    const unsigned code = first >> 3 & 15;
    if (code >= kFirstOneLine && code < kNoColumns) line += code - kFirstOneLine;
    if (code == kNoColumns || code == kLong) line += SignedNumber(table, at);
    while (at < table.size() && (ByteAt(table, at) & 0x80) == 0) ++at;
    end += 2 * ((first & 7) + 1);
    if (offset < end) return code == kNone ? 0 : line;
  }
  return 0;
}

}  // namespace

uint32_t LineOfPython(uint32_t version, uint32_t first_line, std::string_view table, uint64_t offset) {
  const int64_t first = first_line;
  const int64_t line = version >= 0x030b   ? LineOfLocations(first, table, offset)
                       : version >= 0x030a ? LineOfRanges(first, table, offset)
                                           : LineOfPairs(first, table, offset);
  return line > 0 && line <= 0xFFFFFFFF ? static_cast<uint32_t>(line) : 0;
}

}  // namespace gprof
