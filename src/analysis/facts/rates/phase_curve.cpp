#include "analysis/facts/rates/phase_curve.h"

#include <algorithm>
#include <cmath>

#include "analysis/facts/rates/seeded_random.h"

namespace gprof {
namespace {

constexpr int kCurveReplicates = 100;
constexpr std::size_t kCurveBlocks = 50, kFewestSamplesOfCurveBlock = 8;
constexpr double kMostError = 0.05;
// Shorter parts are not told apart, as edges are known to about that.
constexpr int64_t kShortestPartNs = 500;
// How much smoother than measured curves are made, in parts of what was measured of one of them.
constexpr double kSmoothness[] = {0, 0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10};

// Launches of the kernel in parts, as columns from 0 on, and all other work in one column for each that it had.
std::vector<RatedWork> InParts(const RatedTime& time, uint32_t column, uint32_t parts, const EdgeShift& shift) {
  std::vector<RatedWork> work;
  for (const RatedWork& one : time.work) {
    const int64_t start_ns = one.start_ns + shift.start_ns, end_ns = one.end_ns + shift.end_ns;
    if (one.column != column) {
      work.push_back({start_ns, end_ns, parts + one.column});
      continue;
    }
    for (uint32_t i = 0; i < parts; ++i) {
      const int64_t length_ns = end_ns - start_ns;
      work.push_back({start_ns + length_ns * i / parts, start_ns + length_ns * (i + 1) / parts, i});
    }
  }
  std::ranges::stable_sort(work, {}, &RatedWork::start_ns);
  return work;
}

std::vector<NormalEquations> BlocksInParts(const RatedTime& time, std::span<const RateTrack> tracks) {
  const std::span<const MetricSample> samples = tracks[0].samples;
  const std::size_t count = samples.size();
  const std::size_t wanted = std::clamp(count / kFewestSamplesOfCurveBlock, std::size_t{1}, kCurveBlocks);
  std::vector<NormalEquations> blocks(wanted, NormalEquations(time.columns + 1, static_cast<uint32_t>(tracks.size())));
  WorkInSamples rows(time.work, {}, Together::kAddUp, time.columns);
  std::vector<double> values(tracks.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (!time.is_left_out.empty() && time.is_left_out[i] != 0) continue;
    for (std::size_t t = 0; t < tracks.size(); ++t)
      values[t] = tracks[t].unit * static_cast<double>(tracks[t].samples[i].value);
    blocks[i * wanted / count].AddRow(rows.In({samples[i].start_ns, samples[i].end_ns}), values);
  }
  return blocks;
}

void Smooth(uint32_t parts, double weight, NormalEquations* equations) {
  double own = 0;
  for (uint32_t i = 0; i < parts; ++i) own += equations->Product(i, i) / parts;
  for (uint32_t i = 1; i < parts; ++i) equations->AddLikeness(i - 1, i, weight * own);
}

// What explains samples best that it was not made from.
double SmoothnessOf(std::span<const NormalEquations> blocks, uint32_t parts, uint32_t track) {
  constexpr std::size_t kHeldOut = 5;  // one of so many blocks
  NormalEquations made(blocks[0].columns(), blocks[0].tracks()), held = made;
  for (std::size_t i = 0; i < blocks.size(); ++i) (i % kHeldOut == 0 ? held : made).Add(blocks[i], 1);
  double best = kSmoothness[0], least = -1;
  for (const double weight : kSmoothness) {
    NormalEquations smooth = made;
    Smooth(parts, weight, &smooth);
    const double rest = held.Unexplained(track, Solver(smooth).Solve(smooth.Moments(track)));
    if (least >= 0 && rest >= least) continue;
    least = rest;
    best = weight;
  }
  return best;
}

PhaseCurve CurveOf(std::span<const NormalEquations> blocks, uint32_t parts, uint32_t track) {
  const double weight = SmoothnessOf(blocks, parts, track);
  NormalEquations total(blocks[0].columns(), blocks[0].tracks());
  for (const NormalEquations& block : blocks) total.Add(block, 1);
  Smooth(parts, weight, &total);
  const std::vector<double> values = Solver(total).SolveNonNegative(total, track, total.columns());
  std::vector<double> sums(parts), squares(parts);
  SeededRandom random;
  for (int i = 0; i < kCurveReplicates; ++i) {
    NormalEquations sum(total.columns(), total.tracks());
    for (const NormalEquations& block : blocks) sum.Add(block, random.Exponential());
    Smooth(parts, weight, &sum);
    const std::vector<double> solved = Solver(sum).Solve(sum.Moments(track));
    for (uint32_t part = 0; part < parts; ++part) {
      sums[part] += solved[part];
      squares[part] += solved[part] * solved[part];
    }
  }
  PhaseCurve curve;
  for (uint32_t part = 0; part < parts; ++part) {
    constexpr double kTwoSided = 1.96;
    const double mean = sums[part] / kCurveReplicates;
    const double variance = std::max(squares[part] / kCurveReplicates - mean * mean, 0.0);
    const double half = kTwoSided * std::sqrt(variance);
    curve.parts.push_back({values[part], std::max(values[part] - half, 0.0), values[part] + half});
    curve.error += variance / parts;
  }
  curve.error = std::sqrt(curve.error);
  return curve;
}

bool IsResolved(const PhaseCurve& curve, double peak) {
  const double most = std::ranges::max(curve.parts, {}, &Estimate::value).value;
  return curve.error <= kMostError * (peak > 0 ? peak : most);
}

}  // namespace

std::vector<std::optional<PhaseCurve>> PhaseCurves(const RatedTime& time, uint32_t column,
                                                   std::span<const RateTrack> tracks, std::span<const double> peaks,
                                                   const EdgeShift& shift) {
  std::vector<std::optional<PhaseCurve>> curves(tracks.size());
  int64_t time_ns = 0, launches = 0;
  for (const RatedWork& one : time.work) {
    if (one.column == column) time_ns += one.end_ns - one.start_ns, ++launches;
  }
  if (launches == 0 || tracks.empty()) return curves;
  for (uint32_t parts = kMostParts; parts >= kFewestParts; parts /= 2) {
    if (time_ns / launches / parts < kShortestPartNs) continue;
    const std::vector<RatedWork> work = InParts(time, column, parts, shift);
    const std::vector<NormalEquations> blocks = BlocksInParts({work, parts + time.columns, time.is_left_out}, tracks);
    for (uint32_t track = 0; track < tracks.size(); ++track) {
      if (curves[track]) continue;
      PhaseCurve curve = CurveOf(blocks, parts, track);
      if (IsResolved(curve, peaks[track])) curves[track] = std::move(curve);
    }
    if (std::ranges::all_of(curves, [](const auto& curve) { return curve.has_value(); })) break;
  }
  return curves;
}

}  // namespace gprof
