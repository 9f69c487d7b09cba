#include "analysis/facts/delays/worth.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/result/student_limit.h"

namespace gprof {
namespace {

constexpr int64_t kFewestWindows = 6;
// A slope that is known no better than this is not known.
constexpr double kWidestInterval = 0.6;
// What is within this of 0 or 1 is called that.
constexpr double kNear = 0.15;

// A kernel that delays another one takes a launch of its own, however short its delay: what that costs is the
// intercept.
bool HasIntercept(const std::string& thing) { return IsKernelThing(thing); }

// Least squares through the origin, or with an intercept. The errors of windows differ, so the interval is that of
// White, with the correction for few windows.
SlopeEstimate FitSlope(const std::vector<const DelaySample*>& samples, bool has_intercept) {
  const auto n = static_cast<double>(samples.size());
  double mean_x = 0, mean_y = 0;
  for (const DelaySample* sample : samples) {
    mean_x += has_intercept ? sample->inserted_ns / n : 0;
    mean_y += has_intercept ? sample->longer_ns / n : 0;
  }
  double xx = 0, xy = 0;
  for (const DelaySample* sample : samples) {
    xx += (sample->inserted_ns - mean_x) * (sample->inserted_ns - mean_x);
    xy += (sample->inserted_ns - mean_x) * (sample->longer_ns - mean_y);
  }
  if (xx <= 0) return {0, -INFINITY, INFINITY};
  const double slope = xy / xx;
  double scatter = 0;
  for (const DelaySample* sample : samples) {
    const double x = sample->inserted_ns - mean_x, rest = sample->longer_ns - mean_y - slope * x;
    scatter += x * x * rest * rest;
  }
  const double degrees = n - (has_intercept ? 2 : 1);
  const double error = std::sqrt(scatter * n / degrees) / xx;
  const double half = StudentLimit(degrees) * error;
  return {slope, slope - half, slope + half};
}

WorthVerdict VerdictOf(const SlopeEstimate& slope) {
  if (slope.high - slope.low > std::max(kWidestInterval, kWidestInterval * std::abs(slope.value)))
    return WorthVerdict::kCannotTell;
  if (slope.high < kNear || (slope.low <= 0 && slope.value < kNear)) return WorthVerdict::kHidden;
  if (slope.low > 1 + kNear) return WorthVerdict::kHoldsUpOthers;
  return slope.high >= 1 - kNear ? WorthVerdict::kOnThePath : WorthVerdict::kPartlyHidden;
}

}  // namespace

SlopeEstimate Worth::SavingPercent() const {
  const double half = unit_ns > 0 ? 100 * time_per_unit_ns / 2 / unit_ns : 0;
  const auto of = [half](double value) { return std::clamp(value * half, 0.0, 100.0); };
  return {of(slope.value), of(slope.low), of(slope.high)};
}

std::vector<Worth> MeasureWorth(const DelaySamples& samples) {
  std::map<std::string, std::vector<const DelaySample*>> by_thing;
  for (const DelaySample& sample : samples.samples) by_thing[sample.thing].push_back(&sample);
  std::vector<Worth> all;
  for (const auto& [thing, of_thing] : by_thing) {
    Worth worth;
    worth.thing = thing;
    worth.windows = std::ranges::count_if(of_thing, [](const DelaySample* sample) { return sample->delay_ns > 0; });
    const auto units = static_cast<double>(std::max<int64_t>(1, samples.undelayed_units));
    worth.unit_ns = samples.UnitNs();
    if (const ThingUse* use = FindUse(samples.uses, thing); use != nullptr) {
      worth.instances_per_unit = static_cast<double>(use->instances) / units;
      worth.time_per_unit_ns = static_cast<double>(use->time_ns) / units;
    }
    if (worth.windows >= kFewestWindows) {
      worth.slope = FitSlope(of_thing, HasIntercept(thing));
      worth.verdict = VerdictOf(worth.slope);
    }
    all.push_back(std::move(worth));
  }
  const auto gain = [](const Worth& worth) { return worth.HasSaving() ? worth.SavingPercent().value : -1; };
  std::ranges::stable_sort(all, [&](const Worth& a, const Worth& b) { return gain(a) > gain(b); });
  return all;
}

}  // namespace gprof
