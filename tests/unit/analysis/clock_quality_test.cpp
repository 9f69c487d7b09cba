#include "analysis/facts/recording/clock_quality.h"

#include <gtest/gtest.h>

#include "trace_maker.h"

namespace gprof::test {
namespace {

void AddReading(Trace* trace, uint64_t host_ns, uint64_t tsc, uint64_t uncertainty_ns) {
  Clock clock;
  clock.process = 0;
  clock.anchor.monotonic_ns = host_ns;
  clock.anchor.realtime_ns = host_ns + 1'700'000'000'000'000'000;
  clock.anchor.tsc = tsc;
  clock.anchor.uncertainty_ns = uncertainty_ns;
  trace->clocks.push_back(clock);
}

void AddCuptiReading(Trace* trace, uint64_t host_ns, uint64_t cupti_ns) {
  Clock clock;
  clock.process = 0;
  clock.anchor.monotonic_ns = host_ns;
  clock.anchor.cupti_ns = cupti_ns;
  trace->clocks.push_back(clock);
}

TEST(ClockQuality, WithoutReadingsNothingIsKnown) {
  TraceMaker maker;
  EXPECT_FALSE(QualityOfClocks(maker.Finish()).IsKnown());
}

// The counter runs at 2 GHz; the reading in the middle was taken 30 ns late.
TEST(ClockQuality, ResidualOfTheTimeStampCounter) {
  TraceMaker maker;
  Trace& trace = maker.trace();
  AddReading(&trace, 1'000'000'000'000, 5'000'000'000'000, 40);
  AddReading(&trace, 1'000'001'000'030, 5'000'002'000'000, 20);
  AddReading(&trace, 1'000'002'000'000, 5'000'004'000'000, 25);
  const ClockQuality quality = QualityOfClocks(maker.Finish());
  EXPECT_EQ(quality.host_readings, 3);
  EXPECT_EQ(quality.cupti_readings, 0);
  EXPECT_EQ(quality.read_within_ns, 40);
  EXPECT_EQ(quality.tsc_residual_ns, 30);
  EXPECT_EQ(quality.cupti_residual_ns, 0);
  EXPECT_EQ(quality.AgreeNs(), 40);
}

// 10 ppm fast, in whatever order the readings are in the file; 500 ns off in the middle.
TEST(ClockQuality, DriftAndResidualOfCupti) {
  TraceMaker maker;
  Trace& trace = maker.trace();
  constexpr uint64_t kWall = 1'795'285'934'482'413'807;
  AddCuptiReading(&trace, 2'000'000'000, kWall + 1'000'010'000);
  AddCuptiReading(&trace, 1'000'000'000, kWall);
  AddCuptiReading(&trace, 1'500'000'000, kWall + 500'005'500);
  const ClockQuality quality = QualityOfClocks(maker.Finish());
  EXPECT_EQ(quality.cupti_readings, 3);
  EXPECT_DOUBLE_EQ(quality.cupti_drift_ppm, 10);
  EXPECT_EQ(quality.cupti_residual_ns, 500);
  EXPECT_EQ(quality.AgreeNs(), 500);
}

TEST(ClockQuality, OperationsBeforeTheirCallsCount) {
  TraceMaker maker;
  AddReading(&maker.trace(), 1'000, 0, 40);
  maker.trace().health.worst_early_ns = 2'000;
  const ClockQuality quality = QualityOfClocks(maker.Finish());
  EXPECT_EQ(quality.early_ns, 2'000);
  EXPECT_EQ(quality.AgreeNs(), 2'000);
}

}  // namespace
}  // namespace gprof::test
