#include "analysis/facts/rates/rate_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/facts/rates/seeded_random.h"
#include "analysis/result/student_limit.h"

namespace gprof {
namespace {

constexpr int kReplicates = 200;
constexpr std::size_t kMostBlocks = 100, kFewestBlocks = 8, kFewestSamplesOfBlock = 8;
// Less says nothing of how much blocks differ.
constexpr double kFewestBlocksOfGroup = 3;
// Edges: where they are looked for, and how far from there they may be.
constexpr int64_t kMostShiftNs = 1500, kShiftStepNs = 750;
constexpr double kUnseenShiftNs = 700, kSeenShiftNs = 500;
constexpr double kClearlyWorse = 20;  // variances of the noise
// Samples that are enough to find edges, in runs that are spread over the time.
constexpr std::size_t kEdgeSamples = 20'000, kEdgeRun = 100;
// Runs are not independent, and edges not all alike: their error is so many times what one run after the other says.
constexpr double kEdgeDoubt = 2.5, kLeastShiftNs = 10;
constexpr uint32_t kEdgeColumns = 2;
// Edges of single launches are that far from where they are on average (H200: 90 % within 0.3 us). What values are too
// small by for that is known to so much of it, and is no more.
constexpr double kEdgeErrorNs = 90, kDoubt = 0.7, kMostCorrection = 0.2;
// What the pace of work is within a block is not known: so much of how it differs between them.
constexpr double kPaceDoubt = 0.06;
// A value that is not known to a quarter, nor to a tenth of the largest, is not worth a word. If the others explain it
// nearly as well as its own time does, that is because it runs together with them.
constexpr double kWideShare = 0.25, kWideOfScale = 0.1, kConfounded = 5, kTogether = -0.5;

Interval TimeOf(const MetricSample& sample) { return {sample.start_ns, sample.end_ns}; }

bool IsLeftOut(const RatedTime& time, std::size_t sample) {
  return !time.is_left_out.empty() && time.is_left_out[sample] != 0;
}

// Samples that edges are looked for in: short runs, each of which has rates of its own, as clocks and caches change
// slowly, and edges do not.
struct EdgeRuns {
  std::vector<std::size_t> samples;
  std::size_t of_run = 0;
};

EdgeRuns FindRuns(const RatedTime& time, std::size_t count) {
  EdgeRuns runs;
  runs.of_run = std::max(kEdgeRun, std::size_t{time.columns} * 8);
  const std::size_t wanted = std::max<std::size_t>(kEdgeSamples / runs.of_run, 1);
  const std::size_t there = std::max<std::size_t>(count / runs.of_run, 1),
                    step = std::max<std::size_t>(there / wanted, 1);
  for (std::size_t first = 0; first < count; first += step * runs.of_run) {
    for (std::size_t i = first; i < std::min(first + runs.of_run, count); ++i) {
      if (!IsLeftOut(time, i)) runs.samples.push_back(i);
    }
  }
  return runs;
}

// Work that any of the samples can see.
std::vector<RatedWork> WorkOf(std::span<const RatedWork> work, std::span<const MetricSample> samples,
                              std::span<const std::size_t> chosen) {
  std::vector<RatedWork> seen;
  std::size_t at = 0;
  for (const RatedWork& one : work) {
    while (at < chosen.size() && samples[chosen[at]].end_ns <= one.start_ns - kMostShiftNs) ++at;
    if (at < chosen.size() && samples[chosen[at]].start_ns < one.end_ns + kMostShiftNs) seen.push_back(one);
  }
  return seen;
}

template <class F>
void ForEachRun(const EdgeRuns& runs, F&& f) {
  for (std::size_t first = 0; first < runs.samples.size(); first += runs.of_run) {
    const std::size_t size = std::min(runs.of_run, runs.samples.size() - first);
    f(std::span(runs.samples).subspan(first, size));
  }
}

NormalEquations EquationsOf(WorkInSamples* rows, std::span<const RateTrack> tracks, std::span<const std::size_t> chosen,
                            uint32_t columns) {
  NormalEquations equations(columns, static_cast<uint32_t>(tracks.size()));
  std::vector<double> values(tracks.size());
  for (const std::size_t i : chosen) {
    for (std::size_t t = 0; t < tracks.size(); ++t)
      values[t] = tracks[t].unit * static_cast<double>(tracks[t].samples[i].value);
    equations.AddRow(rows->In(TimeOf(tracks[0].samples[i])), values);
  }
  return equations;
}

// Rows of one track with, behind the columns, what its samples would change by for each ns that edges are later.
class EdgedRows {
 public:
  EdgedRows(const RatedTime& time, const RateTrack& track, const EdgeShift& shift, std::span<const double> rates)
      : idle_(time.columns),
        rates_(rates),
        here_(time.work, shift, track.together, idle_),
        begun_(time.work, {shift.start_ns + kStepNs, shift.end_ns}, track.together, idle_),
        ended_(time.work, {shift.start_ns, shift.end_ns + kStepNs}, track.together, idle_) {}

  void GoTo(const Interval& sample) {
    const std::span<const ColumnShare> shares = here_.In(sample);
    row_.assign(shares.begin(), shares.end());
    const double expected = Sum(shares);
    const double of_starts = (Sum(begun_.In(sample)) - expected) / kStepNs;
    const double of_ends = (Sum(ended_.In(sample)) - expected) / kStepNs;
    if (of_starts != 0) row_.push_back({idle_ + 1, of_starts});
    if (of_ends != 0) row_.push_back({idle_ + 2, of_ends});
  }
  std::span<const ColumnShare> row() const { return row_; }
  std::span<const uint32_t> edges() const { return here_.edges(); }

 private:
  static constexpr int64_t kStepNs = 250;
  double Sum(std::span<const ColumnShare> row) const {
    double sum = 0;
    for (const ColumnShare& part : row) sum += part.share * rates_[part.column];
    return sum;
  }

  uint32_t idle_;
  std::span<const double> rates_;
  WorkInSamples here_, begun_, ended_;
  std::vector<ColumnShare> row_;
};

// Of all samples, by blocks of time.
std::vector<NormalEquations> BlocksOf(const RatedTime& time, const RateTrack& track, const EdgeShift& shift,
                                      std::span<const double> rates) {
  const std::size_t count = track.samples.size();
  const std::size_t wanted = std::clamp(count / kFewestSamplesOfBlock, kFewestBlocks, kMostBlocks);
  std::vector<NormalEquations> blocks(wanted, NormalEquations(time.columns + 1 + kEdgeColumns, 1));
  EdgedRows rows(time, track, shift, rates);
  for (std::size_t i = 0; i < count; ++i) {
    if (IsLeftOut(time, i)) continue;
    const Interval sample = TimeOf(track.samples[i]);
    rows.GoTo(sample);
    const double value = track.unit * static_cast<double>(track.samples[i].value);
    NormalEquations& block = blocks[i * wanted / count];
    block.AddRow(rows.row(), {&value, 1});
    const auto length_ns = static_cast<double>(sample.DurationNs());
    for (const uint32_t column : rows.edges())
      block.AddShareNoise(column, time.columns, kEdgeErrorNs * kEdgeErrorNs / (length_ns * length_ns));
  }
  return blocks;
}

NormalEquations SumOf(std::span<const NormalEquations> blocks) {
  NormalEquations sum(blocks[0].columns(), blocks[0].tracks());
  for (const NormalEquations& block : blocks) sum.Add(block, 1);
  return sum;
}

// Variance of a sample around what the rates explain.
double NoiseOf(const NormalEquations& equations, std::span<const double> rates) {
  return equations.Unexplained(0, rates) / std::max(equations.rows() - equations.columns(), 1.0);
}

bool IsTooWide(const Estimate& estimate, double scale) {
  return estimate.high - estimate.low > std::max(kWideShare * estimate.value, kWideOfScale * scale);
}

void AddEdgePriors(double start_ns, double end_ns, double weight, NormalEquations* equations) {
  equations->AddPrior(equations->columns() - 2, start_ns, weight);
  equations->AddPrior(equations->columns() - 1, end_ns, weight);
}

// Edges are where they were found to be, whatever else would explain that rates change in the course of time.
void SetEdges(double start_ns, double end_ns, NormalEquations* equations) {
  constexpr double kCertain = 1e9;
  const uint32_t starts = equations->columns() - 2, ends = equations->columns() - 1;
  const double weight = kCertain * std::max(equations->Product(starts, starts), equations->Product(ends, ends));
  AddEdgePriors(start_ns, end_ns, weight, equations);
}

}  // namespace

std::vector<SeenEdges> FindEdges(const RatedTime& time, std::span<const RateTrack> tracks) {
  std::vector<SeenEdges> edges(tracks.size());
  if (tracks.empty() || tracks[0].samples.size() < kFewestBlocks * kFewestSamplesOfBlock) return edges;
  const EdgeRuns runs = FindRuns(time, tracks[0].samples.size());
  const std::vector<RatedWork> work = WorkOf(time.work, tracks[0].samples, runs.samples);
  const RatedTime seen{work, time.columns, time.is_left_out};
  std::vector<double> least(tracks.size()), without(tracks.size());
  double freedom = 1;
  const auto look_at = [&](const EdgeShift& shift) {
    NormalEquations rest(0, static_cast<uint32_t>(tracks.size()));
    WorkInSamples rows(seen.work, shift, tracks[0].together, time.columns);
    ForEachRun(runs, [&](std::span<const std::size_t> run) {
      const NormalEquations equations = EquationsOf(&rows, tracks, run, time.columns + 1);
      rest.Add(Solver(equations).Rest(equations, equations.columns()), 1);
    });
    freedom = std::max(rest.rows(), 1.0);
    for (uint32_t t = 0; t < tracks.size(); ++t) {
      const double unexplained = rest.Unexplained(t, {});
      if (shift.start_ns == 0 && shift.end_ns == 0) without[t] = unexplained;
      if (least[t] > 0 && unexplained >= least[t]) continue;
      least[t] = unexplained;
      edges[t].shift = shift;
    }
  };
  for (int64_t start_ns = -kMostShiftNs; start_ns <= kMostShiftNs; start_ns += kShiftStepNs) {
    for (int64_t end_ns = -kMostShiftNs; end_ns <= kMostShiftNs; end_ns += kShiftStepNs) look_at({start_ns, end_ns});
  }
  for (std::size_t t = 0; t < tracks.size(); ++t) {
    edges[t].is_seen =
        tracks[t].together == Together::kAddUp && without[t] - least[t] > kClearlyWorse * least[t] / freedom;
    if (!edges[t].is_seen) edges[t].shift = {};
  }
  return edges;
}

RateFit::RateFit(const RatedTime& time, const RateTrack& track, const SeenEdges& edges)
    : columns_(time.columns),
      groups_(time.columns + 1),
      group_(groups_),
      shift_(edges.shift),
      prior_ns_(edges.is_seen ? kSeenShiftNs : kUnseenShiftNs) {
  std::iota(group_.begin(), group_.end(), 0u);
  const std::size_t count = track.samples.size();
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::erase_if(all, [&](std::size_t i) { return IsLeftOut(time, i); });
  if (all.size() < kFewestBlocks * kFewestSamplesOfBlock) return;
  WorkInSamples rows(time.work, shift_, track.together, columns_);
  const NormalEquations plain = EquationsOf(&rows, {&track, 1}, all, columns_ + 1);
  const std::vector<double> rates = Solver(plain).SolveNonNegative(plain, 0, plain.columns());
  LearnEdges(time, track, rates);
  Merge(BlocksOf(time, track, shift_, rates));
}

// Moves the shift to where it fits best, and says how far from there it may be.
void RateFit::LearnEdges(const RatedTime& time, const RateTrack& track, std::span<const double> rates) {
  constexpr int kRounds = 3;
  constexpr double kMostNs = 2000;
  const EdgeRuns runs = FindRuns(time, track.samples.size());
  const std::vector<RatedWork> work = WorkOf(time.work, track.samples, runs.samples);
  const RatedTime seen{work, time.columns, {}};
  const double before_ns = prior_ns_;
  for (int round = 0; round < kRounds; ++round) {
    NormalEquations rest(kEdgeColumns, 1);
    EdgedRows rows(seen, track, shift_, rates);
    ForEachRun(runs, [&](std::span<const std::size_t> run) {
      NormalEquations equations(time.columns + 1 + kEdgeColumns, 1);
      for (const std::size_t i : run) {
        rows.GoTo(TimeOf(track.samples[i]));
        const double value = track.unit * static_cast<double>(track.samples[i].value);
        equations.AddRow(rows.row(), {&value, 1});
      }
      rest.Add(Solver(equations).Rest(equations, time.columns + 1), 1);
    });
    const double noise = NoiseOf(rest, Solver(rest).Solve(rest.Moments(0)));
    // What was known before holds for the shift as a whole, not for what is left of it.
    const bool is_seen = before_ns == kSeenShiftNs;
    AddEdgePriors(is_seen ? 0 : -static_cast<double>(shift_.start_ns),
                  is_seen ? 0 : -static_cast<double>(shift_.end_ns), noise / (before_ns * before_ns), &rest);
    const std::vector<double> moved_ns = Solver(rest).Solve(rest.Moments(0));
    const auto moved = [&](int64_t at_ns, double by_ns) {
      return static_cast<int64_t>(std::clamp(static_cast<double>(at_ns) + by_ns, -kMostNs, kMostNs));
    };
    shift_ = {moved(shift_.start_ns, moved_ns[0]), moved(shift_.end_ns, moved_ns[1])};
    const std::vector<double> inverse = Solver(rest).Inverse();
    prior_ns_ = kEdgeDoubt * std::sqrt(noise * std::max(inverse[0], inverse[3]));
  }
  prior_ns_ = std::clamp(prior_ns_, kLeastShiftNs, before_ns);
}

// Clocks change what all work does at a time, in proportion: each block has a pace, by which the shares of its rows are
// scaled. Values are those of the mean pace that their columns met.
std::vector<double> RateFit::TakePaces(std::vector<NormalEquations>* blocks) {
  constexpr int kRounds = 3;
  // A block in which hardly anything happened says nothing of a pace.
  constexpr double kSlowest = 0.2, kFastest = 5, kLeastOfMean = 0.1;
  std::vector<double> paces(blocks->size(), 1);
  for (int round = 0; round < kRounds; ++round) {
    NormalEquations total = SumOf(*blocks);
    SetEdges(0, 0, &total);
    const std::vector<double> x = Solver(total).Solve(total.Moments(0));
    const double least = kLeastOfMean * total.Explained(0, x).itself / static_cast<double>(blocks->size());
    double weights = 0, sum = 0, squares = 0;
    for (std::size_t i = 0; i < blocks->size(); ++i) {
      const auto [measured, itself] = (*blocks)[i].Explained(0, x);
      if (itself <= least) continue;
      const double pace = std::clamp(measured / itself, kSlowest, kFastest);
      (*blocks)[i].ScaleShares(pace);
      paces[i] *= pace;
      weights += itself, sum += itself * paces[i], squares += itself * paces[i] * paces[i];
    }
    if (weights > 0) pace_spread_ = std::sqrt(std::max(squares / weights - sum / weights * sum / weights, 0.0));
  }
  return paces;
}

// Until no two groups are left that only their sum is known of.
void RateFit::Merge(std::vector<NormalEquations> merged) {
  constexpr int kMostRounds = 4;
  const std::vector<double> paces = TakePaces(&merged);
  for (int round = 0; round < kMostRounds; ++round) {
    NormalEquations total = SumOf(merged);
    SetEdges(0, 0, &total);
    paces_.assign(groups_, 1);
    for (uint32_t group = 0; group < groups_; ++group) {
      double sum = 0;
      for (std::size_t i = 0; i < merged.size(); ++i) sum += paces[i] * merged[i].Time(group);
      if (total.Time(group) > 0) paces_[group] = sum / total.Time(group);
    }
    Resample(merged, total);
    const std::vector<double> inverse = Solver(total).Inverse();
    const uint32_t size = total.columns();
    const auto at = [&](uint32_t a, uint32_t b) { return inverse[std::size_t{a} * size + b]; };
    std::vector<uint32_t> next(size, kNone);
    bool has_merged = false;
    const auto is_confounded = [&](uint32_t group) {
      return IsWide(group) && at(group, group) * total.Product(group, group) >= kConfounded;
    };
    for (uint32_t a = 0; a < groups_; ++a) {
      if (next[a] != kNone || !is_confounded(a)) continue;
      uint32_t partner = kNone;
      double lowest = kTogether;
      for (uint32_t b = 0; b < groups_; ++b) {
        if (b == a || next[b] != kNone || !is_confounded(b)) continue;
        const double together = at(a, b) / std::sqrt(at(a, a) * at(b, b));
        if (together < lowest) lowest = together, partner = b;
      }
      if (partner == kNone) continue;
      next[a] = a, next[partner] = a;
      has_merged = true;
    }
    if (!has_merged) return;
    // Numbers without holes; those of the edges stay behind all others.
    std::vector<uint32_t> number(size, kNone);
    uint32_t count = 0;
    for (uint32_t i = 0; i < size; ++i) {
      const uint32_t first = next[i] == kNone ? i : next[i];
      if (number[first] == kNone) number[first] = count++;
      next[i] = number[first];
    }
    for (NormalEquations& block : merged) block = block.Merged(next, count);
    for (uint32_t& group : group_) group = next[group];
    groups_ = count - kEdgeColumns;
  }
}

void RateFit::Resample(std::span<const NormalEquations> blocks, const NormalEquations& total) {
  values_ = Solver(total).SolveNonNegative(total, 0, groups_);
  corrections_ = Solver(total).Solve(total.ShareNoise(values_));
  for (uint32_t group = 0; group < groups_; ++group) {
    corrections_[group] =
        std::clamp(corrections_[group], -kMostCorrection * values_[group], kMostCorrection * values_[group]);
    values_[group] = (values_[group] + corrections_[group]) * paces_[group];
    corrections_[group] *= paces_[group];
  }
  values_.resize(groups_);
  scale_ = *std::ranges::max_element(values_);
  blocks_of_.assign(groups_, 0);
  for (uint32_t group = 0; group < groups_; ++group) {
    double sum = 0, squares = 0;
    for (const NormalEquations& block : blocks) {
      const double own = block.Product(group, group);
      sum += own;
      squares += own * own;
    }
    if (squares > 0) blocks_of_[group] = sum * sum / squares;
  }
  SeededRandom random;
  samples_.clear();
  samples_.reserve(std::size_t{kReplicates} * groups_);
  for (int i = 0; i < kReplicates; ++i) {
    // Weights that are never 0 keep what ran in few blocks solvable.
    NormalEquations sum(total.columns(), 1);
    for (const NormalEquations& block : blocks) sum.Add(block, random.Exponential());
    const double start_ns = prior_ns_ * random.Normal();
    SetEdges(start_ns, prior_ns_ * random.Normal(), &sum);
    const std::vector<double> solved = Solver(sum).Solve(sum.Moments(0));
    for (uint32_t group = 0; group < groups_; ++group) samples_.push_back(solved[group] * paces_[group]);
  }
}

std::optional<Estimate> RateFit::Roughly(std::span<const ColumnShare> mix) const {
  double weights = 0, value = 0, correction = 0, blocks = kMostBlocks;
  for (const ColumnShare& part : mix) {
    weights += part.share;
    value += part.share * values_[group_[part.column]];
    correction += part.share * corrections_[group_[part.column]];
    blocks = std::min(blocks, blocks_of_[group_[part.column]]);
  }
  if (weights <= 0 || blocks < kFewestBlocksOfGroup) return std::nullopt;
  double sum = 0, squares = 0;
  for (int i = 0; i < kReplicates; ++i) {
    double one = 0;
    for (const ColumnShare& part : mix)
      one += part.share * samples_[static_cast<std::size_t>(i) * groups_ + group_[part.column]];
    sum += one / weights;
    squares += one / weights * one / weights;
  }
  const double mean = sum / kReplicates;
  const double variance = std::max(squares / kReplicates - mean * mean, 0.0) * blocks / (blocks - 1);
  value /= weights;
  const double half = std::hypot(StudentLimit(blocks - 1) * std::sqrt(variance), kDoubt * correction / weights,
                                 kPaceDoubt * pace_spread_ * value);
  return Estimate{value, std::max(value - half, 0.0), value + half};
}

std::optional<Estimate> RateFit::Of(std::span<const ColumnShare> mix) const {
  std::optional<Estimate> found;
  if (!samples_.empty()) found = Roughly(mix);
  if (found && IsTooWide(*found, scale_)) found.reset();
  return found;
}

bool RateFit::IsWide(uint32_t group) const {
  const auto column = static_cast<uint32_t>(std::ranges::find(group_, group) - group_.begin());
  const ColumnShare alone{column, 1};
  const std::optional<Estimate> found = Roughly({&alone, 1});
  return !found || IsTooWide(*found, scale_);
}

}  // namespace gprof
