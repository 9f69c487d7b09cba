#include "recorder/seen_windows.h"

#include <gtest/gtest.h>

namespace gprof {
namespace {

using Covered = SeenWindows::Covered;
constexpr uint64_t kMs = 1'000'000;

void Border(SeenWindows* seen, uint64_t ms, trace::CaptureEvent event) {
  trace::CaptureRecord row;
  row.time_ns = ms * kMs;
  row.event = static_cast<uint8_t>(event);
  row.trigger = static_cast<uint8_t>(trace::CaptureTrigger::kWindow);
  seen->Take(row);
}

void Window(SeenWindows* seen, uint64_t from_ms, uint64_t until_ms) {
  Border(seen, from_ms, trace::CaptureEvent::kStart);
  Border(seen, until_ms, trace::CaptureEvent::kStop);
}

void Base(SeenWindows* seen, uint64_t from_ms, uint64_t until_ms) {
  seen->Take(trace::BaseTimeRecord{from_ms * kMs, (until_ms - from_ms) * kMs});
}

Covered Covers(const SeenWindows& seen, uint64_t from_ms, uint64_t until_ms) {
  return seen.Covers(from_ms * kMs, until_ms * kMs);
}

TEST(SeenWindows, KnowAllOfAProgramThatIsNotRecordedInWindows) {
  const SeenWindows seen;
  EXPECT_EQ(Covers(seen, 1, 1000), Covered::kYes);
  EXPECT_FALSE(seen.HasPauses());
}

TEST(SeenWindows, JoinWindowsAndTheBaseLevelInAnyOrder) {
  SeenWindows seen;
  Window(&seen, 100, 200);
  EXPECT_TRUE(seen.IsInPause());
  EXPECT_EQ(Covers(seen, 150, 250), Covered::kNotYet);
  Base(&seen, 300, 500);
  EXPECT_EQ(Covers(seen, 150, 250), Covered::kNo);
  Base(&seen, 200, 300);
  EXPECT_EQ(Covers(seen, 150, 450), Covered::kYes);
  EXPECT_EQ(Covers(seen, 150, 550), Covered::kNotYet);
  EXPECT_EQ(Covers(seen, 50, 150), Covered::kNo);
}

TEST(SeenWindows, GoOnInAWindowThatIsOpen) {
  SeenWindows seen;
  Window(&seen, 100, 200);
  Base(&seen, 200, 300);
  Border(&seen, 300, trace::CaptureEvent::kStart);
  EXPECT_FALSE(seen.IsInPause());
  EXPECT_EQ(seen.window_since_ns(), 300 * kMs);
  EXPECT_EQ(Covers(seen, 250, 900), Covered::kYes);
  EXPECT_EQ(Covers(seen, 350, 900), Covered::kYes);
}

TEST(SeenWindows, CutWhereNothingWasRecorded) {
  SeenWindows seen;
  Window(&seen, 100, 200);
  Base(&seen, 200, 300);
  Base(&seen, 400, 500);
  EXPECT_EQ(Covers(seen, 250, 450), Covered::kNo);
  EXPECT_EQ(Covers(seen, 410, 450), Covered::kYes);
}

TEST(SeenWindows, AddUp) {
  SeenWindows seen;
  Window(&seen, 100, 200);
  Base(&seen, 200, 500);
  Border(&seen, 500, trace::CaptureEvent::kStart);
  const SeenWindows::Sums sums = seen.Until(600 * kMs);
  EXPECT_EQ(sums.windows, 2u);
  EXPECT_EQ(sums.window_ns, 200 * kMs);
  EXPECT_EQ(sums.base_ns, 300 * kMs);
  EXPECT_EQ(sums.all_ns, 500 * kMs);
}

}  // namespace
}  // namespace gprof
