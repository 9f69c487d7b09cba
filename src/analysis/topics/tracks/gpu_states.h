// What a GPU did while it was sampled, and what was sampled of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/rates/device_counters.h"
#include "analysis/result/idle_causes.h"
#include "analysis/topics/tracks/sampled_states.h"
#include "gprof/analysis.h"

namespace gprof {

// Busy, or idle for one of the causes.
inline constexpr uint32_t kBusyState = 0, kDeviceStates = 1 + static_cast<uint32_t>(kCauseCount);

// "busy", "idle: host"
std::string StateName(uint32_t state);

// From its first operation to the end of its last.
std::optional<Interval> GpuWindow(const AnalysisInput& input, uint32_t device);
// The window of a device without a hole: what is not idle is busy.
std::vector<StateInterval> DeviceStates(const AnalysisInput& input, uint32_t device, const Interval& window);

// Kernels of the device with the time that they took, the longest first.
struct LongKernel {
  uint32_t group = kNone;
  int64_t time_ns = 0;
};
std::vector<LongKernel> LongestKernels(const AnalysisInput& input, uint32_t device);

// The kernels that took the most time of the device, and a state for all other work.
struct KernelStates {
  std::vector<uint32_t> groups;  // of each state but the last
  std::vector<StateInterval> intervals;
  uint32_t size() const { return static_cast<uint32_t>(groups.size()) + 1; }
};
KernelStates StatesOfKernels(const AnalysisInput& input, uint32_t device);

// What ran at the same time: kernels on one stream, on two, ... up to kMostKernelStreams or more, with copies and fills
// beside them or without; copies alone.
inline constexpr uint32_t kMostKernelStreams = 4, kStreamPhases = 2 * (kMostKernelStreams + 1);
// "1 stream", "2 streams + copies", "4+ streams", "copies only"
std::string StreamPhaseName(uint32_t phase);
std::vector<StateInterval> StreamPhases(const AnalysisInput& input, uint32_t device);

// For the NVTX paths that took the most time of the device, each of their ranges: from the start of the first operation
// that was launched in it to the end of the last.
struct RangeOnGpu {
  NameId path;
  std::vector<StateInterval> intervals;  // all of state 0
};
std::vector<RangeOnGpu> RangesOnGpu(const AnalysisInput& input, uint32_t device);

// Where a counter stands among others: the most telling have the first places, and all that are not known the last.
std::size_t PlaceOfCounter(std::string_view name);

// Samples that begin in the time; those of a source come by start.
std::span<const MetricSample> SamplesWithin(std::span<const MetricSample> samples, const Interval& time);

// How much a sum that only grows has grown in the time, by linear interpolation, in the unit of the source. None where
// there are fewer than two samples, or they do not reach into it. What is restarted grows from 0.
std::optional<double> GrowthWithin(const Trace& trace, uint32_t source, const Interval& time);

// gpu_state_findings.cpp: what samples of a GPU say beside their means: clocks that were held down, kernels that wait
// while they occupy the GPU, memory at its limit, PCIe traffic of nobody known, processes of others.

// Metric gpu.throttled_ns, and the findings.
void AddGpuStateFindings(const AnalysisInput& input, AnalysisResult* result);

}  // namespace gprof
