// The energy of a GPU, by what it did: the integral of its power, which is sampled some ten times a second, so that
// what is shorter than that shares a sample with others. How wrong that can be is told with the figures.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/topics/tracks/sampled_states.h"
#include "gprof/analysis.h"

namespace gprof {

// The power of a GPU over time. A sample stands for the time since the one before: that is what the GPU had measured
// when it was read.
class PowerCurve {
 public:
  // None without samples of power of the device.
  static std::optional<PowerCurve> Of(const Trace& trace, uint32_t device);

  struct Piece {
    int64_t start_ns = 0, end_ns = 0;
    double watts = 0;
    double joules_before = 0;  // of the pieces before this one
  };
  std::span<const Piece> pieces() const { return pieces_; }
  double JoulesWithin(const Interval& time) const;
  int64_t CoveredNs(const Interval& time) const;
  double least_watts() const { return least_watts_; }
  double most_watts() const { return most_watts_; }
  // The counter of energy that the GPU has says this many times as much as the samples of power: they were scaled by
  // it. 1 where there is none, or it was not read for long enough.
  double scale() const { return scale_; }
  bool is_scaled() const { return is_scaled_; }

 private:
  double JoulesUntil(int64_t time_ns) const;
  void ScaleTo(const Trace& trace, uint32_t energy_source);

  std::vector<Piece> pieces_;
  double least_watts_ = 0, most_watts_ = 0, scale_ = 1;
  bool is_scaled_ = false;
};

// Energy of one of several states.
struct StateEnergy {
  int64_t time_ns = 0;  // that the power is known of
  double joules = 0;
  double uncertainty = 0;  // it is not more than this away, as far as the samples show the power
  bool is_solved = false;  // by regression, not by shares of samples
};

// Of each state within `window`, and of no state at last. `intervals` come by start and may overlap: then they share.
std::vector<StateEnergy> EnergyOfStates(const PowerCurve& power, const Interval& window,
                                        std::span<const StateInterval> intervals, uint32_t state_count);

// Of a time: what it shares of the first and the last sample makes it uncertain.
StateEnergy EnergyWithin(const PowerCurve& power, const Interval& time);

struct StepChoice;

// Tables gpu_energy and gpu_energy_ranges, and the metrics of energy.
void AddEnergy(const AnalysisInput& input, const StepChoice* step, uint32_t max_rows, AnalysisResult* result);

}  // namespace gprof
