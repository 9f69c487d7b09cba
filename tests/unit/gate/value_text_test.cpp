#include "gate/budget/value_text.h"

#include <gtest/gtest.h>

namespace gprof {
namespace {

TEST(ValueText, ReadsUnits) {
  EXPECT_EQ(ReadValue("200us", Unit::kNs), 200e3);
  EXPECT_EQ(ReadValue("200 \u00B5s", Unit::kNs), 200e3);
  EXPECT_EQ(ReadValue(" 1.5 ms ", Unit::kNs), 1.5e6);
  EXPECT_EQ(ReadValue("2min", Unit::kNs), 120e9);
  EXPECT_EQ(ReadValue("17", Unit::kNs), 17);
  EXPECT_EQ(ReadValue("1.5 GB", Unit::kBytes), 1.5e9);
  EXPECT_EQ(ReadValue("2GiB", Unit::kBytes), 2147483648.0);
  EXPECT_EQ(ReadValue("20GB/s", Unit::kBytesPerSecond), 20e9);
  EXPECT_EQ(ReadValue("20%", Unit::kPercent), 20);
  EXPECT_EQ(ReadValue("1000 /s", Unit::kPerSecond), 1000);
  EXPECT_EQ(ReadValue("1200", Unit::kCount), 1200);
  EXPECT_EQ(ReadShare("5 %"), 0.05);
}

TEST(ValueText, RefusesWhatIsNoValueOfThatUnit) {
  for (const char* text : {"", "ms", "5 sec", "5MB", "5%", "five", "1e999", "nan", "inf", "5ms5", "0x10"}) {
    EXPECT_EQ(ReadValue(text, Unit::kNs), std::nullopt) << text;
  }
  EXPECT_EQ(ReadValue("5ms", Unit::kBytes), std::nullopt);
  EXPECT_EQ(ReadValue("20GB", Unit::kBytesPerSecond), std::nullopt);
  EXPECT_EQ(ReadValue("5k", Unit::kCount), std::nullopt);
  EXPECT_EQ(ReadShare("5"), std::nullopt);
  EXPECT_EQ(ReadShare("5ms"), std::nullopt);
}

TEST(ValueText, WritesWithoutIdleZeros) {
  EXPECT_EQ(FormatValue(20, Unit::kPercent), "20%");
  EXPECT_EQ(FormatValue(34.1, Unit::kPercent), "34.1%");
  EXPECT_EQ(FormatValue(200e3, Unit::kNs), "200 us");
  EXPECT_EQ(FormatValue(1.5e9, Unit::kBytes), "1.50 GB");
  EXPECT_EQ(FormatValue(2e9, Unit::kBytesPerSecond), "2 GB/s");
  EXPECT_EQ(FormatValue(1200, Unit::kCount), "1,200");
  EXPECT_EQ(FormatValue(0, Unit::kBytes), "0 B");
}

TEST(ValueText, DoesNotRoundLimits) {
  EXPECT_EQ(FormatLimit(0.05, Unit::kPercent), "0.05%");
  EXPECT_EQ(FormatLimit(99.99, Unit::kPercent), "99.99%");
  EXPECT_EQ(FormatLimit(20, Unit::kPercent), "20%");
  EXPECT_EQ(FormatLimit(0.001, Unit::kCount), "0.001");
  EXPECT_EQ(FormatLimit(1200, Unit::kCount), "1,200");
  EXPECT_EQ(FormatLimit(5e6, Unit::kNs), "5 ms");
}

TEST(ValueText, ShowsTheDifferenceThatThereIs) {
  EXPECT_EQ(FormatValueBeside(1'342'177'281, 1'342'177'280, Unit::kBytes), "1,342,177,281 B");
  EXPECT_EQ(FormatValueBeside(1e9, 2e9, Unit::kBytes), "1 GB");
  EXPECT_EQ(FormatValueBeside(20.01, 20, Unit::kPercent), "20.01%");
}

}  // namespace
}  // namespace gprof
