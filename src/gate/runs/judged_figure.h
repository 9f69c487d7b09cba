// The figure of a run that a search or a trial judges it by.
#pragma once

#include <optional>
#include <string>

#include "gate/runs/measurement.h"

namespace gprof {

struct JudgedFigure {
  std::string name;   // for people: "step time", or the id of a metric, with its scope where it has one
  std::string id;     // of a metric; empty: a time, as comparisons choose it
  std::string scope;  // of the metric
  Unit unit = Unit::kNs;
  Better better = Better::kLower;
  bool is_deterministic = false;
};

// The time of a step where the run has steps, else of the GPU, else the wall time.
JudgedFigure FigureOf(const Measurement& run);

// "gpu.idle_ns", "kernels.total_ns@gpu0". Throws Error for what is no metric.
JudgedFigure FigureOfMetric(const std::string& text);

// Nothing: the run does not have it, which is not 0.
std::optional<double> ValueOf(const Measurement& run, const JudgedFigure& figure);

}  // namespace gprof
