// The share of a processor that a collector takes, as it is told itself.
#include "collect/run/own_cost.h"

#include <gtest/gtest.h>

#include "fake_run.h"

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

TEST_F(OwnCostTest, WhatTakesTooMuchLooksHalfAsOftenAndSaysSo) {
  TemporaryFolder folder;
  std::string why;
  const std::unique_ptr<Journal> journal = Journal::Create(folder.path(), "host_load", &why);
  ASSERT_TRUE(journal) << why;
  const CostLimit limit = {2, 300};
  int64_t period_ns = 100;
  EXPECT_FALSE(cost_.StepDown(limit, 5000, kLeastNs, &period_ns, journal.get()));
  cpu_ns_ += 20;
  EXPECT_FALSE(cost_.StepDown(limit, 6000, kLeastNs, &period_ns, journal.get()));
  EXPECT_TRUE(journal->IsEmpty());
  cpu_ns_ += 21;
  EXPECT_TRUE(cost_.StepDown(limit, 7000, kLeastNs, &period_ns, journal.get()));
  EXPECT_EQ(period_ns, 200);
  EXPECT_FALSE(journal->IsEmpty());
  cpu_ns_ += 900;
  EXPECT_TRUE(cost_.StepDown(limit, 8000, kLeastNs, &period_ns, journal.get()));
  EXPECT_EQ(period_ns, 300);
  cpu_ns_ += 900;
  EXPECT_FALSE(cost_.StepDown(limit, 9000, kLeastNs, &period_ns, journal.get()));
}

}  // namespace
}  // namespace gprof
