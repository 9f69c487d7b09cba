// Which hardware counters of which GPUs a run samples, said when it starts.
#pragma once

#include <string>

#include "collect/run/collector_options.h"

namespace gprof::cli {

// "sampling GPU metrics, set default at 1000 Hz: GPU 0 (NVIDIA H200)". `folder`: what the driver says of its GPUs.
std::string SampledGpusText(const GpuMetricsOptions& wanted, const std::string& folder = "/proc/driver/nvidia/gpus");

}  // namespace gprof::cli
