#include "gate/baseline/history.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/units.h"
#include "gate/statistics/rank_test.h"

namespace gprof {
namespace {

constexpr double kCertain = 0.05;

// Of two values that are compared in an order that is open: -1, 0 or 1.
int Sign(double difference) { return difference > 0 ? 1 : difference < 0 ? -1 : 0; }

// How many orders of `count` values have each number of pairs in the wrong order, as a part of all.
std::vector<double> InversionShares(std::size_t count) {
  std::vector<double> shares = {1};
  for (std::size_t size = 2; size <= count; ++size) {
    std::vector<double> next(shares.size() + size - 1, 0.0);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      for (std::size_t added = 0; added < size; ++added) next[i + added] += shares[i] / static_cast<double>(size);
    }
    shares = std::move(next);
  }
  return shares;
}

// Two-sided and exact. Equal values count for neither direction, which makes it more careful.
double MannKendall(std::span<const double> values) {
  int64_t score = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t k = i + 1; k < values.size(); ++k) score += Sign(values[k] - values[i]);
  }
  const std::vector<double> shares = InversionShares(values.size());
  const int64_t pairs = static_cast<int64_t>(shares.size()) - 1;
  const int64_t fewest = (pairs - std::abs(score)) / 2;
  double below = 0;
  for (int64_t i = 0; i <= fewest; ++i) below += shares[static_cast<std::size_t>(i)];
  return std::min(1.0, 2 * below);
}

double MedianSlope(std::span<const double> values) {
  std::vector<double> slopes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t k = i + 1; k < values.size(); ++k)
      slopes.push_back((values[k] - values[i]) / static_cast<double>(k - i));
  }
  return MedianOf(slopes);
}

// Where two parts differ most, if they do after all the places that were looked at.
std::optional<ChangePoint> FindChange(std::span<const double> values) {
  if (values.size() < 2 * kFewestSidePoints) return std::nullopt;
  ChangePoint best;
  const std::size_t places = values.size() - 2 * kFewestSidePoints + 1;
  for (std::size_t at = kFewestSidePoints; at + kFewestSidePoints <= values.size(); ++at) {
    const RankTest test = RankSumTest(values.first(at), values.subspan(at));
    if (test.p_value < best.p_value) best.point = at, best.p_value = test.p_value;
  }
  best.p_value = std::min(1.0, best.p_value * static_cast<double>(places));
  if (best.point == 0 || best.p_value >= kCertain) return std::nullopt;
  best.before = MedianOf(values.first(best.point));
  best.after = MedianOf(values.subspan(best.point));
  return best;
}

std::optional<Trend> FindTrend(std::span<const double> values, std::size_t first) {
  const std::span<const double> rest = values.subspan(first);
  if (rest.size() < kFewestTrendPoints) return std::nullopt;
  const Trend trend = {first, MedianSlope(rest), MannKendall(rest)};
  if (trend.p_value >= kCertain || trend.slope == 0) return std::nullopt;
  return trend;
}

// "+12%"
std::string PartOf(double difference, double base) {
  const std::string sign = difference < 0 ? "-" : "+";
  return base == 0 ? sign + " from 0" : sign + FormatPercent(100 * std::fabs(difference) / std::fabs(base));
}

}  // namespace

std::vector<HistoryPoint> PointsOf(const Baseline& baseline) {
  std::vector<HistoryPoint> points;
  for (const BaselineChange& change : baseline.history)
    points.push_back({change.time, change.commit, change.reason, change.run_count, change.medians});
  const BaselineChange& now = baseline.made;
  points.push_back({now.time, now.commit, now.reason, baseline.set.runs.size(), MediansOf(baseline.set)});
  return points;
}

HistoryPoint PointOf(const RunSet& runs, const std::string& label) {
  return {"", runs.runs.front().fingerprint.commit, label, runs.runs.size(), MediansOf(runs)};
}

FigureHistory HistoryOf(const MetricInfo& info, const std::vector<HistoryPoint>& points) {
  FigureHistory figure;
  figure.info = &info;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto found = points[i].medians.find(std::string(info.id));
    if (found == points[i].medians.end()) continue;
    figure.points.push_back(i);
    figure.values.push_back(found->second);
  }
  figure.change = FindChange(figure.values);
  figure.trend = FindTrend(figure.values, figure.change ? figure.change->point : 0);
  return figure;
}

std::string WhatBecameOf(const FigureHistory& figure) {
  std::string text;
  if (const auto& change = figure.change) {
    text = "change " + PartOf(change->after - change->before, change->before) + " at " +
           std::to_string(figure.points[change->point] + 1);
  }
  if (const auto& trend = figure.trend) {
    const std::span<const double> rest = std::span(figure.values).subspan(trend->first_point);
    text += (text.empty() ? "" : ", then ") + PartOf(trend->slope, MedianOf(rest)) + " per point";
  }
  if (!text.empty()) return text;
  if (figure.values.size() < kFewestTrendPoints) return "fewer than " + std::to_string(kFewestTrendPoints) + " points";
  return "steady";
}

}  // namespace gprof
