#include "analysis/facts/recording/measured_slow_down.h"

#include <gtest/gtest.h>

#include "analysis/facts/recording/recording_cost.h"

namespace gprof {
namespace {

constexpr uint32_t kManyThreads = 1'000'000;  // what counting costs is spread over them

// `ns`: from one call to the next.
void Add(Trace* trace, uint32_t number, bool is_recorded, int64_t ns, uint32_t process = 0) {
  WorkRate rate;
  rate.process = process;
  rate.number = number;
  rate.level = is_recorded ? trace::RecordLevel::kAll : trace::RecordLevel::kNothing;
  rate.calls = 101;
  rate.span_ns = 100 * ns;
  rate.threads = kManyThreads;
  trace->work_rates.push_back(rate);
}

Trace WithWindows(uint32_t windows, uint32_t processes = 1) {
  Trace trace;
  trace.processes.resize(processes);
  for (uint32_t process = 0; process < processes; ++process) {
    for (uint32_t i = 0; i < windows; ++i) {
      Add(&trace, 2 * i + 1, true, 1000 + 10 * i + 100 * process, process);
      Add(&trace, 2 * i + 2, false, 1000, process);
    }
  }
  return trace;
}

// Of a window in which a call takes `recorded_ns`, beside those of WithWindows, were no cost of counting hidden.
double MostPercent(double recorded_ns) { return 100 * (recorded_ns / (1000 - 400.0 / kManyThreads) - 1); }

TEST(MeasuredSlowDown, IsTheMedianOfItsWindows) {
  const MeasuredSlowDown slow_down = MeasureSlowDown(WithWindows(9));
  EXPECT_EQ(slow_down.windows, 9);
  EXPECT_DOUBLE_EQ(slow_down.percent, 4);
  // Of nine values the second and the last but one: a fair coin gives fewer than two heads in 2 % of all cases.
  EXPECT_NEAR(slow_down.low_percent, 1, 1e-9);
  EXPECT_NEAR(slow_down.high_percent, MostPercent(1070), 1e-9);
}

TEST(MeasuredSlowDown, AllowsForWhatCountingCosts) {
  Trace trace = WithWindows(9);
  for (WorkRate& rate : trace.work_rates) rate.threads = 2;  // 200 ns of the 1000 without recording
  const MeasuredSlowDown slow_down = MeasureSlowDown(trace);
  EXPECT_DOUBLE_EQ(slow_down.percent, 4);
  EXPECT_NEAR(slow_down.low_percent, 1, 1e-9);
  EXPECT_NEAR(slow_down.high_percent, 100 * (1070.0 / 800 - 1), 1e-9);
}

TEST(MeasuredSlowDown, NeedsSixWindows) {
  EXPECT_FALSE(MeasureSlowDown(WithWindows(5)).IsKnown());
  const MeasuredSlowDown slow_down = MeasureSlowDown(WithWindows(6));
  EXPECT_NEAR(slow_down.low_percent, 0, 1e-9);
  EXPECT_NEAR(slow_down.high_percent, MostPercent(1050), 1e-9);
}

TEST(MeasuredSlowDown, ComparesWithBothNeighbours) {
  Trace trace;
  trace.processes.resize(1);
  for (uint32_t i = 0; i < 20; ++i) Add(&trace, i + 1, i % 2 == 1, 1000 + 10 * i);  // the program itself gets slower
  EXPECT_NEAR(MeasureSlowDown(trace).percent, 0, 0.1);
}

TEST(MeasuredSlowDown, LeavesOutWhatIsNotComparable) {
  Trace trace = WithWindows(8);
  for (WorkRate& rate : trace.work_rates) {
    if (rate.level == trace::RecordLevel::kNothing) rate.number += 100;  // no neighbour
  }
  EXPECT_FALSE(MeasureSlowDown(trace).IsKnown());
  trace = WithWindows(8);
  for (WorkRate& rate : trace.work_rates) rate.calls = rate.level == trace::RecordLevel::kAll ? 3 : rate.calls;
  EXPECT_FALSE(MeasureSlowDown(trace).IsKnown());
  trace = WithWindows(8);
  for (WorkRate& rate : trace.work_rates) rate.function = NameId{rate.level == trace::RecordLevel::kAll ? 1u : 2u};
  EXPECT_FALSE(MeasureSlowDown(trace).IsKnown());
}

// Windows with everything beside those of the base level, and after each of them one without anything.
TEST(MeasuredSlowDown, TellsWhatTheBaseLevelCosts) {
  Trace trace;
  trace.processes.resize(1);
  trace.processes[0].end_ns = 1000;
  trace.captures.push_back({0, 100, 0, 1, trace::CaptureTrigger::kWindow, trace::CaptureTrigger::kWindow, false});
  trace.base_times.push_back({100, 900, 0});
  for (uint32_t i = 0; i < 9; ++i) {
    for (const int64_t ns : {1100, 1010, 1000, 1010}) {
      Add(&trace, static_cast<uint32_t>(trace.work_rates.size() + 1), ns == 1100, ns);
      if (ns == 1010) trace.work_rates.back().level = trace::RecordLevel::kBase;
    }
  }
  const MeasuredSlowDown slow_down = MeasureSlowDown(trace);
  EXPECT_NEAR(slow_down.percent, 100 * (1100.0 / 1010 - 1), 1e-9);
  EXPECT_EQ(slow_down.base_windows, 9);
  EXPECT_NEAR(slow_down.base.middle, 1, 1e-9);
  ASSERT_TRUE(slow_down.IsOfShares());
  EXPECT_DOUBLE_EQ(slow_down.window_share, 0.1);
  EXPECT_DOUBLE_EQ(slow_down.base_share, 0.8);
  EXPECT_NEAR(OnAverage(slow_down).middle, 0.1 * slow_down.percent + 0.9, 1e-9);
}

TEST(MeasuredSlowDown, IsThatOfTheProcessWithTheMost) {
  const MeasuredSlowDown slow_down = MeasureSlowDown(WithWindows(9, 3));
  EXPECT_EQ(slow_down.process, 2u);
  EXPECT_NEAR(slow_down.percent, 24, 1e-9);
}

}  // namespace
}  // namespace gprof
