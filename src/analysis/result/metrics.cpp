// The catalogue of metrics. An id, once released, keeps its meaning: budgets and baselines of users name it.
#include "analysis/result/metrics.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <type_traits>
#include <vector>

namespace gprof {
namespace {

constexpr Unit kNs = Unit::kNs, kCount = Unit::kCount, kBytes = Unit::kBytes, kPercent = Unit::kPercent;
constexpr Better kLower = Better::kLower, kHigher = Better::kHigher, kNeither = Better::kNeither;
// Whether a figure is the same in every run of the same program.
constexpr bool kExact = true, kTimed = false;
// What it takes to know a figure.
using enum Fact;
constexpr FactSet kNothing = FactSet::None();
constexpr FactSet kCopied = kOperations | kCopySizes;
constexpr FactSet kBusy = kOperations | kGraphWork;
constexpr FactSet kCause = kBusy | kApiCalls;  // of what a GPU did or did not do: the calls of the host
static_assert(!std::is_default_constructible_v<FactSet>, "a row that does not say what it needs must not compile");
// What comes from a GPU, from who recorded it, and from the recording itself.
constexpr FactSet kOfGpu = kBusy | kGraphNodes | kMemoryKinds | kCopySizes | kSyncs | kEvents | kShapes | kDevices |
                           kCounters | kGpuMetrics | kManagedMemory | kGpuPageFaults | kCpuPageFaults;
constexpr FactSet kOfRecording = kClocks | kRecordingCost | kSlowDown;

// A row says what all metrics say, and then what is special about this one.
struct Entry : MetricInfo {
  template <class... Specials>
  constexpr Entry(std::string_view of_id, Unit of_unit, Better of_better, bool is_exact, std::string_view of_meaning,
                  FactSet of_needs, Specials... specials);

  bool is_known_in_windows = false;  // where recording was on in windows only
};

constexpr auto Joined(MetricJoin join) {
  return [join](Entry* row) { row->join = join; };
}
constexpr auto Ratio(std::string_view part, std::string_view whole, double scale = 100) {
  return Joined({Join::kRatio, part, whole, scale});
}
constexpr auto kMost = Joined({Join::kMost}), kLeast = Joined({Join::kLeast}), kMiddle = Joined({Join::kMiddle}),
               kNotJoined = Joined({Join::kNever});
constexpr auto kSpan = [](Entry* row) { row->join.how = Join::kSpan, row->is_known_in_windows = true; };
constexpr auto Per(Parts parts) {
  return [parts](Entry* row) { row->parts = parts; };
}
constexpr auto kPerKernel = Per(Parts::kKernels), kPerRange = Per(Parts::kRanges),
               kPerOsFunction = Per(Parts::kOsFunctions), kPerMpiFunction = Per(Parts::kMpiFunctions),
               kPerFunction = Per(Parts::kFunctions), kPerOperator = Per(Parts::kOperators);
constexpr auto kOnlyPerKernel = [](Entry* row) { row->parts = Parts::kKernels, row->is_only_of_parts = true; };
constexpr auto kOfStep = [](Entry* row) {
  row->is_of_step = true, row->why_missing = "no NVTX range was detected as a step; name it with --step";
};
constexpr auto kOfRequests = [](Entry* row) {
  row->why_missing = "no serving engine told of its requests; record it with --serving";
};
constexpr auto kOfOccupancy = [](Entry* row) {
  row->why_missing = "this build of gprof-cli has no occupancy analysis";
};
constexpr auto kOfStart = [](Entry* row) { row->is_known_in_windows = true; };
constexpr auto kGrows = [](Entry* row) { row->grows_with_records = true; };
// Records that are missing can have made it larger.
constexpr auto kMayFall = [](Entry* row) { row->grows_with_records = row->is_of_host = false; };

template <class... Specials>
constexpr Entry::Entry(std::string_view of_id, Unit of_unit, Better of_better, bool is_exact,
                       std::string_view of_meaning, FactSet of_needs, Specials... specials)
    : MetricInfo{of_id, of_unit, of_better, is_exact, of_meaning, of_needs} {
  const bool counts = unit == kCount || unit == kBytes;
  grows_with_records = counts && is_exact;
  is_of_recording = needs.IsEmpty() || needs.HasAnyOf(kOfRecording);
  is_of_host = !is_of_recording && !needs.HasAnyOf(kOfGpu);
  if (needs.Has(kCounters)) kOnlyPerKernel(this), kMiddle(this);
  (specials(this), ...);
  // A sum over the run, or its largest value, is not known where recording was on in windows only. Shares, rates and
  // middles are, as far as the windows are like the rest.
  const bool is_total = (counts || unit == kNs) && join.how != Join::kRatio && join.how != Join::kMiddle;
  if (is_total && !is_known_in_windows && !is_of_recording) needs |= kWholeRun;
  if (!join.IsKnown()) needs |= kOneTrace;
}

constexpr Entry kRows[] = {
    {"run.wall_ns", kNs, kLower, kTimed, "from the first to the last record, including what was not selected",
     kProcessTimes, kSpan},
    {"gpu.window_ns", kNs, kLower, kTimed,
     "from the first to the last GPU operation, minus pauses between captures, summed over all GPUs", kOperations},
    {"gpu.busy_ns", kNs, kLower, kTimed, "part of the GPU window with a kernel, copy or memset running", kBusy},
    {"gpu.busy_percent", kPercent, kHigher, kTimed, "busy time in percent of the GPU window", kBusy,
     Ratio("gpu.busy_ns", "gpu.window_ns")},
    {"gpu.kernel_ns", kNs, kLower, kTimed, "part of the GPU window with a kernel running", kBusy},
    {"gpu.copy_only_ns", kNs, kLower, kTimed, "busy time without a kernel running", kBusy},
    {"gpu.idle_ns", kNs, kLower, kTimed, "GPU window minus busy time", kBusy},
    {"gpu.idle_percent", kPercent, kLower, kTimed, "idle time in percent of the GPU window", kBusy,
     Ratio("gpu.idle_ns", "gpu.window_ns")},
    {"gpu.startup_ns", kNs, kLower, kTimed,
     "start-up: recorded time of the process before the first operation of the GPU, without what recording itself took "
     "(the longest of several processes), summed over all GPUs",
     kOperations | kProcessTimes},
    {"gpu.teardown_ns", kNs, kLower, kTimed,
     "tear-down: recorded time of the process after the last operation of the GPU, summed over all GPUs",
     kOperations | kProcessTimes},
    {"gpu.operations", kCount, kNeither, kExact, "kernels, copies, memsets and whole graphs that ran on a GPU",
     kOperations},

    {"idle.queue_ns", kNs, kLower, kTimed, "idle although the launch call had returned: work was queued", kCause},
    {"idle.dependency_ns", kNs, kLower, kTimed, "idle while queued work waited for an event of another stream",
     kCause | kEvents},
    {"idle.launch_ns", kNs, kLower, kTimed, "idle from the launch call to the start on the GPU", kCause},
    {"idle.sync_ns", kNs, kLower, kTimed, "idle while the launching thread was in a synchronising call", kCause},
    {"idle.copy_ns", kNs, kLower, kTimed, "idle while the launching thread was in a blocking copy or memset", kCause},
    {"idle.memory_ns", kNs, kLower, kTimed,
     "idle while the launching thread allocated, freed or registered memory, or work waited for managed memory",
     kCause},
    {"idle.load_ns", kNs, kLower, kTimed, "idle while contexts were created, or modules loaded or compiled", kCause},
    {"idle.api_ns", kNs, kLower, kTimed, "idle while the launching thread was in another CUDA call", kCause},
    {"idle.os_ns", kNs, kLower, kTimed,
     "idle while the launching thread was blocked in the operating system, outside CUDA calls", kCause | kHostWaits},
    {"idle.mpi_ns", kNs, kLower, kTimed, "idle while the launching thread was in an MPI call", kCause | kMpiCalls},
    {"idle.host_ns", kNs, kLower, kTimed, "idle while the launching thread ran its own code", kCause},
    {"idle.preempted_ns", kNs, kLower, kTimed,
     "part of `idle.host_ns` in which the launching thread was runnable but another thread had its core",
     kCause | kSwitches},
    {"idle.profiler_ns", kNs, kLower, kTimed, "idle while profiling overhead held up the launching thread",
     kCause | kOverheads},
    {"idle.unknown_ns", kNs, kLower, kTimed, "idle without a launch call in the trace that explains it", kBusy},
    {"gaps.count", kCount, kLower, kTimed, "idle gaps between GPU operations", kOperations},
    {"gaps.longest_ns", kNs, kLower, kTimed, "longest idle gap", kOperations, kMost},

    {"kernels.count", kCount, kNeither, kExact, "kernels that ran, excluding those in graphs recorded as a whole",
     kOperations, kPerKernel},
    {"kernels.total_ns", kNs, kLower, kTimed, "sum of the durations of all kernels", kOperations, kPerKernel, kGrows},
    {"kernels.median_ns", kNs, kLower, kTimed, "median duration of a kernel; only per kernel", kOperations, kMiddle,
     kOnlyPerKernel},
    {"kernels.occupancy_percent", kPercent, kHigher, kExact,
     "theoretical occupancy of a kernel: warps per SM that its launches allow, in percent of the maximum; only per "
     "kernel",
     kOperations | kShapes | kDevices, kMiddle, kOnlyPerKernel},
    {"kernels.sm_active_percent", kPercent, kHigher, kTimed,
     "share of SMs with a resident warp while a kernel runs, from samples; only per kernel", kGpuMetrics, kMiddle,
     kOnlyPerKernel},
    {"kernels.warps_percent", kPercent, kHigher, kTimed,
     "achieved occupancy of a kernel: warps in flight in percent of the maximum, from samples; only per kernel",
     kGpuMetrics, kMiddle, kOnlyPerKernel},
    {"kernels.issue_percent", kPercent, kHigher, kTimed,
     "share of cycles in which an SM issues an instruction while a kernel runs, from samples; only per kernel",
     kGpuMetrics, kMiddle, kOnlyPerKernel},
    {"kernels.tensor_percent", kPercent, kHigher, kTimed,
     "share of cycles with tensor cores active while a kernel runs, from samples; only per kernel", kGpuMetrics,
     kMiddle, kOnlyPerKernel},
    {"kernels.dram_percent", kPercent, kNeither, kTimed,
     "device memory bandwidth, read and write, in percent of its peak while a kernel runs, from samples; only per "
     "kernel",
     kGpuMetrics, kMiddle, kOnlyPerKernel},
    {"kernels.energy_j", kCount, kLower, kTimed, "energy in joules of all launches of a kernel; only per kernel",
     kGpuMetrics, kMiddle, kOnlyPerKernel},
    {"kernels.distinct", kCount, kNeither, kExact, "kernels with different names", kOperations, kNotJoined},
    {"launches.count", kCount, kLower, kExact, "calls that launch kernels or graphs", kApiCalls},
    {"launches.per_second", Unit::kPerSecond, kNeither, kTimed, "launch calls per second of the GPU window", kCause,
     Ratio("launches.count", "gpu.window_ns", 1e9)},
    {"launches.call_ns", kNs, kLower, kTimed, "time in calls that launch kernels or graphs, summed over all threads",
     kApiCalls},
    {"launches.interval_median_ns", kNs, kLower, kTimed,
     "median time from a launch to the next launch of the same thread", kApiCalls, kMiddle},
    {"launches.queued", kCount, kNeither, kTimed, "kernels that started after their launch call had returned", kCause},
    {"launches.queue_ns", kNs, kNeither, kTimed,
     "time from the return of the launch call to the start, summed over kernels that started later than that", kCause},
    {"launches.late_kernels", kCount, kLower, kTimed,
     "kernels that an idle GPU waited for because their launch took long", kCause},
    {"launches.late_idle_ns", kNs, kLower, kTimed, "idle time before kernels whose launch took long", kCause},
    {"launches.depth0_ns", kNs, kLower, kTimed,
     "part of the GPU window with queue depth 0: nothing launched and unfinished", kCause},
    {"launches.depth1_ns", kNs, kNeither, kTimed,
     "part of the GPU window with queue depth 1: one operation launched and unfinished", kCause},
    {"launches.depth2_ns", kNs, kHigher, kTimed, "part of the GPU window with queue depth 2 or more", kCause},
    {"launches.max_depth", kCount, kNeither, kTimed,
     "maximum queue depth: operations launched and unfinished at one time", kCause, kMost},
    {"kernels.small_count", kCount, kLower, kTimed, "kernels that ran for less than 10 us", kOperations},
    {"kernels.small_ns", kNs, kLower, kTimed, "time of kernels that ran for less than 10 us", kOperations},
    {"kernels.small_percent", kPercent, kLower, kTimed,
     "time of kernels that ran for less than 10 us, in percent of total kernel time", kOperations,
     Ratio("kernels.small_ns", "kernels.total_ns")},
    {"chains.count", kCount, kNeither, kTimed, "distinct chains of operations that a stream repeated", kCause,
     kNotJoined},
    {"chains.operations", kCount, kNeither, kTimed,
     "operations in chains that a stream repeated, all repetitions counted", kCause, kNotJoined},
    {"chains.idle_ns", kNs, kLower, kTimed, "idle gaps of up to 50 us between operations of a repeated chain", kCause,
     kNotJoined},
    {"occupancy.percent", kPercent, kHigher, kTimed,
     "theoretical occupancy: warps per SM that the launch allows, in percent of the maximum; mean weighted by kernel "
     "time",
     kOperations | kShapes | kDevices, kMiddle, kOfOccupancy},
    {"occupancy.unused_ns", kNs, kLower, kTimed, "kernel time minus the share of SMs, schedulers and lanes in use",
     kOperations | kShapes | kDevices, kOfOccupancy},
    {"occupancy.small_grid_count", kCount, kLower, kExact, "kernels with fewer blocks than the GPU has SMs",
     kOperations | kShapes | kDevices, kOfOccupancy},
    {"occupancy.small_grid_ns", kNs, kLower, kTimed, "time of kernels with fewer blocks than the GPU has SMs",
     kOperations | kShapes | kDevices, kOfOccupancy},
    {"occupancy.below_warp_count", kCount, kLower, kExact, "kernels with blocks smaller than a warp",
     kOperations | kShapes | kDevices, kOfOccupancy},
    {"gemm.calls", kCount, kNeither, kExact, "cuBLAS calls that multiply matrices", kGemms},
    {"gemm.gpu_ns", kNs, kLower, kTimed, "GPU time of what cuBLAS multiplications launched, summed",
     kGemms | kOperations},
    {"gemm.flop", kCount, kNeither, kExact,
     "floating-point operations of cuBLAS multiplications, counted at each launch for CUDA graphs",
     kGemms | kGraphNodes},
    {"gemm.tflops", kCount, kHigher, kTimed,
     "10^12 floating-point operations of cuBLAS multiplications per second of their GPU time", kGemms | kOperations,
     Ratio("gemm.flop", "gemm.gpu_ns", 1e-3)},
    {"gemm.peak_percent", kPercent, kHigher, kTimed,
     "rate of cuBLAS multiplications in percent of the peak of the GPUs for the types used",
     kGemms | kOperations | kDevices, kMiddle},
    {"os.calls", kCount, kLower, kTimed,
     "recorded operating system calls of threads that make CUDA calls; per function: @os:read", kApiCalls | kOsCalls,
     kPerOsFunction},
    {"os.blocked_ns", kNs, kLower, kTimed,
     "time in recorded operating system calls, GPU busy or idle; nested calls count once", kApiCalls | kOsCalls,
     kPerOsFunction},
    {"os.file_calls", kCount, kLower, kExact,
     "calls on named files, of all threads; only with --osrt-file-access; per function: @os:read", kOsCalls,
     kPerOsFunction},
    {"os.file_bytes", kBytes, kLower, kExact, "bytes that these calls read and wrote", kOsCalls},
    {"mpi.calls", kCount, kNeither, kExact, "MPI calls of all threads; per function: @mpi:MPI_Allreduce", kMpiCalls,
     kPerMpiFunction},
    {"mpi.call_ns", kNs, kLower, kTimed, "time in MPI calls, summed over all threads", kMpiCalls, kPerMpiFunction},
    {"mpi.sent_bytes", kBytes, kNeither, kExact, "bytes that MPI calls send", kMpiCalls, kPerMpiFunction},
    {"mpi.late_ns", kNs, kLower, kTimed,
     "time in collectives on MPI_COMM_WORLD until the last rank had arrived, summed over all ranks", kMpiCalls,
     kNotJoined},
    {"host.samples", kCount, kNeither, kTimed, "CPU samples of running threads", kCpuSamples},
    {"host.function_ns", kNs, kLower, kTimed,
     "CPU time of sampled threads; of a function itself with at least 20 samples: @function:NAME", kCpuSamples,
     kPerFunction},
    {"graphs.launches", kCount, kNeither, kExact, "graph launches recorded as a whole", kOperations},

    {"kernel.duration_ns", kNs, kLower, kTimed,
     "duration of a launch measured with counters; kernel.* are means over the launches with counters, only per kernel",
     kCounters},
    {"kernel.compute_percent", kPercent, kHigher, kTimed, "compute throughput in percent of peak", kCounters},
    {"kernel.memory_percent", kPercent, kNeither, kTimed, "memory throughput in percent of peak", kCounters},
    {"kernel.dram_percent", kPercent, kNeither, kTimed, "DRAM throughput in percent of peak", kCounters},
    {"kernel.occupancy_percent", kPercent, kHigher, kTimed, "achieved occupancy", kCounters},
    {"kernel.theoretical_occupancy_percent", kPercent, kHigher, kExact,
     "theoretical occupancy of the launch configuration", kCounters | kDevices},
    {"kernel.ipc", kCount, kHigher, kTimed, "instructions per active cycle of an SM", kCounters},
    {"kernel.dram_bytes", kBytes, kLower, kTimed, "bytes read from and written to DRAM", kCounters},
    {"kernel.l2_hit_percent", kPercent, kHigher, kTimed, "L2 hit rate; may exceed 100%", kCounters},
    {"kernel.instructions", kCount, kLower, kExact, "executed instructions of warps", kCounters},
    {"kernel.branches", kCount, kLower, kExact, "executed branch instructions", kCounters},
    {"kernel.global_load_requests", kCount, kLower, kExact, "requests of global loads to L1", kCounters},
    {"kernel.global_load_sectors", kCount, kLower, kExact, "sectors of 32 bytes that global loads request from L1",
     kCounters},
    {"kernel.global_store_requests", kCount, kLower, kExact, "requests of global stores to L1", kCounters},
    {"kernel.global_store_sectors", kCount, kLower, kExact, "sectors of 32 bytes that global stores write to L1",
     kCounters},
    {"kernel.local_loads", kCount, kLower, kExact, "executed loads from local memory", kCounters},
    {"kernel.local_stores", kCount, kLower, kExact, "executed stores to local memory", kCounters},
    {"kernel.registers", kCount, kNeither, kExact, "registers of a thread", kCounters},

    {"memcpy.count", kCount, kLower, kExact, "copies in all directions", kOperations},
    {"memcpy.bytes", kBytes, kLower, kExact, "bytes copied in all directions", kCopied},
    {"memcpy.total_ns", kNs, kLower, kTimed, "sum of the durations of all copies", kOperations, kGrows},
    {"memcpy.h2d_count", kCount, kLower, kExact, "copies from host to device", kOperations},
    {"memcpy.h2d_bytes", kBytes, kLower, kExact, "bytes copied from host to device", kCopied},
    {"memcpy.h2d_ns", kNs, kLower, kTimed, "time of the copies from host to device", kOperations},
    {"memcpy.d2h_count", kCount, kLower, kExact, "copies from device to host", kOperations},
    {"memcpy.d2h_bytes", kBytes, kLower, kExact, "bytes copied from device to host", kCopied},
    {"memcpy.d2h_ns", kNs, kLower, kTimed, "time of the copies from device to host", kOperations},
    {"memcpy.d2d_count", kCount, kNeither, kExact, "copies within a device", kOperations},
    {"memcpy.d2d_bytes", kBytes, kNeither, kExact, "bytes copied within a device", kCopied},
    {"memcpy.d2d_ns", kNs, kNeither, kTimed, "time of the copies within a device", kOperations},
    {"memcpy.p2p_count", kCount, kNeither, kExact, "copies from device to device", kOperations},
    {"memcpy.p2p_bytes", kBytes, kNeither, kExact, "bytes copied from device to device", kCopied},
    {"memcpy.p2p_ns", kNs, kNeither, kTimed, "time of the copies from device to device", kOperations},
    {"memcpy.pageable_count", kCount, kLower, kExact, "copies from or to pageable host memory",
     kOperations | kMemoryKinds},
    {"memcpy.pageable_bytes", kBytes, kLower, kExact, "bytes copied from or to pageable host memory",
     kCopied | kMemoryKinds},
    {"memcpy.pageable_ns", kNs, kLower, kTimed, "time of copies from or to pageable host memory on the GPU",
     kOperations | kMemoryKinds},
    {"memcpy.pageable_blocked_ns", kNs, kLower, kTimed,
     "time copies from or to pageable memory blocked the host, excluding the wait for earlier work",
     kCause | kMemoryKinds},
    {"memcpy.small_count", kCount, kLower, kExact, "copies between host and device of 64 KiB or less", kCopied},
    {"memcpy.latency_bound_count", kCount, kLower, kTimed, "copies between host and device that are mostly latency",
     kCopied},
    {"memcpy.latency_bound_ns", kNs, kLower, kTimed, "time of copies between host and device that are mostly latency",
     kCopied},
    {"memcpy.h2d_best_bytes_per_second", Unit::kBytesPerSecond, kHigher, kTimed,
     "bandwidth of the fastest copy from host to device above 64 KiB", kCopied, kMost},
    {"memcpy.d2h_best_bytes_per_second", Unit::kBytesPerSecond, kHigher, kTimed,
     "bandwidth of the fastest copy from device to host above 64 KiB", kCopied, kMost},
    {"memcpy.link_bytes_per_second", Unit::kBytesPerSecond, kNeither, kExact,
     "bandwidth of the GPU's PCIe link after line coding", kOperations | kDevices, kMost},
    {"memcpy.overlappable_ns", kNs, kLower, kTimed, "copy time that could have overlapped with adjacent kernels",
     kCause | kMemoryKinds | kCopySizes},
    {"memset.count", kCount, kLower, kExact, "memsets", kOperations},
    {"memset.bytes", kBytes, kLower, kExact, "bytes set", kCopied},
    {"memset.total_ns", kNs, kLower, kTimed, "sum of the durations of all memsets", kOperations},

    {"memory.peak_bytes", kBytes, kLower, kTimed,
     "peak of allocated device memory; for the whole trace: of the GPU with the highest peak", kMemory, kMost},
    {"memory.allocations", kCount, kLower, kExact, "allocations of all kinds of memory", kMemory},
    {"memory.frees", kCount, kNeither, kExact, "frees of all kinds of memory", kMemory},
    {"memory.leaked_bytes", kBytes, kLower, kExact, "bytes allocated and not freed during recording", kMemory,
     kMayFall},
    {"memory.churn_count", kCount, kLower, kTimed,
     "allocations that could have reused a block freed before: same size, function and NVTX range, or any block where "
     "the trace has no memory records",
     kApiCalls},
    {"memory.churn_ns", kNs, kLower, kTimed,
     "host time of allocations that could have reused a freed block, and of the frees before them", kApiCalls},
    {"memory.churn_idle_ns", kNs, kLower, kTimed,
     "idle time caused by allocations that could have reused a freed block, and by the frees before them", kCause},
    {"memory.growth_bytes", kBytes, kLower, kTimed,
     "bytes allocated by one call site in step after step and still in use after the last", kMemory},
    {"memory.tensor_growth_bytes", kBytes, kLower, kTimed,
     "bytes of PyTorch tensors that each step after warm-up adds and that are still held at the end of the last step",
     kNvtx},
    {"memory.parameters_bytes", kBytes, kLower, kTimed,
     "parameters and buffers of PyTorch modules at the peak of the GPU whose tensors hold most", kNvtx, kMost},
    {"memory.gradients_bytes", kBytes, kLower, kTimed,
     "gradients of the parameters of PyTorch modules at the peak of the GPU whose tensors hold most", kNvtx, kMost},
    {"memory.optimizer_bytes", kBytes, kLower, kTimed,
     "state of PyTorch optimizers at the peak of the GPU whose tensors hold most", kNvtx, kMost},
    {"memory.activations_bytes", kBytes, kLower, kTimed,
     "tensors that the forward pass leaves to the backward pass, at the peak of the GPU whose tensors hold most", kNvtx,
     kMost},
    {"memory.managed_h2d_count", kCount, kLower, kTimed, "migrations of managed memory from host to device",
     kManagedMemory},
    {"memory.managed_h2d_bytes", kBytes, kLower, kTimed, "bytes of managed memory that migrated from host to device",
     kManagedMemory},
    {"memory.managed_h2d_ns", kNs, kLower, kTimed, "time of migrations of managed memory from host to device",
     kManagedMemory},
    {"memory.managed_d2h_count", kCount, kLower, kTimed, "migrations of managed memory from device to host",
     kManagedMemory},
    {"memory.managed_d2h_bytes", kBytes, kLower, kTimed, "bytes of managed memory that migrated from device to host",
     kManagedMemory},
    {"memory.managed_d2h_ns", kNs, kLower, kTimed, "time of migrations of managed memory from device to host",
     kManagedMemory},
    {"memory.managed_d2d_count", kCount, kLower, kTimed, "migrations of managed memory from device to device",
     kManagedMemory},
    {"memory.managed_d2d_bytes", kBytes, kLower, kTimed, "bytes of managed memory that migrated from device to device",
     kManagedMemory},
    {"memory.managed_d2d_ns", kNs, kLower, kTimed, "time of migrations of managed memory from device to device",
     kManagedMemory},
    {"memory.gpu_page_faults", kCount, kLower, kTimed, "pages of managed memory on which a GPU faulted",
     kGpuPageFaults},
    {"memory.gpu_fault_ns", kNs, kLower, kTimed, "time the driver spent on faults of GPUs on managed memory",
     kGpuPageFaults},
    {"memory.cpu_page_faults", kCount, kLower, kTimed, "page faults of the host on managed memory", kCpuPageFaults},

    {"streams.created", kCount, kNeither, kExact, "streams that the program created", kApiCalls | kStreamsMade},
    {"streams.used", kCount, kNeither, kExact, "streams with an operation, including default streams", kOperations},
    {"streams.named", kCount, kNeither, kExact, "stream names assigned through NVTX", kApiCalls | kStreamsMade},
    {"streams.max_concurrency", kCount, kHigher, kTimed,
     "maximum number of streams with an operation running concurrently", kOperations, kMost},
    {"streams.overlap_ns", kNs, kHigher, kTimed, "time with operations of two or more streams running", kOperations},
    {"streams.overlap_percent", kPercent, kHigher, kTimed,
     "time with operations of two or more streams running, in percent of busy time", kOperations,
     Ratio("streams.overlap_ns", "gpu.busy_ns")},
    {"streams.kernel_overlap_ns", kNs, kHigher, kTimed, "time with kernels of two or more streams running",
     kOperations},
    {"streams.copy_compute_ns", kNs, kHigher, kTimed, "time with a kernel and a copy running", kOperations},
    {"streams.two_way_ns", kNs, kHigher, kTimed, "time with a copy to the device and one to the host running",
     kOperations},
    {"streams.unused", kCount, kLower, kExact, "streams that the program created and never used",
     kApiCalls | kStreamsMade, kMayFall},
    {"streams.renamed", kCount, kLower, kExact, "stream handles with several names: one stream used as several",
     kApiCalls | kStreamsMade},
    {"streams.never_overlapped", kCount, kNeither, kTimed, "streams whose operations never overlapped another stream",
     kOperations},
    {"streams.priorities", kCount, kNeither, kExact, "distinct priorities of the streams with operations",
     kOperations | kPriorities, kNotJoined},
    {"streams.default_splits", kCount, kLower, kTimed,
     "runs of default-stream operations between work of blocking streams", kOperations | kStreamsMade},
    {"streams.default_split_ns", kNs, kLower, kTimed,
     "time of default-stream operations between work of blocking streams", kOperations | kStreamsMade},
    {"streams.event_waits", kCount, kNeither, kExact, "waits of a stream for an event", kCause | kSyncs | kEvents},
    {"streams.event_held_ns", kNs, kLower, kTimed,
     "time launched work of a free stream was delayed by an event of another stream, summed over all streams",
     kCause | kSyncs | kEvents},
    {"streams.event_idle_ns", kNs, kLower, kTimed, "idle time caused by waits of a stream for an event",
     kCause | kSyncs | kEvents},

    {"sync.count", kCount, kLower, kExact, "synchronisation calls: device, stream or event", kApiCalls},
    {"sync.host_blocked_ns", kNs, kLower, kTimed, "time host threads spent in synchronisation calls", kApiCalls},
    {"sync.idle_ns", kNs, kLower, kTimed, "idle time caused by synchronisation calls", kCause},
    {"sync.device_count", kCount, kLower, kExact, "synchronisation calls for a device or context", kApiCalls},
    {"sync.device_blocked_ns", kNs, kLower, kTimed,
     "time host threads spent in synchronisation calls for a device or context", kApiCalls},
    {"sync.stream_count", kCount, kLower, kExact, "synchronisation calls for a stream", kApiCalls},
    {"sync.stream_blocked_ns", kNs, kLower, kTimed, "time host threads spent in synchronisation calls for a stream",
     kApiCalls},
    {"sync.event_count", kCount, kLower, kExact, "synchronisation calls for an event", kApiCalls},
    {"sync.event_blocked_ns", kNs, kLower, kTimed, "time host threads spent in synchronisation calls for an event",
     kApiCalls},
    {"sync.copy_count", kCount, kLower, kExact, "copies and memsets that block the host", kApiCalls | kMemoryKinds},
    {"sync.copy_blocked_ns", kNs, kLower, kTimed, "time host threads spent in copies and memsets that block the host",
     kApiCalls | kMemoryKinds},
    {"sync.copy_idle_ns", kNs, kLower, kTimed, "idle time caused by copies and memsets that block the host",
     kCause | kMemoryKinds},
    {"sync.implied_count", kCount, kLower, kTimed,
     "implicit synchronisation: frees and other memory calls that waited for the GPU", kApiCalls | kSyncs},
    {"sync.implied_blocked_ns", kNs, kLower, kTimed, "time host threads spent in memory calls that waited for the GPU",
     kApiCalls | kSyncs},
    {"sync.implied_idle_ns", kNs, kLower, kTimed, "idle time caused by memory calls that waited for the GPU",
     kCause | kSyncs},
    {"sync.polling_loops", kCount, kLower, kTimed, "polling loops: ten or more stream or event queries in a row",
     kApiCalls},
    {"sync.polling_calls", kCount, kLower, kTimed, "queries in polling loops", kApiCalls},
    {"sync.polling_ns", kNs, kLower, kTimed, "time of polling loops, summed over all threads", kApiCalls},

    {"api.calls", kCount, kLower, kExact, "CUDA calls of the program; nested calls are not counted", kApiCalls},
    {"api.total_ns", kNs, kLower, kTimed, "time in CUDA calls of the program, summed over all threads", kApiCalls},

    {"api.errors", kCount, kLower, kExact, "calls that returned an error, excluding queries that return 'not ready'",
     kApiCalls | kResults},

    {"graphs.runs", kCount, kNeither, kExact, "launches of CUDA graphs, recorded as a whole or node by node",
     kOperations},
    {"graphs.distinct", kCount, kNeither, kExact, "distinct graphs launched", kOperations, kNotJoined},
    {"graphs.gpu_ns", kNs, kLower, kTimed, "time from the first to the last node of each launch, summed", kOperations},
    {"graphs.nodes", kCount, kNeither, kTimed, "operations launched by graphs, where recorded node by node",
     kOperations | kGraphNodes},
    {"graphs.instantiations", kCount, kLower, kExact, "calls that instantiate a graph", kApiCalls},
    {"graphs.instantiate_ns", kNs, kLower, kTimed, "time in calls that instantiate a graph", kApiCalls},

    {"startup.longest_ns", kNs, kLower, kTimed,
     "start-up: from the start of a process to its first GPU operation; the slowest process", kCause | kProcessTimes,
     kMost, kOfStart},
    {"startup.own_ns", kNs, kLower, kTimed, "part of start-up in host code, summed over all processes",
     kCause | kProcessTimes, kOfStart},
    {"startup.context_ns", kNs, kLower, kTimed, "part of start-up in CUDA context creation, summed over all processes",
     kCause, kOfStart},
    {"startup.load_ns", kNs, kLower, kTimed, "part of start-up in module and kernel loading, summed over all processes",
     kCause, kOfStart},
    {"startup.compile_ns", kNs, kLower, kTimed,
     "part of start-up in JIT compilation and the JIT cache, summed over all processes", kCause | kOverheads, kOfStart},
    {"startup.profiler_ns", kNs, kLower, kTimed,
     "part of start-up that is profiling overhead, summed over all processes", kCause | kOverheads, kOfStart},
    {"startup.first_launch_ns", kNs, kLower, kTimed,
     "extra time of first launches of kernels over the median of their launches", kCause, kOfStart},
    {"jit.compiles", kCount, kLower, kTimed, "kernels and modules compiled at run time", kApiCalls | kCompilations},
    {"jit.compile_ns", kNs, kLower, kTimed, "time of compilations of kernels and modules at run time",
     kApiCalls | kCompilations},

    {"nvtx.ranges", kCount, kNeither, kExact, "NVTX ranges; per range: number of entries", kNvtx, kPerRange},
    {"nvtx.marks", kCount, kNeither, kExact, "NVTX marks", kNvtx, kPerRange},
    {"nvtx.payloads", kCount, kNeither, kExact, "NVTX events with a payload", kNvtx, kPerRange},
    {"nvtx.payload_bytes", kBytes, kNeither, kExact, "sum of the message sizes in payloads (\"size [bytes]\")", kNvtx,
     kPerRange},
    {"nvtx.total_ns", kNs, kLower, kTimed, "time in the range, summed over its entries", kNvtx, kPerRange},
    {"nvtx.self_ns", kNs, kLower, kTimed,
     "time in the range minus directly nested push/pop ranges, summed over its entries", kNvtx, kPerRange},
    {"nvtx.gpu_idle_ns", kNs, kLower, kTimed, "idle time within the range of the GPU that the range's thread uses most",
     kCause | kNvtx, kPerRange},
    {"nvtx.gpu_busy_ns", kNs, kLower, kTimed, "GPU time of the operations launched within the range", kCause | kNvtx,
     kPerRange},
    {"nvtx.kernels", kCount, kNeither, kExact, "kernels launched within the range", kCause | kNvtx, kPerRange},

    {"balance.waiting_ns", kNs, kLower, kTimed, "idle time of a GPU while another GPU was busy, summed over all GPUs",
     kOperations, kNotJoined},
    {"balance.imbalance_percent", kPercent, kLower, kTimed,
     "busy time of the busiest GPU minus the mean, in percent of the mean", kOperations, kMiddle},
    {"balance.peer_bytes", kBytes, kNeither, kExact, "bytes copied between GPUs", kOperations, kNotJoined},

    {"sharing.switches", kCount, kLower, kTimed,
     "times that a GPU was idle before queued work of one process, after work of another", kCause, kNotJoined},
    {"sharing.switch_ns", kNs, kLower, kTimed,
     "idle time before queued work of one process, after work of another, summed over all GPUs", kCause, kNotJoined},
    {"nccl.kernels", kCount, kNeither, kExact, "NCCL kernels", kOperations},
    {"nccl.total_ns", kNs, kLower, kTimed, "time with an NCCL kernel running, summed over all GPUs", kOperations},
    {"nccl.exposed_ns", kNs, kLower, kTimed,
     "exposed communication: time with an NCCL kernel and no other kernel running on the same GPU", kOperations},
    {"nccl.exposed_percent", kPercent, kLower, kTimed, "exposed time in percent of NCCL time", kOperations,
     Ratio("nccl.exposed_ns", "nccl.total_ns")},
    {"openmp.regions", kCount, kNeither, kExact, "parallel regions of OpenMP", kOpenMp},
    {"openmp.region_ns", kNs, kLower, kTimed, "time of threads in the parallel regions that they began", kOpenMp},
    {"openmp.waiting_percent", kPercent, kLower, kTimed,
     "share of the thread time of parallel regions spent waiting at barriers", kOpenMp, kMiddle},
    {"openacc.constructs", kCount, kNeither, kExact, "constructs, launches, transfers and waits of OpenACC", kOpenAcc},
    {"nccl.operations", kCount, kNeither, kExact, "collectives, sends and receives that ranks passed to NCCL",
     Fact::kCollectives},
    {"nccl.bytes", kBytes, kNeither, kExact, "bytes that each rank passed to NCCL, summed over ranks",
     Fact::kCollectives},
    {"nccl.bus_bytes_per_second", Unit::kBytesPerSecond, kHigher, kTimed,
     "bus bandwidth of NCCL operations, as in nccl-tests, based on kernel time", kOperations | Fact::kCollectives,
     kMiddle},
    {"nccl.late_host_ns", kNs, kLower, kTimed,
     "time in NCCL kernels in which the host of the last rank had not called NCCL yet, summed over all GPUs",
     kOperations | Fact::kCollectives, kNotJoined},
    {"nccl.waiting_ns", kNs, kLower, kTimed,
     "time NCCL kernels ran before the last GPU of their collective started, summed over all GPUs", kOperations,
     kNotJoined},

    {"critical.window_ns", kNs, kLower, kTimed,
     "from the first CUDA call or operation to the end of the last; the critical-path figures below sum to it", kCause,
     kNotJoined},
    {"critical.kernel_ns", kNs, kLower, kTimed, "kernels and whole graphs on the critical path", kCause, kNotJoined},
    {"critical.copy_ns", kNs, kLower, kTimed, "copies and memsets on the critical path", kCause, kNotJoined},
    {"critical.queue_ns", kNs, kLower, kTimed, "work queued and not started although its dependencies were complete",
     kCause, kNotJoined},
    {"critical.launch_ns", kNs, kLower, kTimed, "launch calls on the critical path", kCause, kNotJoined},
    {"critical.sync_ns", kNs, kLower, kTimed,
     "synchronising calls on the critical path, excluding the work they waited for", kCause, kNotJoined},
    {"critical.copy_call_ns", kNs, kLower, kTimed,
     "blocking copies and memsets on the critical path, excluding their GPU time", kCause, kNotJoined},
    {"critical.memory_ns", kNs, kLower, kTimed, "allocations, frees and registrations on the critical path", kCause,
     kNotJoined},
    {"critical.load_ns", kNs, kLower, kTimed, "loading and compilation on the critical path", kCause, kNotJoined},
    {"critical.api_ns", kNs, kLower, kTimed, "other CUDA calls on the critical path", kCause, kNotJoined},
    {"critical.host_ns", kNs, kLower, kTimed, "host code on the critical path", kCause, kNotJoined},
    {"critical.profiler_ns", kNs, kLower, kTimed, "profiling overhead on the critical path", kCause | kOverheads,
     kNotJoined},
    {"critical.unknown_ns", kNs, kLower, kTimed, "time before work whose launch call is not in the trace", kCause,
     kNotJoined},

    {"ops.calls", kCount, kNeither, kExact, "calls of PyTorch operators; by operator with @op:NAME", kNvtx,
     kPerOperator},
    {"ops.cpu_ns", kNs, kLower, kTimed, "time in calls of an operator (@op:NAME)", kNvtx, kPerOperator},
    {"ops.cpu_self_ns", kNs, kLower, kTimed, "time in calls of operators, less operators within; also @op:NAME", kNvtx,
     kPerOperator},
    {"ops.gpu_ns", kNs, kLower, kTimed, "GPU time of the work that an operator launched (@op:NAME)",
     kNvtx | kOperations | kApiCalls, kPerOperator},
    {"ops.gpu_self_ns", kNs, kLower, kTimed,
     "GPU time of the work that operators launched, less operators within; "
     "also @op:NAME",
     kNvtx | kOperations | kApiCalls, kPerOperator},
    {"ops.mfu_percent", kPercent, kHigher, kTimed,
     "model FLOPs utilisation: time a step's operators would take at the peak of their types, in percent of the step "
     "time",
     kNvtx | kOperations | kApiCalls | kDevices, kMiddle},
    {"requests.count", kCount, kNeither, kExact, "requests of a serving engine", kNothing, kOfRequests},
    {"requests.steps", kCount, kNeither, kTimed, "steps of the engine", kNothing, kOfRequests},
    {"requests.output_tokens", kCount, kNeither, kExact, "tokens that were handed out", kNothing, kOfRequests},
    {"requests.tokens_per_second", Unit::kPerSecond, kHigher, kTimed,
     "tokens that were handed out for each second from the first step to the last token", kNothing, kNotJoined,
     kOfRequests},
    {"requests.preemptions", kCount, kLower, kTimed, "times that a request was preempted", kNothing, kOfRequests},
    {"requests.late_tokens", kCount, kLower, kTimed,
     "tokens that came more than 5 median deviations later after the one before than the median", kNothing,
     kOfRequests},
    {"requests.prefix_hit_percent", kPercent, kHigher, kTimed,
     "tokens of prompts that were in the KV cache when the request began", kNothing, kNotJoined, kOfRequests},
    {"requests.first_token_p50_ns", kNs, kLower, kTimed, "median time from the arrival of a request to its first token",
     kNothing, kMiddle, kOfRequests},
    {"requests.first_token_p99_ns", kNs, kLower, kTimed, "99th percentile of that time", kNothing, kMiddle,
     kOfRequests},
    {"requests.next_token_p50_ns", kNs, kLower, kTimed, "median time from one token of a request to the next", kNothing,
     kMiddle, kOfRequests},
    {"requests.next_token_p99_ns", kNs, kLower, kTimed, "99th percentile of that time", kNothing, kMiddle, kOfRequests},
    {"requests.queue_p50_ns", kNs, kLower, kTimed, "median time that requests waited for their first step", kNothing,
     kMiddle, kOfRequests},
    {"requests.queue_p99_ns", kNs, kLower, kTimed, "99th percentile of that time", kNothing, kMiddle, kOfRequests},
    {"step.count", kCount, kNeither, kExact, "iterations of the NVTX range taken as the step", kNvtx, kNotJoined,
     kOfStep},
    {"step.warmup_count", kCount, kNeither, kTimed, "warm-up iterations: slow iterations at the beginning", kNvtx,
     kNotJoined, kOfStep},
    {"step.outliers", kCount, kLower, kTimed,
     "outliers after warm-up: iterations more than 5 median deviations above the median", kNvtx, kNotJoined, kOfStep},
    {"step.mean_ns", kNs, kLower, kTimed,
     "mean time of an iteration; this and the following exclude warm-up iterations", kNvtx, kMiddle, kOfStep},
    {"step.median_ns", kNs, kLower, kTimed, "median time of an iteration", kNvtx, kMiddle, kOfStep},
    {"step.p95_ns", kNs, kLower, kTimed, "95th percentile of the iteration time", kNvtx, kMiddle, kOfStep},
    {"step.p99_ns", kNs, kLower, kTimed, "99th percentile of the iteration time", kNvtx, kMiddle, kOfStep},
    {"step.max_ns", kNs, kLower, kTimed, "time of the slowest iteration", kNvtx, kNotJoined, kOfStep},
    {"step.trend_percent", kPercent, kLower, kTimed,
     "change from the first to the last iteration in percent of the median (robust slope)", kNvtx, kMiddle, kOfStep},
    {"step.idle_percent", kPercent, kLower, kTimed, "idle time of the GPU in percent of the time of the iterations",
     kOperations | kNvtx, kMiddle, kOfStep},

    {"host.cpu_percent", kPercent, kNeither, kTimed,
     "CPU time of the processes of the run while sampled; 100 is one core", kHostLoad, kMiddle},
    {"host.cpu_wait_percent", kPercent, kLower, kTimed,
     "time their threads waited for a core while sampled; 100 is one thread that always waits", kHostLoad, kMiddle},
    {"host.machine_percent", kPercent, kNeither, kTimed, "CPU time of the whole machine; 100 is all cores", kHostLoad,
     kMiddle},
    {"host.memory_peak_bytes", kBytes, kLower, kTimed,
     "peak of the summed resident memory of the processes of the run; shared memory counts in each", kHostLoad,
     kNotJoined},

    {"gpu.sm_active_percent", kPercent, kHigher, kTimed,
     "share of SMs with a resident warp, mean of the samples in the GPU window", kGpuMetrics, kMiddle},
    {"gpu.sm_issue_percent", kPercent, kHigher, kTimed,
     "share of cycles in which an SM issued an instruction, mean of the samples in the GPU window", kGpuMetrics,
     kMiddle},
    {"gpu.tensor_active_percent", kPercent, kHigher, kTimed, "share of cycles with tensor cores active", kGpuMetrics,
     kMiddle},
    {"gpu.dram_percent", kPercent, kNeither, kTimed, "device memory bandwidth, read and write, in percent of its peak",
     kGpuMetrics, kMiddle},
    {"gpu.rated_kernel_percent", kPercent, kHigher, kTimed,
     "share of kernel time in kernels of which samples tell how many SMs they keep active", kGpuMetrics, kMiddle},
    {"gpu.clock_sm_mhz_p50", kCount, kNeither, kTimed, "SM clock in MHz, median of the samples", kGpuMetrics, kMiddle},
    {"gpu.throttled_ns", kNs, kLower, kTimed,
     "time in the GPU window in which clocks were throttled by the power limit or by heat", kGpuMetrics},
    {"gpu.other_processes", kCount, kLower, kTimed,
     "maximum number of other processes using a GPU of the run at one time", kGpuMetrics, kMost},
    {"gpu.energy_j", kCount, kLower, kTimed, "energy in joules that the GPU used in the GPU window", kGpuMetrics},
    {"gpu.energy_per_token_j", kCount, kLower, kTimed,
     "mean energy in joules per token that a serving engine handed out, from its first step to its last token",
     kGpuMetrics, kMiddle, kOfRequests},
    {"gpu.energy_per_step_j", kCount, kLower, kTimed, "mean energy in joules per step", kGpuMetrics | kNvtx, kMiddle},

    {"health.complete", kCount, kHigher, kExact, "1 if the trace has no known losses, else 0", kNothing, kLeast},
    {"health.lost_records", kCount, kLower, kTimed, "records lost during recording", kNothing},
    {"health.damaged_chunks", kCount, kLower, kTimed, "damaged chunks of the file", kNothing},
    {"health.missing_chunks", kCount, kLower, kTimed, "chunks written but missing from the file", kNothing},
    {"health.duplicate_chunks", kCount, kLower, kTimed, "duplicate chunks in the file", kNothing},
    {"health.skipped_bytes", kBytes, kLower, kTimed, "bytes of the file outside any chunk", kNothing},
    {"health.unknown_chunks", kCount, kLower, kTimed, "chunks of an unknown kind or version", kNothing},
    {"health.unknown_records", kCount, kLower, kTimed, "records of an unknown kind", kNothing},
    {"health.truncated", kCount, kLower, kTimed, "1 if the file ends in the middle of a chunk", kNothing, kMost},
    {"health.bad_times", kCount, kLower, kTimed, "operations without usable times, excluded from all figures",
     kNothing},
    {"health.early_ops", kCount, kLower, kTimed, "operations that appear to start before their call", kNothing},
    {"health.unmatched_launches", kCount, kLower, kTimed, "launch calls without a GPU operation", kNothing},
    {"health.unmatched_ops", kCount, kLower, kTimed, "GPU operations without a launch call", kNothing},
    {"health.unfinished_processes", kCount, kLower, kTimed, "processes that did not exit cleanly", kNothing},
    {"health.salvaged_processes", kCount, kLower, kTimed, "processes that died and whose buffers were recovered",
     kNothing},
    {"health.unfinished_gpu_work", kCount, kLower, kTimed, "processes whose last GPU work may be missing", kNothing},
    {"health.gpu_pauses", kCount, kLower, kTimed,
     "times in which GPU work was not recorded, as the program's own profiler recorded it", kNothing},
    {"health.ops_from_before", kCount, kNeither, kTimed, "GPU operations launched before the capture in which they ran",
     kNothing},
    {"health.open_ranges", kCount, kLower, kTimed, "NVTX ranges that were never closed", kNothing},
    {"health.unmatched_nvtx_ends", kCount, kLower, kTimed, "NVTX range ends without a start", kNothing},
    {"health.missing_strings", kCount, kLower, kTimed, "names missing from the file", kNothing},
    {"health.warnings", kCount, kLower, kTimed, "warnings and errors logged by the tracer", kNothing},
    {"health.clocks_ns", kNs, kLower, kTimed,
     "maximum disagreement of the host, CUPTI and GPU clocks that the trace shows", kClocks, kMost},
    {"health.overhead_ns", kNs, kLower, kTimed, "profiling overhead (estimate), summed over all threads",
     kRecordingCost},
    {"health.overhead_percent", kPercent, kLower, kTimed,
     "profiling overhead of the thread with the most, in percent of its time from first to last event", kRecordingCost,
     kMost},
    {"health.overhead_gpu_percent", kPercent, kLower, kTimed,
     "profiling overhead between the first and the last GPU operation, in percent of that time, for the thread with "
     "the most",
     kRecordingCost, kMost},
    {"health.slow_down_least_percent", kPercent, kLower, kTimed,
     "how much longer recording made the run, at least (estimate), in percent of the time without recording",
     kRecordingCost, kMiddle},
    {"health.slow_down_most_percent", kPercent, kLower, kTimed,
     "how much longer recording made the run, at most (estimate), in percent of the time without recording",
     kRecordingCost, kMost},
    {"health.slow_down_percent", kPercent, kLower, kTimed,
     "slow-down by profiling, measured in the run itself: the median of its windows", kSlowDown, kMost},
    {"health.slow_down_low_percent", kPercent, kLower, kTimed,
     "lower end of the 95 % interval of the measured slow-down", kSlowDown, kMiddle},
    {"health.slow_down_high_percent", kPercent, kLower, kTimed,
     "upper end of the 95 % interval of the measured slow-down", kSlowDown, kMiddle},
};

constexpr auto kCatalogue = [] {
  std::array<MetricInfo, std::size(kRows)> catalogue;
  std::ranges::copy(kRows, catalogue.begin());
  return catalogue;
}();

constexpr PartsInfo kParts[] = {
    {Parts::kKernels, "kernel:", "kernel"},       {Parts::kRanges, "nvtx:", "NVTX range"},
    {Parts::kOsFunctions, "os:", "OS function"},  {Parts::kMpiFunctions, "mpi:", "MPI function"},
    {Parts::kFunctions, "function:", "function"}, {Parts::kOperators, "op:", "operator"}};

}  // namespace

std::span<const MetricInfo> MetricCatalogue() { return kCatalogue; }

const MetricInfo* FindMetric(std::string_view id) {
  static const std::vector<const MetricInfo*> by_id = [] {
    std::vector<const MetricInfo*> infos;
    for (const MetricInfo& info : kCatalogue) infos.push_back(&info);
    std::ranges::sort(infos, [](const MetricInfo* a, const MetricInfo* b) { return a->id < b->id; });
    return infos;
  }();
  const auto found =
      std::lower_bound(by_id.begin(), by_id.end(), id,
                       [](const MetricInfo* info, std::string_view wanted) { return info->id < wanted; });
  return found == by_id.end() || (*found)->id != id ? nullptr : *found;
}

const PartsInfo* PartsOf(std::string_view scope) {
  const auto* const found = std::ranges::find_if(kParts, [&](const PartsInfo& info) {
    return scope.starts_with(info.prefix) && scope.size() > info.prefix.size();
  });
  return found == std::end(kParts) ? nullptr : found;
}

void AddMetricValue(AnalysisResult* result, std::string_view id, double value, std::string scope) {
  const MetricInfo* info = FindMetric(id);
  assert(info != nullptr && "metric without a line in metrics.cpp");
  if (info != nullptr) result->metrics.push_back({info->id, std::move(scope), value});
}

std::string_view BetterName(Better better) {
  switch (better) {
    case Better::kLower:
      return "lower";
    case Better::kHigher:
      return "higher";
    case Better::kNeither:
      break;
  }
  return "neither";
}

std::string_view UnitName(Unit unit) {
  switch (unit) {
    case Unit::kText:
      return "";
    case Unit::kCount:
      return "count";
    case Unit::kNs:
      return "ns";
    case Unit::kBytes:
      return "bytes";
    case Unit::kPercent:
      return "percent";
    case Unit::kBytesPerSecond:
      return "bytes/s";
    case Unit::kPerSecond:
      return "1/s";
  }
  return "";
}

}  // namespace gprof
