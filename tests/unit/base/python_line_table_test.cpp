#include "base/python_line_table.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace gprof {
namespace {

using std::string_view_literals::operator""sv;

// The same function, as three releases compiled it. It begins in line 1:
//   def f(x):
//       a = [
//           x,
//           x +
//           1]
//
//       for i in a:
//           yield i
//
//
//       return None
constexpr std::string_view k38 = "\x00\x02\x02\x01\x02\x01\x02\xff\x02\xfe\x04\x05\x08\x01\x08\x03"sv;
constexpr std::string_view k310 = "\x02\x80\x02\x02\x02\x01\x02\x01\x02\xff\x04\xfe\x08\x05\x08\x01\x04\x03"sv;
constexpr std::string_view k311 =
    "\xe8\x00\xe8\x00\x80\x00\xe0\x08\t\xd8\x08\t\xd8\x08\t\xf1\x03\x01\t\n\xf0\x05\x03\t\x0b\x80"
    "A\xf0\n\x00\x0e\x0f\xf0\x00\x01\x05\x10\xf0\x00\x01\x05\x10\x88\x01\xd8\x0e\x0f\x88\x07\x88\x07\x88\x07\x88\x07"
    "\xf0\x06\x00\x0c\x10\x88"
    "4"sv;

std::vector<uint32_t> LinesOf(uint32_t version, std::string_view table, uint64_t bytes) {
  std::vector<uint32_t> lines;
  for (uint64_t at = 0; at < bytes; at += 2) lines.push_back(LineOfPython(version, 1, table, at));
  return lines;
}

TEST(PythonLineTable, PairsOfSteps) {
  EXPECT_EQ(LinesOf(0x0308, k38, 32), (std::vector<uint32_t>{3, 4, 5, 4, 2, 2, 7, 7, 7, 7, 8, 8, 8, 8, 11, 11}));
}

TEST(PythonLineTable, Ranges) {
  EXPECT_EQ(LinesOf(0x030a, k310, 34), (std::vector<uint32_t>{0, 3, 4, 5, 4, 2, 2, 7, 7, 7, 7, 8, 8, 8, 8, 11, 11}));
}

TEST(PythonLineTable, Locations) {
  EXPECT_EQ(LinesOf(0x030b, k311, 42),
            (std::vector<uint32_t>{1, 1, 1, 3, 4, 5, 4, 4, 2, 2, 7, 7, 7, 7, 8, 8, 8, 8, 8, 11, 11}));
}

TEST(PythonLineTable, AnyBytesAreRead) {
  for (const uint32_t version : {0x0308u, 0x030au, 0x030bu}) {
    EXPECT_LE(LineOfPython(version, 5, "", 4), 5u);
    for (const std::string_view bytes : {"\xff"sv, "\xf0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"sv,
                                         "\x00\x00\x00"sv, "\xff\x80\xff\x7f\xff"sv}) {
      for (const uint64_t offset : {uint64_t{0}, uint64_t{7}, ~uint64_t{0}}) {
        (void)LineOfPython(version, 0xFFFFFFFF, bytes, offset);
      }
    }
  }
  EXPECT_EQ(LineOfPython(0x0308, 1, "\x00\x80"sv, 0), 0u) << "a line before the first one";
}

}  // namespace
}  // namespace gprof
