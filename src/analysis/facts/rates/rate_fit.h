// How much of something that was sampled each kind of work does while it runs: a sample is the sum, over all that ran
// in it, of time × rate. Solved for the rates by least squares over all samples, none below zero.
//
// Intervals hold the truth in 95 of 100 cases: by a bootstrap over blocks of time, as what happens next to each other
// is alike. The times at which counters see work begin and end are unknowns as well, so that their error counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/facts/rates/normal_equations.h"
#include "analysis/facts/rates/work_in_samples.h"
#include "gprof/trace.h"

namespace gprof {

struct Estimate {
  double value = 0, low = 0, high = 0;
};

// Samples of one counter: means over their times, which come in order.
struct RateTrack {
  std::span<const MetricSample> samples;
  double unit = 1;  // of a stored value
  Together together = Together::kAddUp;
};

// What ran, by column from 0 on. `is_left_out`, by sample: what ran in it was not recorded; empty: none is.
struct RatedTime {
  std::span<const RatedWork> work;
  uint32_t columns = 0;
  std::span<const uint8_t> is_left_out;
};

// When the counters see edges, as far as the samples show it: the best of some shifts.
struct SeenEdges {
  EdgeShift shift;
  bool is_seen = false;  // no shift at all explains the samples clearly worse
};
// Of tracks with the same times.
std::vector<SeenEdges> FindEdges(const RatedTime& time, std::span<const RateTrack> tracks);

class RateFit {
 public:
  RateFit(const RatedTime& time, const RateTrack& track, const SeenEdges& edges);

  // The mean over columns, by the time that each of them has. None where the samples do not tell.
  std::optional<Estimate> Of(std::span<const ColumnShare> mix) const;
  std::optional<Estimate> Of(uint32_t column) const {
    const ColumnShare alone{column, 1};
    return Of({&alone, 1});
  }
  // Columns that always ran together have one rate. What is alone has a group of its own.
  uint32_t GroupOf(uint32_t column) const { return group_[column]; }
  uint32_t idle() const { return columns_; }
  EdgeShift shift() const { return shift_; }

 private:
  void LearnEdges(const RatedTime& time, const RateTrack& track, std::span<const double> rates);
  std::vector<double> TakePaces(std::vector<NormalEquations>* blocks);
  void Merge(std::vector<NormalEquations> merged);
  void Resample(std::span<const NormalEquations> blocks, const NormalEquations& total);
  std::optional<Estimate> Roughly(std::span<const ColumnShare> mix) const;
  bool IsWide(uint32_t group) const;

  uint32_t columns_ = 0, groups_ = 0;
  std::vector<uint32_t> group_;      // by column, and of idle at last
  std::vector<double> values_;       // by group
  std::vector<double> paces_;        // by group: of the time that it ran in
  std::vector<double> corrections_;  // by group: what errors of edges had taken from them, which is in them
  std::vector<double> blocks_of_;    // by group: over how many blocks of time it is spread
  std::vector<double> samples_;      // replicate by replicate, the values of all groups
  double scale_ = 0;                 // the largest value of any of them
  EdgeShift shift_;
  double prior_ns_ = 0, pace_spread_ = 0;
};

}  // namespace gprof
