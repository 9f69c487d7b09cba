#include "analysis/facts/time/length_classes.h"

#include <gtest/gtest.h>

namespace gprof {
namespace {

constexpr std::array<int64_t, 4> kBelow = {1'000, 10'000, 20'000, 1'000'000};
constexpr LengthClasses<5> kClasses(kBelow);

size_t ByComparing(int64_t length_ns) {
  size_t number = 0;
  while (number < kBelow.size() && length_ns >= kBelow[number]) ++number;
  return number;
}

TEST(LengthClasses, EachBeginsWhereTheOneBeforeEnds) {
  for (int64_t length_ns = -3; length_ns < 1'100'000; ++length_ns) {
    ASSERT_EQ(kClasses.Of(length_ns), ByComparing(length_ns)) << length_ns;
  }
  for (int bit = 0; bit < 63; ++bit) {
    for (const int64_t length_ns : {(int64_t{1} << bit) - 1, int64_t{1} << bit, (int64_t{1} << bit) + 1}) {
      EXPECT_EQ(kClasses.Of(length_ns), ByComparing(length_ns)) << length_ns;
    }
  }
  EXPECT_EQ(kClasses.Of(INT64_MAX), 4u);
  EXPECT_EQ(kClasses.Of(INT64_MIN), 0u);
}

}  // namespace
}  // namespace gprof
