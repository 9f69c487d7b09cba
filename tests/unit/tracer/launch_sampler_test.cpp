// When samples of counters are due, and of which kernel.
#include "tracer/counters/sampling/launch_sampler.h"

#include <gtest/gtest.h>

namespace gprof::tracer {
namespace {

constexpr uint64_t kMs = 1'000'000;

TEST(SampleBudget, AllThatWasSpentAndOneMoreTimeAreAShareOfTheRun) {
  SampleBudget budget(20, 500 * kMs);  // 2 %
  EXPECT_EQ(budget.NextRunNs(), 25'000 * kMs);
  budget.Spend(400 * kMs, 60 * kMs);
  EXPECT_EQ(budget.NextRunNs(), 23'000 * kMs);
  budget.Spend(60 * kMs, 60 * kMs);
  EXPECT_EQ(budget.NextRunNs(), 26'000 * kMs);
}

TEST(SampleBudget, WithoutOneThereIsNoNextTime) { EXPECT_EQ(SampleBudget(0, 1).NextRunNs(), ~uint64_t{0}); }

TEST(HotKernels, TheNextIsTheOneThatTookMostForEachTimeItWasMeasured) {
  static HotKernels kernels;
  EXPECT_EQ(kernels.Next(), 0u);
  kernels.Ran(7, 100);
  kernels.Ran(8, 250);
  kernels.Ran(7, 50);
  EXPECT_EQ(kernels.Next(), 8u);
  kernels.Measured(8);  // 125 each time
  EXPECT_EQ(kernels.Next(), 7u);
  kernels.Measured(7);
  EXPECT_EQ(kernels.Next(), 8u);
}

TEST(HotKernels, NumbersThatFallOnOnePlaceAreKeptApart) {
  static HotKernels kernels;
  for (const uint32_t name : {5u, 5u + 1024, 5u + 2048}) kernels.Ran(name, name);
  EXPECT_EQ(kernels.Next(), 5u + 2048);
  kernels.Measured(5 + 2048);
  EXPECT_EQ(kernels.Next(), 5u + 1024);
}

TEST(LaunchSampler, WaitsForItsKernelUntilThatIsInVain) {
  static LaunchSampler sampler;
  sampler.Begin(100, 0);  // 10 %
  sampler.KernelRan(3, 10);
  EXPECT_EQ(sampler.WaitNs(1'000 * kMs), 4'000 * kMs);
  EXPECT_EQ(sampler.WaitNs(5'000 * kMs), 0u);
  sampler.SetDue(5'000 * kMs);
  EXPECT_TRUE(sampler.IsDue());
  EXPECT_TRUE(sampler.Wants(3, 5'001 * kMs));
  EXPECT_FALSE(sampler.Wants(4, 5'001 * kMs));
  EXPECT_TRUE(sampler.Wants(4, 5'600 * kMs));
}

TEST(LaunchSampler, TheNextSampleWaitsForWhatTheLastOneTook) {
  static LaunchSampler sampler;
  sampler.Begin(100, 0);
  sampler.HeldUp(360 * kMs);
  sampler.SetReady();
  EXPECT_EQ(sampler.WaitNs(0), 4'200 * kMs);  // with the least that a sample costs
  sampler.SetDue(4'200 * kMs);
  sampler.HeldUp(100 * kMs);
  sampler.Ended();
  EXPECT_FALSE(sampler.IsDue());
  EXPECT_EQ(sampler.WaitNs(4'300 * kMs), 1'300 * kMs);
}

TEST(LaunchSampler, GivesUpForGood) {
  static LaunchSampler sampler;
  sampler.Begin(500, 0);
  sampler.SetDue(1);
  sampler.GiveUp();
  EXPECT_FALSE(sampler.IsDue());
  EXPECT_GT(sampler.WaitNs(1'000'000 * kMs), 1'000'000 * kMs);
}

}  // namespace
}  // namespace gprof::tracer
