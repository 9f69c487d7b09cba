#include "import/shared/decimal.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace gprof {
namespace {

TEST(Decimal, TimesComeOutToTheNanosecond) {
  EXPECT_EQ(ReadDecimal("1712195495894849.5", 3), 1712195495894849500);
  EXPECT_EQ(ReadDecimal("1419247335442.229", 3), 1419247335442229);
  EXPECT_EQ(ReadDecimal("0.001", 3), 1);
  EXPECT_EQ(ReadDecimal("52.0", 3), 52000);
  EXPECT_EQ(ReadDecimal("7", 3), 7000);
  EXPECT_EQ(ReadDecimal("-0.34", 3), -340);
  EXPECT_EQ(ReadDecimal(".5", 3), 500);
  EXPECT_EQ(ReadDecimal("9007199254740993.001", 3), 9007199254740993001);  // a double ends at 2^53
}

TEST(Decimal, WhatIsFinerIsRounded) {
  EXPECT_EQ(ReadDecimal("0.0004", 3), 0);
  EXPECT_EQ(ReadDecimal("0.0005", 3), 1);
  EXPECT_EQ(ReadDecimal("-0.0005", 3), -1);
  EXPECT_EQ(ReadDecimal("1.23456789", 3), 1235);
  EXPECT_EQ(ReadDecimal("0.00049999999999999999999999999999", 3), 0);
}

TEST(Decimal, ExponentsAreExact) {
  EXPECT_EQ(ReadDecimal("1.5e3", 3), 1500000);
  EXPECT_EQ(ReadDecimal("1E+2"), 100);
  EXPECT_EQ(ReadDecimal("123456e-3"), 123);
  EXPECT_EQ(ReadDecimal("0e999"), 0);
  EXPECT_EQ(ReadDecimal("1e-999"), 0);
}

TEST(Decimal, WhatIsNoNumberOrDoesNotFitIsNothing) {
  for (const char* text : {"", "-", ".", "NaN", "Infinity", "-inf", "1e", "1e99999", "1.2.3", "12a", "0x10", " 1",
                           "9223372036854775808", "1e19", "99999999999999999999"}) {
    EXPECT_EQ(ReadDecimal(text), std::nullopt) << text;
  }
  EXPECT_EQ(ReadDecimal("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ReadDecimal("9223372036854776", 3), std::nullopt);
  EXPECT_EQ(ReadDecimal(std::string(100000, '9')), std::nullopt);
  EXPECT_EQ(ReadDecimal("0." + std::string(100000, '9')), 1);
}

TEST(Decimal, IdentifiersUseAllBits) {
  EXPECT_EQ(ReadBits("10159970886766084423"), 10159970886766084423u);
  EXPECT_EQ(ReadBits("18446744073709551615"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(ReadBits("18446744073709551616"), std::nullopt);
  EXPECT_EQ(ReadBits("-1"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(ReadBits("7.0"), 7u);
}

}  // namespace
}  // namespace gprof
