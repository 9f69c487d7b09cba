#include "series.h"

#include <cmath>
#include <numbers>

namespace gprof {
namespace {

double Disturbance(Noise noise, Random* random) {
  switch (noise) {
    case Noise::kLogNormal:
      return std::exp(random->Normal()) / 2.16 - 0.76;  // mean 0, deviation 1
    case Noise::kHeavyTails: {
      const double numerator = random->Normal(), a = random->Normal(), b = random->Normal();
      return numerator / std::sqrt((a * a + b * b) / 2);
    }
    case Noise::kClockStates:
      return (random->Uniform() < 0.5 ? 0 : 3) + 0.3 * random->Normal();
    case Noise::kQuantized:
      return std::round(random->Normal());
    case Noise::kNormal:
    case Noise::kOutliers:
    case Noise::kDrift:
      break;
  }
  return random->Normal();
}

}  // namespace

std::string_view NameOf(Noise noise) {
  switch (noise) {
    case Noise::kNormal:
      return "normal";
    case Noise::kLogNormal:
      return "log-normal";
    case Noise::kOutliers:
      return "outliers";
    case Noise::kHeavyTails:
      return "heavy tails";
    case Noise::kClockStates:
      return "clock states";
    case Noise::kQuantized:
      return "many ties";
    case Noise::kDrift:
      break;
  }
  return "drift";
}

// SplitMix64.
double Random::Uniform() {
  uint64_t mixed = (state_ += 0x9e3779b97f4a7c15u);
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return (static_cast<double>((mixed ^ (mixed >> 31)) >> 11) + 0.5) * 0x1p-53;
}

double Random::Normal() {
  const double radius = std::sqrt(-2 * std::log(Uniform()));
  return radius * std::cos(2 * std::numbers::pi * Uniform());
}

Sets Draw(const Experiment& experiment, Random* random) {
  Sets sets;
  const auto run = [&](uint32_t position, bool is_new) {
    double value = 1 + experiment.spread * Disturbance(experiment.noise, random);
    if (experiment.noise == Noise::kOutliers && random->Uniform() < 0.05) value += 0.5 * random->Uniform();
    if (experiment.noise == Noise::kDrift) value += 5 * experiment.spread * position / (2 * experiment.runs - 1);
    (is_new ? sets.now : sets.base).push_back(value * (is_new ? 1 + experiment.effect : 1));
  };
  for (uint32_t i = 0; i < experiment.runs; ++i) {
    const bool new_first = i % 2 == 1;
    run(2 * i, new_first);
    run(2 * i + 1, !new_first);
  }
  return sets;
}

Rates Repeat(const Experiment& experiment, uint32_t trials, uint64_t seed) {
  Random random(seed);
  Rates rates;
  for (rates.trials = 0; rates.trials < trials; ++rates.trials) {
    const Sets sets = Draw(experiment, &random);
    const SampleComparison result = experiment.is_paired ? ComparePairs(sets.base, sets.now, experiment.rules)
                                                         : CompareSamples(sets.base, sets.now, experiment.rules);
    rates.same += result.change == Change::kSame;
    rates.regressed += result.change == Change::kRegressed;
    rates.improved += result.change == Change::kImproved;
    rates.inconclusive += result.change == Change::kInconclusive;
  }
  return rates;
}

}  // namespace gprof
