// Tests and estimates that use only the order of the samples, so that they hold for any shape of noise: Mann–Whitney
// and Wilcoxon's signed ranks, each with the shift that belongs to it (Hodges–Lehmann) and its interval.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace gprof {

struct RankTest {
  double p_value = 1;         // two-sided
  double effect = 0.5;        // how often the second sample is the larger one, ties half
  bool is_separated = false;  // no value of one set reaches into the other; of pairs: all differ in one direction
  bool is_exact = true;       // else the normal approximation, with a correction for ties
};

// Mann–Whitney: exact for 50 values in all; where there are ties, only if one set has no more than 10.
RankTest RankSumTest(std::span<const double> base, std::span<const double> now);

// Wilcoxon's signed ranks of differences new - base, zeros as Pratt has them: exact for 50 pairs, ties or not.
RankTest SignedRankTest(std::span<const double> differences);

struct ShiftInterval {
  double low = 0, high = 0;
  double risk = 0.5;  // that the true value lies below `low`; the same for above `high`
};

// How far the second set lies from the first: the differences that a shift can be told by, and how much each weighs.
class Shift {
 public:
  static Shift OfSets(std::span<const double> base, std::span<const double> now);  // neither is empty
  static Shift OfPairs(std::span<const double> differences);                       // not empty

  double Estimate() const;  // Hodges–Lehmann
  // The narrowest interval whose risk is at most `risk`; of too few values for that, the widest, with its own risk.
  ShiftInterval IntervalAt(double risk) const;

 private:
  Shift(std::vector<double> candidates, std::vector<double> null_weights);

  std::vector<double> candidates_;  // sorted
  std::vector<double> below_;       // [k]: probability that at most k candidates lie below the true shift
};

// How much neighbours in a series differ, by rank (von Neumann's ratio): about 2 in random order, near 0 under a drift.
double Roughness(std::span<const double> series);

// The median; `values` is not empty.
double MedianOf(std::span<const double> values);

// P(Z > z) of the standard normal distribution, and the z at which it is `p`.
double NormalTail(double z);
double NormalTailPoint(double p);

}  // namespace gprof
