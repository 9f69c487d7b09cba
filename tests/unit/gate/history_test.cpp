#include "gate/baseline/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs.h"

namespace gprof {
namespace {

std::vector<HistoryPoint> Points(const std::vector<double>& values, const std::string& id = "gpu.window_ns") {
  std::vector<HistoryPoint> points;
  for (const double value : values) points.push_back({"", "", "", 5, {{id, value}}});
  return points;
}

FigureHistory Of(const std::vector<double>& values) { return HistoryOf(*FindMetric("gpu.window_ns"), Points(values)); }

TEST(History, NoiseIsSteady) {
  const FigureHistory figure = Of({100, 103, 99, 102, 98, 101, 104, 97, 100, 102});
  EXPECT_FALSE(figure.change);
  EXPECT_FALSE(figure.trend);
  EXPECT_EQ(WhatBecameOf(figure), "steady");
}

TEST(History, FewPointsSayNothing) {
  EXPECT_EQ(WhatBecameOf(Of({100, 200, 300, 400})), "fewer than 5 points");
  EXPECT_EQ(WhatBecameOf(Of({100})), "fewer than 5 points");
  EXPECT_EQ(WhatBecameOf(Of({7, 7, 7, 7, 7, 7, 7, 7, 7, 7})), "steady");
}

TEST(History, ATrendIsTheMedianSlope) {
  const FigureHistory figure = Of({100, 101, 102, 103, 104});
  ASSERT_TRUE(figure.trend);
  EXPECT_EQ(figure.trend->slope, 1);
  EXPECT_NEAR(figure.trend->p_value, 2.0 / 120, 1e-12);  // the only order of five that rises throughout, and its mirror
  EXPECT_EQ(WhatBecameOf(figure), "+1.0% per point");
  EXPECT_EQ(WhatBecameOf(Of({100, 90, 80, 70, 60, 50})), "-13.3% per point");
}

TEST(History, TheChangePointIsWhereTheLevelChanged) {
  const FigureHistory figure = Of({100, 102, 99, 101, 100, 121, 119, 120, 122, 118});
  ASSERT_TRUE(figure.change);
  EXPECT_EQ(figure.change->point, 5u);
  EXPECT_EQ(figure.change->before, 100);
  EXPECT_EQ(figure.change->after, 120);
  EXPECT_LT(figure.change->p_value, 0.05);
  EXPECT_FALSE(figure.trend) << "what follows a step is no trend";
  EXPECT_EQ(WhatBecameOf(figure), "change +20.0% at 6");
}

TEST(History, AnOutlierIsNoChange) { EXPECT_FALSE(Of({100, 102, 99, 101, 180, 100, 99, 102, 98, 101}).change); }

TEST(History, PointsWithoutTheFigureAreLeftOut) {
  std::vector<HistoryPoint> points = Points({1, 2});
  points.insert(points.begin() + 1, Points({3}, "kernels.count").front());
  const FigureHistory figure = HistoryOf(*FindMetric("gpu.window_ns"), points);
  EXPECT_THAT(figure.points, testing::ElementsAre(0u, 2u));
  EXPECT_THAT(figure.values, testing::ElementsAre(1, 2));
}

TEST(History, OfABaselineHasWhatWasBefore) {
  Baseline baseline;
  baseline.set = Runs("gpu.window_ns", {10, 20, 30});
  baseline.made.reason = "first";
  Accept(Runs("gpu.window_ns", {40}), {"2026-11-21T00:00:00Z", "ann", "second", "abc", 0, {}}, &baseline);
  const std::vector<HistoryPoint> points = PointsOf(baseline);
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].medians.at("gpu.window_ns"), 20);
  EXPECT_EQ(points[0].label, "first");
  EXPECT_EQ(points[1].medians.at("gpu.window_ns"), 40);
  EXPECT_EQ(points[1].commit, "abc");
  EXPECT_EQ(points[1].run_count, 1u);
}

}  // namespace
}  // namespace gprof
