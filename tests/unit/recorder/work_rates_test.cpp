#include "recorder/work_rates.h"

#include <gtest/gtest.h>

#include "gprof/trace/record.h"

namespace gprof {
namespace {

// In turns with recording and without, at that many ns a call.
void Add(WorkRates* rates, uint32_t pid, uint32_t windows, uint64_t with_ns, uint64_t without_ns) {
  trace::ProcessKey process = {};
  process.pid = pid;
  for (uint32_t i = 0; i < windows; ++i) {
    trace::WorkRateRecord row;
    row.number = i + 1;
    row.level = i % 2 == 0 ? 1 : 0;
    row.calls = 101;
    row.threads = 1;
    row.span_ns = 100 * (row.level != 0 ? with_ns : without_ns);
    rates->Take(process, row, "cuLaunchKernel");
  }
}

TEST(WorkRates, NeedsWindowsForAnInterval) {
  WorkRates rates;
  trace::ProcessKey slowest;
  EXPECT_FALSE(rates.Measure(&slowest).IsKnown());
  Add(&rates, 7, 9, 10'400, 10'000);
  EXPECT_FALSE(rates.Measure(&slowest).IsKnown());
}

TEST(WorkRates, MeasuresTheProcessThatIsSlowedDownMost) {
  WorkRates rates;
  trace::ProcessKey slowest;
  Add(&rates, 7, 21, 10'100, 10'000);
  Add(&rates, 8, 21, 10'400, 10'000);
  const MeasuredSlowDown measured = rates.Measure(&slowest);
  ASSERT_TRUE(measured.IsKnown());
  EXPECT_NEAR(measured.percent, 4, 0.01);
  EXPECT_EQ(measured.windows, 11);
  EXPECT_EQ(slowest.pid, 8u);
  EXPECT_LE(measured.low_percent, measured.percent);
  EXPECT_GE(measured.high_percent, measured.percent);
}

TEST(WorkRates, ForgetsWhatIsOld) {
  WorkRates rates;
  trace::ProcessKey slowest;
  Add(&rates, 7, 1000, 20'000, 10'000);
  Add(&rates, 7, 1000, 10'200, 10'000);
  EXPECT_NEAR(rates.Measure(&slowest).percent, 2, 0.01);
}

}  // namespace
}  // namespace gprof
