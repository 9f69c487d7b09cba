#include <algorithm>

#include "analysis/result/analyses.h"

namespace gprof {
namespace {

#ifdef GPROF_HAVE_CUDA_OCCUPANCY
constexpr std::string_view kOccupancySummary = "how much of the GPU the launches of kernels can use";
#else
constexpr std::string_view kOccupancySummary = "not in this build, which was made without cuda_occupancy.h";
#endif

constexpr Analysis kAnalyses[] = {
    {"devices", "how busy each GPU was", RunDevices},
    {"idle", "why each GPU was idle, every nanosecond with one cause", RunIdle},
    {"launches", "call, queue and run of each kernel; whether the GPU waits for launches", RunLaunches},
    {"kernels", "time on the GPU by kernel", RunKernels},
    {"small_kernels", "kernels by length, and chains of them that repeat", RunSmallKernels},
    {"occupancy", kOccupancySummary, RunOccupancy},
    {"memcpy", "copies by direction and memory, pageable transfers, fills", RunMemcpy},
    {"memory", "memory over time, churn, growth, what was not freed, pools, managed memory", RunMemory},
    {"streams", "streams asked for and used, what really ran at the same time, what kept them apart", RunStreams},
    {"sync", "calls that made the host wait for the GPU", RunSync},
    {"api", "time in CUDA calls by function", RunApi},
    {"api_errors", "calls that returned an error", RunApiErrors},
    {"os_calls", "calls of the operating system that took long; waiting for locks, input and output", RunOsCalls},
    {"threads", "running, preempted and blocked time of threads", RunThreads},
    {"cpu_functions", "CPU samples by function", RunCpuFunctions},
    {"graphs", "launches of CUDA graphs, and what making them took", RunGraphs},
    {"startup", "from the start of a process to its first GPU operation; first launches, compiling", RunStartup},
    {"balance", "several GPUs: how evenly they are busy, which waits while others work", RunBalance},
    {"nccl", "collectives of NCCL: exposed or hidden behind kernels, bandwidth", RunNccl},
    {"critical_path", "what the run waited for from its end back, and what could be won there", RunCriticalPath},
    {"steps", "the iterations of the range that is a step: median, slow ones and why, trend", RunSteps},
    {"nvtx", "the program's own ranges, and the GPU time of what they launched", RunNvtx},
    {"host_load", "CPU, waiting for a CPU and memory of the program, load of the machine", RunHostLoad},
    {"gpu_metrics", "what was sampled of GPUs, while busy and idle, by kernel and step", RunGpuMetrics},
    {"health", "what is missing from the trace", RunHealth},
};

}  // namespace

std::span<const Analysis> AllAnalyses() { return kAnalyses; }

const Analysis* FindAnalysis(std::string_view name) {
  const auto* found = std::find_if(std::begin(kAnalyses), std::end(kAnalyses),
                                   [name](const Analysis& analysis) { return analysis.name == name; });
  return found == std::end(kAnalyses) ? nullptr : found;
}

}  // namespace gprof
