// The program's progress, by which delays are judged: its steps, or where it has none the launches of one kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/facts/time/recorded_time.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

struct ProgramProgress {
  uint32_t process = kNone;
  std::string name;  // "step", or the kernel
  NameId step;       // the name of the range; empty where it is a kernel
  bool is_kernel = false;
  // In order. A unit is done when the last operation that was launched in it has ended; where units launch nothing,
  // when the next begins.
  std::vector<int64_t> begin_ns, done_ns;

  size_t size() const { return begin_ns.size(); }
  // Of all but the first, on average.
  double MeanNs() const;
  Interval window() const { return {begin_ns.front(), begin_ns.back()}; }
};

// `wanted`: the name or path of an NVTX range, empty to look for one. Nothing where nothing repeats often enough.
std::optional<ProgramProgress> FindProgress(const AnalysisInput& input, const std::string& wanted);

}  // namespace gprof
