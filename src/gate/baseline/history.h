// What became of the figures of a baseline: trends, and the point from which on they were others. Only the order of the
// values counts, as in rank_test.h.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gate/baseline/baseline.h"

namespace gprof {

// One state of the program: what was accepted once, the present baseline, or later runs.
struct HistoryPoint {
  std::string time;    // empty where nobody wrote it down
  std::string commit;  // empty where nobody said it
  std::string label;   // the reason of a change, or the path of later runs
  std::size_t run_count = 0;
  std::map<std::string, double> medians;  // of the figures of whole runs
};

struct ChangePoint {
  std::size_t point = 0;         // the first of the new level, among the points of the figure
  double before = 0, after = 0;  // medians of both sides
  double p_value = 1;            // corrected for the number of places looked at
};

struct Trend {
  std::size_t first_point = 0;  // it is looked for behind the change point
  double slope = 0;             // per point: the median of those between any two points
  double p_value = 1;           // Mann–Kendall
};

struct FigureHistory {
  const MetricInfo* info = nullptr;
  std::vector<std::size_t> points;  // that have the figure
  std::vector<double> values;       // as many
  std::optional<ChangePoint> change;
  std::optional<Trend> trend;  // where it is certain
};

// Of fewer points nothing is said.
inline constexpr std::size_t kFewestTrendPoints = 5, kFewestSidePoints = 4;

std::vector<HistoryPoint> PointsOf(const Baseline& baseline);
HistoryPoint PointOf(const RunSet& runs, const std::string& label);

// A history without values where no point has the figure.
FigureHistory HistoryOf(const MetricInfo& info, const std::vector<HistoryPoint>& points);

// "step +12% at 7", "+1.1% per point", "steady", "fewer than 5 points".
std::string WhatBecameOf(const FigureHistory& figure);

}  // namespace gprof
