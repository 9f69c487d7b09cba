#include "base/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "base/text.h"

namespace gprof {
namespace {

const Style kPlain(false);

std::size_t Widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, DisplayWidth(line));
  return widest;
}

TextTable Kernels() {
  return {{{"Time", true}, {"Total", true}, {"Mean", true}, {"Min", true, true}, {"Name"}, {"Shape", false, true}},
          {{"90.0%", "9.00 ms", "9.00 us", "1.00 us", "short", "1x1"},
           {"10.0%", "1.00 ms", "1.00 us", "1.00 us", "a_kernel_with_a_name_of_forty_characters", "128x256"}}};
}

TEST(Table, AlignsColumns) {
  const TextTable table{{{"Name"}, {"Count", true}}, {{"a", "1"}, {"long name", "1,000"}}};
  EXPECT_EQ(RenderTable(table, 80, kPlain),
            "Name       Count\n"
            "a              1\n"
            "long name  1,000\n");
}

TEST(Table, ShowsEverythingWhereThereIsRoom) {
  const std::string text = RenderTable(Kernels(), 120, kPlain);
  EXPECT_NE(text.find("Min"), std::string::npos);
  EXPECT_NE(text.find("Shape"), std::string::npos);
  EXPECT_EQ(text.find("…"), std::string::npos);
}

TEST(Table, DropsExtraColumnsForAReadableName) {
  const std::string text = RenderTable(Kernels(), 70, kPlain);
  EXPECT_EQ(text.find("Shape"), std::string::npos);
  EXPECT_NE(text.find("Min"), std::string::npos);
  EXPECT_NE(text.find("a_kernel_with_a_na…_forty_characters"), std::string::npos) << text;
  EXPECT_EQ(RenderTable(Kernels(), 62, kPlain).find("Min"), std::string::npos);
}

TEST(Table, KeepsFourNumbersAndAReadableName) {
  TextTable table{
      {{"A", true}, {"B", true}, {"C", true}, {"D", true}, {"E", true}, {"Name"}},
      {{"11111111", "22222222", "33333333", "44444444", "55555555", "a_kernel_with_a_name_of_forty_characters"}}};
  const std::string text = RenderTable(table, 72, kPlain);
  EXPECT_EQ(text.find('5'), std::string::npos);
  EXPECT_NE(text.find("44444444"), std::string::npos);
  EXPECT_LE(Widest(text), 72u);
}

TEST(Table, FitsEveryWidthThatNumbersLeaveRoomFor) {
  for (std::size_t width = 40; width <= 130; ++width) {
    const std::string text = RenderTable(Kernels(), width, kPlain, 2);
    EXPECT_LE(Widest(text), width) << text;
    EXPECT_NE(text.find("9.00 ms"), std::string::npos);
  }
}

TEST(Table, LinesHaveNoBlanksAtTheirEnd) {
  const TextTable table{{{"A", true}, {"B"}, {"C", true}}, {{"1", "", ""}, {"", "x", "3"}, {"1"}}};
  std::istringstream lines(RenderTable(table, 80, kPlain));
  for (std::string line; std::getline(lines, line);) EXPECT_FALSE(line.ends_with(' ')) << '"' << line << '"';
}

TEST(Table, HostileCellsKeepToTheirPlace) {
  const TextTable table{{{"Name"}, {"Count", true}}, {{"\x1b[2J\nx", "1"}, {"名前", "2"}, {"\xff", "3"}}};
  EXPECT_EQ(RenderTable(table, 80, kPlain),
            "Name        Count\n"
            "\\x1b[2J\\nx      1\n"
            "名前            2\n"
            "\\xff            3\n");
}

TEST(RenderTable, WordsStayWholeWhereItIsNarrow) {
  const TextTable table{
      {{"Time (%)", true}, {"Total", true}, {"Count", true}, {"Bytes", true}, {"Direction"}, {"Memory"}},
      {{"98.7%", "1.59 ms", "40", "41.94 MB", "host to device", "pinned to device"},
       {"1.3%", "20.29 us", "1", "1.05 MB", "device to host", "device to pinned"}}};
  EXPECT_EQ(RenderTable(table, 60, kPlain),
            "Time (%)     Total  Count     Bytes  Direction   Memory\n"
            "   98.7%   1.59 ms     40  41.94 MB  host to     pinned to\n"
            "                                     device      device\n"
            "    1.3%  20.29 us      1   1.05 MB  device to   device to\n"
            "                                     host        pinned\n");
}

}  // namespace
}  // namespace gprof
