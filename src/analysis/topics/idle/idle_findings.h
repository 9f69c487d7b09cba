// What idle time says to the reader: the main causes, and synchronisation that drains the GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/causes/host_gaps.h"
#include "analysis/topics/idle/idle_summary.h"
#include "gprof/analysis.h"

namespace gprof {

// Idle time of all devices in the steady time (judged_time.h).
struct SteadyIdle {
  std::string step;  // see SteadyTime
  size_t iterations = 0;
  Interval time;
  int64_t window_ns = 0;
  CauseSplit split;
  // What came before: idle time, and copies while no kernel ran.
  CauseSplit before;
  int64_t copied_before_ns = 0;
};

// `steady` is nullptr where nothing is known to come once. Where it is, idle time is judged in it.
std::vector<Finding> IdleFindings(const AnalysisInput& input, const IdleSummary& summary, const HostGaps& host,
                                  const SteadyIdle* steady);

// main_function.cpp: the function in which the host was while the GPU was idle, as evidence of findings.

// The CPU samples of the idle time that a finding is about.
struct IdleSamples {
  std::vector<uint32_t> samples;  // see HostGaps::samples
  std::vector<FunctionSamples> functions;
  bool HasEnough() const { return samples.size() >= kSamplesToNameAFunction; }
};
// Within any of the `times`, and in none of those `without`.
IdleSamples SamplesOf(const Trace& trace, const HostGaps& host, const std::vector<Interval>& times,
                      const std::vector<Interval>& without = {});

// "71% of 471 CPU samples in Draw (program)": the function that most were taken in, or that they are too few to say.
void AddMainFunction(const AnalysisInput& input, const HostGaps& host, const IdleSamples& sampled, Finding* finding);

// Most of them were taken within PyTorch's DataLoader, in the process that launches: it has no workers.
bool LoadsData(const Trace& trace, const IdleSamples& sampled);

// Then: the workers would share the time that loading takes, and have the rest of the time for it.
std::string LoaderAdvice(const Trace& trace, int64_t loading_ns, int64_t window_ns);

// Most of them were taken where the process starts others.
bool StartsProcesses(const IdleSamples& sampled);

// Other tools may have only some of the operations of a graph: between those the GPU may have worked. Empty where that
// is not so.
std::string GraphsRecordedInPart(const Trace& trace);

}  // namespace gprof
