// What a series of noisy runs says of where its figure steps up or down: the probability of each place, of two places,
// and of none.
//
// The logarithm of a figure is level + drift + steps + noise. The drift is a straight line and a random walk over the
// order of the runs; level and drift are known by all runs together, so that no run is spent on them alone. A step has
// no size near zero (a "moment" prior): what is smaller than what counts is no step. Level, drift and steps are
// integrated out; the noise, the drift's pace and the usual size of steps are averaged over a grid.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gprof {

struct StepRun {
  std::size_t place = 0;  // among the versions that can be run
  double y = 0;
};

struct StepRules {
  double min_step = 0.02;
  // [place]: how many versions a step there stands for, as those that cannot be run have no place. [0] is unused.
  std::vector<double> weights;
};

struct StepEstimate {
  double mean = 0, variance = 0;
};

// Places that no run has told apart: a step is at one of (from, to], both of which were run.
struct StepSpan {
  std::size_t from = 0, to = 0;
  double weight = 0;
};

struct StepExplanation {
  std::size_t count = 0;  // of steps, at most two
  std::array<std::size_t, 2> spans{};
  std::array<StepEstimate, 2> steps{};
  double probability = 0;
};

// The likeliest single answer.
struct StepAnswer {
  std::size_t count = 0;
  std::array<std::size_t, 2> places{};
  std::array<StepEstimate, 2> steps{};
  double probability = 0;
};

struct StepPosterior {
  double none = 1;
  std::vector<double> any;  // [place]: a step there, with or without another
  std::vector<StepSpan> spans;
  std::vector<StepExplanation> explanations;
  StepAnswer answer;
  double noise = 0;  // the likeliest
  // Of the level that the next run starts from, how much has the step of each span.
  std::vector<double> share_beyond;
  double next_variance = 1;
};

// `runs` are in the order in which they were made.
StepPosterior JudgeSteps(std::span<const StepRun> runs, const StepRules& rules);

// How much a run at `place` is expected to tell of where the steps are, in nats.
double InformationAt(std::size_t place, const StepPosterior& posterior, const StepRules& rules);

}  // namespace gprof
