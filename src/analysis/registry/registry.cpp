#include <algorithm>

#include "analysis/topics/analyses.h"

namespace gprof {
namespace {

#ifdef GPROF_HAVE_CUDA_OCCUPANCY
constexpr std::string_view kOccupancySummary = "occupancy and SM utilisation of kernel launches";
#else
constexpr std::string_view kOccupancySummary = "not available: built without cuda_occupancy.h";
#endif

constexpr Analysis kAnalyses[] = {
    {"devices", "busy, kernel, copy and idle time of each GPU", RunDevices},
    {"idle", "why each GPU was idle: one cause for every idle nanosecond", RunIdle},
    {"launches", "call, queue and run time of each kernel; launch-bound phases", RunLaunches},
    {"kernels", "GPU time by kernel", RunKernels},
    {"kernel_kinds", "kernels by type; findings from the names of library kernels", RunKernelKinds},
    {"small_kernels", "kernels by length, repeated chains of kernels", RunSmallKernels},
    {"occupancy", kOccupancySummary, RunOccupancy},
    {"gemms", "cuBLAS matrix multiplications: sizes, TFLOP/s, share of the peak", RunGemms},
    {"memcpy", "copies by direction and memory kind, pageable copies, memsets", RunMemcpy},
    {"memory", "memory over time, churn, growth, unfreed memory, pools, managed memory", RunMemory},
    {"streams", "streams requested and used, stream concurrency, causes of serialisation", RunStreams},
    {"sync", "calls in which the host waited for the GPU", RunSync},
    {"api", "time in CUDA calls by function", RunApi},
    {"hang", "what a program that made no progress was in: unfinished GPU work, threads, locks", RunHang},
    {"api_errors", "CUDA calls that returned an error", RunApiErrors},
    {"directives", "OpenMP and OpenACC constructs: time, waiting at barriers, GPU time", RunDirectives},
    {"mpi", "MPI calls: time, message sizes, ranks that arrive late", RunMpi},
    {"os_calls", "long operating system calls: lock contention, file I/O", RunOsCalls},
    {"threads", "running, preempted and blocked time of threads", RunThreads},
    {"cpu_functions", "CPU samples by function", RunCpuFunctions},
    {"python_lines", "GPU time, idle time and waits by line of Python code", RunPythonLines},
    {"graphs", "CUDA graph launches and the cost of creating graphs", RunGraphs},
    {"startup", "start-up of each process to its first GPU operation; first launches, JIT compilation", RunStartup},
    {"balance", "load balance between GPUs, idle time while other GPUs work", RunBalance},
    {"sharing", "processes that share a GPU: whether they take turns, and what switching costs", RunSharing},
    {"nccl", "NCCL collectives: exposed and overlapped communication, bandwidth", RunNccl},
    {"critical_path", "critical path of the run and its potential speedup", RunCriticalPath},
    {"requests", "requests of a serving engine: time to tokens as a sum of what they waited for, late tokens",
     RunRequests},
    {"steps", "iterations of the step range: median, outliers and their causes, trend", RunSteps},
    {"nvtx", "NVTX ranges and the GPU time of the work they launched", RunNvtx},
    {"modules", "modules of a PyTorch model: CPU and GPU time, FLOPs, share of the peak", RunModules},
    {"ops", "PyTorch operators: CPU and GPU time by input size, FLOPs", RunOps},
    {"host_load", "CPU load, CPU wait and memory of the program, load of the machine", RunHostLoad},
    {"gpu_metrics", "sampled GPU metrics: overall, busy and idle, by kernel, by step", RunGpuMetrics},
    {"counters", "kernel counters: speed of light, memory, occupancy, stalls, roofline, what limits each kernel",
     RunCounters},
    {"source", "instruction samples of kernels: hottest source lines and instructions, and stalls", RunSource},
    {"delays", "what a nanosecond of a thing is worth, measured by delaying it", RunDelays},
    {"health", "data quality: known losses in the trace", RunHealth},
};

}  // namespace

std::span<const Analysis> AllAnalyses() { return kAnalyses; }

const Analysis* FindAnalysis(std::string_view name) {
  const auto* found =
      std::ranges::find_if(kAnalyses, [name](const Analysis& analysis) { return analysis.name == name; });
  return found == std::end(kAnalyses) ? nullptr : found;
}

}  // namespace gprof
