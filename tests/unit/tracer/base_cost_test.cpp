#include "tracer/capture/base_cost.h"

#include <gtest/gtest.h>

namespace gprof::tracer {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

class BaseCostTest : public testing::Test {
 protected:
  void SetUp() override {
    row_count = {};
    cost.Start(0.01);
  }
  BaseCost cost;
};

TEST_F(BaseCostTest, IsThatOfItsRows) {
  cost.CountFrom(kSecondNs, false);
  row_count.rows = 200'000;
  row_count.base_calls = 10'000;
  // 190,000 rows of 30 ns and 10,000 calls of 400 ns in two seconds.
  EXPECT_NEAR(cost.SinceThen(3 * kSecondNs), 0.00485, 1e-9);
  EXPECT_TRUE(cost.Fits(cost.SinceThen(3 * kSecondNs)));
  EXPECT_EQ(cost.SinceThen(kSecondNs), 0);
}

TEST_F(BaseCostTest, OfAWindowIsThatOfItsRanges) {
  row_count = {1000, 1000, 0};
  cost.CountFrom(0, true);
  row_count.rows += 5'000'000;
  row_count.ranges += 300'000;
  EXPECT_NEAR(cost.SinceThen(kSecondNs), 0.009, 1e-9);
  EXPECT_FALSE(cost.Fits(cost.SinceThen(kSecondNs)));  // a quarter of the budget is left to windows
}

TEST_F(BaseCostTest, IsAtLeastWhatWasMeasured) {
  cost.Expect(0.001);
  for (int i = 0; i < 4; ++i) cost.Measure(1050, 1000);
  EXPECT_DOUBLE_EQ(cost.Share(), 0.001);  // too few to be sure
  cost.Measure(1050, 1000);
  EXPECT_NEAR(cost.Share(), 0.05, 1e-9);
  EXPECT_FALSE(cost.Fits());
}

TEST_F(BaseCostTest, NoiseIsNoCost) {
  cost.Expect(0.001);
  for (const double with_ns : {980, 1030, 1010, 970, 1020, 1000, 990, 1040, 985}) cost.Measure(with_ns, 1000);
  EXPECT_DOUBLE_EQ(cost.Share(), 0.001);
  EXPECT_TRUE(cost.Fits());
}

TEST_F(BaseCostTest, IsMeasuredOftenAtFirst) {
  int due = 0;
  for (int round = 0; round < 100; ++round) {
    cost.CountRound();
    if (!cost.IsDue()) continue;
    ++due;
    cost.Measure(1000, 1000);
  }
  EXPECT_EQ(due, 9 + 11);  // of rounds 10 to 100, every eighth: 16 to 96
}

}  // namespace
}  // namespace gprof::tracer
