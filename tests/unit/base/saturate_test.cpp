#include "base/saturate.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace gprof {
namespace {

TEST(SaturatingSum, IsASumWhereThatFits) {
  SaturatingSum sum;
  sum += 5;
  sum += -7;
  EXPECT_EQ(sum, -2);
  EXPECT_EQ(SaturatingSum(INT64_MAX), INT64_MAX);
}

TEST(SaturatingSum, StaysAtTheLimits) {
  SaturatingSum sum = INT64_MAX - 1;
  sum += 2;
  EXPECT_EQ(sum, INT64_MAX);
  sum += sum;
  EXPECT_EQ(sum, INT64_MAX);
  SaturatingSum negative = -2;
  negative += INT64_MIN;
  EXPECT_EQ(negative, INT64_MIN);
}

TEST(Saturate, SumsThatWrapHaveDifferencesThatAreRight) {
  int64_t sum = 3;
  for (int i = 0; i < 3; ++i) AddWrapping(&sum, INT64_MAX);
  int64_t less = sum;
  AddWrapping(&less, -10);
  EXPECT_EQ(SubtractWrapping(sum, less), 10);
}

TEST(Saturate, ProductsStayAtTheLimits) {
  EXPECT_EQ(MultiplySaturating(-3, 7), -21);
  EXPECT_EQ(MultiplySaturating(int64_t{1} << 60, 8), INT64_MAX);
  EXPECT_EQ(MultiplySaturating(int64_t{1} << 60, -9), INT64_MIN);
}

TEST(Saturate, SharesNeedNoProductThatFits) {
  EXPECT_EQ(ShareOf(1007, 7, 10), 704);
  EXPECT_EQ(ShareOf(int64_t{1} << 60, 9, 10), 1'037'629'354'146'162'278);
  EXPECT_EQ(ShareOf(INT64_MAX, INT64_MAX, INT64_MAX), INT64_MAX);
}

}  // namespace
}  // namespace gprof
