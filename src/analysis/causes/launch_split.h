// What idle time with the cause `launch` consists of: three things, of which each asks for something else. And how long
// the host's own code kept the GPU waiting before kernels that ran for the first time, as compilers do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/causes/gaps/host_walk.h"
#include "analysis/facts/calls/code_loads.h"
#include "analysis/facts/gaps/gaps.h"
#include "gprof/analysis.h"

namespace gprof {

// Kernels, and graphs recorded as a whole, that had not run before.
class FirstKernels {
 public:
  explicit FirstKernels(const AnalysisInput& input);
  bool Has(uint32_t op) const { return std::ranges::binary_search(ops_, op); }
  // A gap long enough for a compiler, after which such a kernel ran at once or soon.
  bool AreAfter(const Gap& gap) const;
  // The end of the last call in the gap that handed code to the driver, where such a kernel ran at once or soon after
  // it or the host took so long before that it compiled the code: the kernels that a library compiles often have one
  // name. Or the end of a compiler's own range. Else the start of the gap. What the host did until then was for that
  // code: compiling it, or setting up its library.
  int64_t LoadedNs(const Gap& gap, std::span<const Part> parts) const;
  // The gap, and what came until such a kernel ran soon after it: buffers are made before its code is loaded.
  Interval UntilFirst(const Gap& gap) const;

 private:
  bool RunAfter(const Gap& gap) const { return FirstAfter(gap) != kNone; }
  uint32_t FirstAfter(const Gap& gap) const;

  const AnalysisInput& input_;
  const CodeLoads& loads_;
  const CompilerRanges compilers_;
  std::vector<uint32_t> ops_;  // sorted
};

constexpr int64_t kFirstLaunchesOfAPattern =
    3;  // fewer such gaps may be anything that a program does before its next part

// The host's own code, its waits in the operating system and its loading of code, in some gaps.
struct Preparation {
  int64_t host_ns = 0, os_ns = 0, load_ns = 0, gaps = 0;
  int64_t OwnNs() const { return host_ns + os_ns; }
  void Add(const Preparation& other) {
    host_ns += other.host_ns, os_ns += other.os_ns, load_ns += other.load_ns, gaps += other.gaps;
  }
};

struct LaunchSplit {
  int64_t first_ns = 0;         // in long calls that launched their kernel for the first time: its code was loaded
  int64_t firsts = 0;           // such calls
  int64_t call_ns = 0;          // in other launch calls
  int64_t after_ns = 0;         // after the launch call had returned
  int64_t late_ns = 0;          // part of that: where it is more than the latency of a launch
  Preparation before_loading;   // in gaps in which code was loaded or modules imported: until then, or all of it before
                                // such kernels
  Preparation before_firsts;    // in other long gaps before kernels that had not run before
  Preparation without_loading;  // in long gaps in which no code was loaded: it prepared nothing for CUDA
  struct OwnGap {
    Interval time;
    int64_t own_ns = 0;  // of the host's own code
  };
  std::vector<OwnGap> own_gaps;  // those gaps
  // What is known to come of first launches: a few long gaps may be chance, but those before loading are not.
  Preparation OfFirsts() const;
  // With what the launch calls took.
  int64_t FirstsNs() const { return first_ns + OfFirsts().OwnNs() + OfFirsts().load_ns; }
};

// Within that time, of all devices.
LaunchSplit SplitLaunches(const AnalysisInput& input, const Interval& time);

}  // namespace gprof
