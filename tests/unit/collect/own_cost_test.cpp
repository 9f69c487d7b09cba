// The share of a processor that a collector takes, as it is told itself.
#include "collect/run/own_cost.h"

#include <gtest/gtest.h>

namespace gprof {
namespace {

constexpr int64_t kLeastNs = 1000;

class OwnCostTest : public ::testing::Test {
 protected:
  int64_t cpu_ns_ = 77;
  OwnCost cost_{[this] { return cpu_ns_; }};
};

TEST_F(OwnCostTest, IsOverTheTimeSinceTheAnswerBefore) {
  EXPECT_EQ(cost_.Percent(5000, kLeastNs), std::nullopt);
  cpu_ns_ += 30;
  EXPECT_EQ(cost_.Percent(5999, kLeastNs), std::nullopt);
  EXPECT_EQ(cost_.Percent(6000, kLeastNs), 3.0);
  cpu_ns_ += 1000;
  EXPECT_EQ(cost_.Percent(8000, kLeastNs), 50.0);
}

TEST_F(OwnCostTest, ForgetsWhatWasBeforeARestart) {
  cost_.Percent(5000, kLeastNs);
  cpu_ns_ += 900;
  cost_.Restart();
  EXPECT_EQ(cost_.Percent(6000, kLeastNs), std::nullopt);
  cpu_ns_ += 10;
  EXPECT_EQ(cost_.Percent(7000, kLeastNs), 1.0);
}

}  // namespace
}  // namespace gprof
