// Simulated series of runs: what the noise of real programs looks like, from a generator of our own, as the results of
// the standard library's distributions differ from one library to the next.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "gate/statistics/samples.h"

namespace gprof {

enum class Noise : uint8_t {
  kNormal,
  kLogNormal,    // skewed: slow runs are further away than fast ones
  kOutliers,     // one run in 20 is disturbed and takes up to 50 % longer
  kHeavyTails,   // Student's t with 2 degrees of freedom: no variance at all
  kClockStates,  // half of the runs at a lower clock, three spreads slower
  kQuantized,    // whole steps of one spread: many ties
  kDrift,        // normal, and the machine gets slower by five spreads in the course of the experiment
};
inline constexpr Noise kAllNoises[] = {Noise::kNormal,      Noise::kLogNormal, Noise::kOutliers, Noise::kHeavyTails,
                                       Noise::kClockStates, Noise::kQuantized, Noise::kDrift};

std::string_view NameOf(Noise noise);

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  double Uniform();  // 0 < x < 1
  double Normal();

 private:
  uint64_t state_;
};

// An experiment: `runs` of each program, the new one `effect` slower, noise of `spread` (both as a share of 1). Runs
// alternate (base new, new base, …), which only matters where there is drift.
struct Experiment {
  Noise noise = Noise::kNormal;
  uint32_t runs = 5;
  double spread = 0.02;
  double effect = 0;
  bool is_paired = false;
  SampleRules rules{};
};

struct Sets {
  std::vector<double> base, now;
};
Sets Draw(const Experiment& experiment, Random* random);

struct Rates {
  uint32_t trials = 0, same = 0, regressed = 0, improved = 0, inconclusive = 0;
  double Percent(uint32_t count) const { return 100.0 * count / trials; }
  double changed() const { return Percent(regressed + improved); }
};
Rates Repeat(const Experiment& experiment, uint32_t trials, uint64_t seed);

}  // namespace gprof
