#include "tracer/osrt/call_rate.h"

#include <gtest/gtest.h>

namespace gprof::tracer {
namespace {

constexpr uint64_t kMillisecondNs = 1'000'000;

TEST(CallRate, CountsWhatCameSinceTheLastTime) {
  CallRate rate;
  EXPECT_FALSE(rate.IsTooHigh(0, 1000 * kMillisecondNs));
  EXPECT_FALSE(rate.IsTooHigh(20'000, 2000 * kMillisecondNs));
  EXPECT_TRUE(rate.IsTooHigh(40'001, 3000 * kMillisecondNs));
  EXPECT_FALSE(rate.IsTooHigh(40'001, 4000 * kMillisecondNs));
}

TEST(CallRate, SaysNothingOfLessThanATenthOfASecond) {
  CallRate rate;
  rate.IsTooHigh(0, 1000 * kMillisecondNs);
  EXPECT_FALSE(rate.IsTooHigh(50'000, 1099 * kMillisecondNs));
  EXPECT_TRUE(rate.IsTooHigh(50'000, 1100 * kMillisecondNs));
}

// As a thread that was preempted for long sees them.
TEST(CallRate, LongPausesBetweenTwoLooksDoNotMakeAMass) {
  CallRate rate;
  rate.IsTooHigh(0, 1000 * kMillisecondNs);
  EXPECT_FALSE(rate.IsTooHigh(1'000'000, 51'000 * kMillisecondNs));
  EXPECT_TRUE(rate.IsTooHigh(2'000'001, 101'000 * kMillisecondNs));
}

}  // namespace
}  // namespace gprof::tracer
