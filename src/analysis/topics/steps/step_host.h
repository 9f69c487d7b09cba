// Which lines and functions the host was in while the GPU was idle, in usual steps and in slow ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/causes/step_times.h"
#include "gprof/analysis.h"

namespace gprof {

class StepHost {
 public:
  StepHost(const AnalysisInput& input, const StepChoice& choice, const StepTimes& times);

  // Without rows where nothing was sampled there.
  Table MakeTable(uint32_t max_rows) const;
  // Where slow steps have most of the time that they have more: "train.py:12 (load), 3.20 ms more than in others".
  // Empty where there are too few samples to say, or it is less than `least_ns`.
  std::string MostOfSlow(double least_ns) const;

 private:
  struct HostPlace {
    std::string name;
    int64_t samples = 0, slow_samples = 0;
    int64_t usual_ns = 0, slow_ns = 0;
  };
  double UsualNs(const HostPlace& place) const;
  double ExtraNs(const HostPlace& place) const;

  std::vector<HostPlace> places_;  // the most extra time in slow steps first, then the most time
  int64_t usual_ = 0, slow_ = 0;   // steps
};

}  // namespace gprof
