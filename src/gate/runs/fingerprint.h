// Where and with what runs were made, and whether times of two of them can be compared.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gate/runs/measurement.h"

namespace gprof {

Fingerprint FingerprintOf(const TraceHead& trace, const std::vector<uint32_t>& used_devices);

// The first that has something to say about a fact says it: the processes of one run were started by one launcher.
void SetIfEmpty(std::string* fact, std::string text);

// What makes times incomparable, "GPU: NVIDIA H100 instead of NVIDIA H200": GPUs, driver, CUDA, CUPTI, clocks, tracer,
// what was recorded. A fact that one of the two does not have is no difference.
std::vector<std::string> TimingDifferences(const Fingerprint& base, const Fingerprint& now);

// What differs and may be meant to: host and program.
std::vector<std::string> OtherDifferences(const Fingerprint& base, const Fingerprint& now);

// What was sampled of the GPUs and makes times worth less: SM clocks whose medians are more than 5 % apart, other
// processes on the GPU on one side alone. Empty where there are no samples.
std::vector<std::string> StateDifferences(std::span<const Measurement> base, std::span<const Measurement> now);

// A difference between the first run of the set and another of them that makes their times incomparable; empty: none.
std::string MixedRuns(const RunSet& set);

}  // namespace gprof
