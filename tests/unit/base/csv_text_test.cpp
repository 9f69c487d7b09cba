#include "base/csv_text.h"

#include <gtest/gtest.h>

namespace gprof {
namespace {

std::string Field(std::string_view text, char separator = ',', CsvQuotes quotes = CsvQuotes::kWhereNeeded) {
  std::string out;
  AppendCsvText(text, separator, quotes, &out);
  return out;
}

TEST(Csv, IsQuotedWhereItHasToBe) {
  EXPECT_EQ(Field("saxpy"), "saxpy");
  EXPECT_EQ(Field("f(int, int)"), "\"f(int, int)\"");
  EXPECT_EQ(Field("f(int, int)", '\t'), "f(int, int)");
  EXPECT_EQ(Field("a\"b"), "\"a\"\"b\"");
  EXPECT_EQ(Field("a\rb"), "\"a\rb\"");
  EXPECT_EQ(Field("a", ',', CsvQuotes::kAlways), "\"a\"");
}

TEST(Csv, NoTextIsAFormulaOfASpreadsheet) {
  EXPECT_EQ(Field("=1+1"), "'=1+1");
  EXPECT_EQ(Field("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(Field("+cmd|' /C calc'!A0"), "'+cmd|' /C calc'!A0");
  EXPECT_EQ(Field("-2+3"), "'-2+3");
  EXPECT_EQ(Field("\t=1"), "'\t=1");
  EXPECT_EQ(Field("\r=1"), "\"'\r=1\"");
  EXPECT_EQ(Field("=HYPERLINK(\"x\",\"y\")"), "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\"");
  for (const char* text : {"-5", "-0.25", "+3", "-1e-07", "-", "", "a=1", "'=1"}) EXPECT_EQ(Field(text), text);
}

}  // namespace
}  // namespace gprof
