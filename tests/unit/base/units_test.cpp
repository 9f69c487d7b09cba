#include "base/units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gprof {
namespace {

TEST(Units, Times) {
  EXPECT_EQ(FormatNs(0.0), "0 ns");
  EXPECT_EQ(FormatNs(812.0), "812 ns");
  EXPECT_EQ(FormatNs(999.0), "999 ns");
  EXPECT_EQ(FormatNs(1000.0), "1.00 us");
  EXPECT_EQ(FormatNs(33'421'234.0), "33.42 ms");
  EXPECT_EQ(FormatNs(1.5e9), "1.50 s");
  EXPECT_EQ(FormatNs(12'345.678e9), "12,345.68 s");
  EXPECT_EQ(FormatNs(-5000.0), "-5.00 us");
}

TEST(Units, RoundingMovesToTheNextUnit) {
  EXPECT_EQ(FormatNs(999.6), "1.00 us");
  EXPECT_EQ(FormatNs(999'994.0), "999.99 us");
  EXPECT_EQ(FormatNs(999'996.0), "1.00 ms");
  EXPECT_EQ(FormatBytes(999'999'999.0), "1.00 GB");
}

TEST(Units, Sizes) {
  EXPECT_EQ(FormatBytes(0.0), "0 B");
  EXPECT_EQ(FormatBytes(512.0), "512 B");
  EXPECT_EQ(FormatBytes(int64_t{1} << 30), "1.07 GB");
  EXPECT_EQ(FormatBytes(5e15), "5,000.00 TB");
  EXPECT_EQ(FormatBytesPerSecond(55.3e9), "55.30 GB/s");
  EXPECT_EQ(FormatPerSecond(1234.5), "1,234.5 /s");
}

TEST(Units, Counts) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(1'234'567), "1,234,567");
  EXPECT_EQ(FormatCount(-1'234'567), "-1,234,567");
  EXPECT_EQ(FormatCount(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
  EXPECT_EQ(CountOf(1, "copy", "copies"), "1 copy");
  EXPECT_EQ(CountOf(0, "copy", "copies"), "0 copies");
  EXPECT_EQ(CountOf(1200, "kernel"), "1,200 kernels");
}

TEST(Units, PercentNeverRoundsToAllOrNothing) {
  EXPECT_EQ(FormatPercent(0), "0.0%");
  EXPECT_EQ(FormatPercent(0.01), "<0.1%");
  EXPECT_EQ(FormatPercent(97.34), "97.3%");
  EXPECT_EQ(FormatPercent(99.99), ">99.9%");
  EXPECT_EQ(FormatPercent(100), "100.0%");
  EXPECT_EQ(FormatPercent(1234.5), "1,234.5%");
}

TEST(Units, DifferencesHaveASign) {
  EXPECT_EQ(FormatNsChange(1.2e6), "+1.20 ms");
  EXPECT_EQ(FormatNsChange(-4100), "-4.10 us");
  EXPECT_EQ(FormatNsChange(0), "0 ns");
  EXPECT_EQ(FormatPercentChange(12.54), "+12.5%");
  EXPECT_EQ(FormatPercentChange(-1234.5), "-1,234.5%");
  EXPECT_EQ(FormatPercentChange(-0.02), "-0.02%");
  EXPECT_EQ(FormatPercentChange(0), "0%");
  EXPECT_EQ(FormatPercentChange(-0.001), "0%");
  EXPECT_EQ(FormatPercentChange(std::nan("")), "-");
  EXPECT_EQ(FormatCountChange(1234), "+1,234");
  EXPECT_EQ(FormatCountChange(-5), "-5");
  EXPECT_EQ(FormatBytesChange(4100), "+4.10 kB");
}

TEST(Units, WhatIsNoNumberIsADash) {
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(FormatNs(nan), "-");
  EXPECT_EQ(FormatBytes(infinite), "-");
  EXPECT_EQ(FormatBytesPerSecond(infinite), "-");
  EXPECT_EQ(FormatPerSecond(nan), "-");
  EXPECT_EQ(FormatNumber(-infinite), "-");
  EXPECT_EQ(FormatPercent(nan), "-");
}

TEST(FormatCudaVersion, IsAsCudaWritesIt) {
  EXPECT_EQ(FormatCudaVersion(12040), "12.4");
  EXPECT_EQ(FormatCudaVersion(13000), "13.0");
  EXPECT_EQ(FormatCudaVersion(0), "");
}

}  // namespace
}  // namespace gprof
