// Runs made by hand for the tests of gates.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gate/runs/measurement.h"

namespace gprof {

struct NamedValue {
  std::string_view id;
  double value;
  std::string scope{};
};

inline Measurement RunOf(const std::vector<NamedValue>& values, const std::string& source = "run.trace") {
  Measurement run;
  run.source = source;
  run.fingerprint.gpus = {"NVIDIA H200"};
  run.fingerprint.driver_version = "13.0";
  for (const NamedValue& value : values) run.metrics.push_back({FindMetric(value.id)->id, value.scope, value.value});
  return run;
}

// A run for each value of one figure.
inline RunSet Runs(std::string_view id, const std::vector<double>& values) {
  RunSet set;
  set.name = "runs";
  for (const double value : values) {
    set.runs.push_back(RunOf({{id, value}}, "run" + std::to_string(set.runs.size() + 1) + ".trace"));
  }
  return set;
}

inline RunSet SetOf(std::vector<Measurement> runs) {
  RunSet set;
  set.name = "runs";
  set.runs = std::move(runs);
  return set;
}

}  // namespace gprof
