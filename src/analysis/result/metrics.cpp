// The catalogue of metrics. An id, once released, keeps its meaning: budgets and baselines of users name it.
#include "analysis/result/metrics.h"

#include <algorithm>
#include <cassert>
#include <type_traits>

namespace gprof {
namespace {

constexpr Unit kNs = Unit::kNs, kCount = Unit::kCount, kBytes = Unit::kBytes, kPercent = Unit::kPercent;
constexpr Better kLower = Better::kLower, kHigher = Better::kHigher, kNeither = Better::kNeither;
// Whether a figure is the same in every run of the same program.
constexpr bool kExact = true, kTimed = false;
// What it takes to know a figure.
using enum Fact;
constexpr FactSet kNothing = FactSet::None();
constexpr FactSet kCause = kOperations | kApiCalls;  // of what a GPU did or did not do: the calls of the host
static_assert(!std::is_default_constructible_v<FactSet>, "a row that does not say what it needs must not compile");

constexpr MetricInfo kCatalogue[] = {
    {"run.wall_ns", kNs, kLower, kTimed, "from the first to the last record, what was not selected included",
     kProcessTimes},
    {"gpu.window_ns", kNs, kLower, kTimed,
     "from the first to the last GPU operation, less pauses between captures, summed over the GPUs", kOperations},
    {"gpu.busy_ns", kNs, kLower, kTimed, "part of the window with a kernel, copy or fill running", kOperations},
    {"gpu.busy_percent", kPercent, kHigher, kTimed, "busy time in percent of the window", kOperations},
    {"gpu.kernel_ns", kNs, kLower, kTimed, "part of the window with a kernel running", kOperations},
    {"gpu.copy_only_ns", kNs, kLower, kTimed, "busy time without a kernel running", kOperations},
    {"gpu.idle_ns", kNs, kLower, kTimed, "window less busy time", kOperations},
    {"gpu.idle_percent", kPercent, kLower, kTimed, "idle time in percent of the window", kOperations},
    {"gpu.startup_ns", kNs, kLower, kTimed,
     "recorded time of the process before the GPU's first operation, of several the longest, summed over the GPUs",
     kOperations | kProcessTimes},
    {"gpu.teardown_ns", kNs, kLower, kTimed, "the same after the GPU's last operation", kOperations | kProcessTimes},
    {"gpu.operations", kCount, kNeither, kExact, "kernels, copies, fills and whole graphs that ran on a GPU",
     kOperations},

    {"idle.queue_ns", kNs, kLower, kTimed, "idle although the launching call had returned: work was queued", kCause},
    {"idle.dependency_ns", kNs, kLower, kTimed, "idle while queued work waited for an event of another stream",
     kCause | kEvents},
    {"idle.launch_ns", kNs, kLower, kTimed, "idle from the entry of the launching call to the start on the GPU",
     kCause},
    {"idle.sync_ns", kNs, kLower, kTimed, "idle while the launching thread was in a synchronising call", kCause},
    {"idle.copy_ns", kNs, kLower, kTimed, "idle while the launching thread was in a blocking copy or fill", kCause},
    {"idle.memory_ns", kNs, kLower, kTimed,
     "idle while the launching thread allocated, freed or registered memory, or work waited for managed memory",
     kCause},
    {"idle.load_ns", kNs, kLower, kTimed, "idle while contexts or code were loaded or compiled", kCause},
    {"idle.api_ns", kNs, kLower, kTimed, "idle while the launching thread was in another CUDA call", kCause},
    {"idle.host_ns", kNs, kLower, kTimed, "idle while the launching thread ran its own code", kCause},
    {"idle.profiler_ns", kNs, kLower, kTimed, "idle while the recording itself held up the launching thread",
     kCause | kOverheads},
    {"idle.unknown_ns", kNs, kLower, kTimed, "idle without a launching call in the trace that would explain it",
     kCause},
    {"gaps.count", kCount, kLower, kTimed, "idle intervals between GPU operations", kOperations},
    {"gaps.longest_ns", kNs, kLower, kTimed, "longest idle interval", kOperations},

    {"kernels.count", kCount, kNeither, kExact, "kernels that ran; those of graphs recorded as a whole are not in it",
     kOperations},
    {"kernels.total_ns", kNs, kLower, kTimed, "sum of the durations of all kernels", kOperations},
    {"kernels.median_ns", kNs, kLower, kTimed, "median duration of the runs of a kernel; only per kernel", kOperations},
    {"kernels.distinct", kCount, kNeither, kExact, "kernels with different names", kOperations},
    {"launches.count", kCount, kLower, kExact, "calls that launch kernels or graphs", kApiCalls},
    {"launches.per_second", Unit::kPerSecond, kNeither, kTimed, "those calls by second of the window", kCause},
    {"launches.call_ns", kNs, kLower, kTimed, "time in those calls, summed over the threads", kApiCalls},
    {"launches.interval_median_ns", kNs, kLower, kTimed, "median time from a launch to the next one of its thread",
     kApiCalls},
    {"launches.queued", kCount, kNeither, kTimed, "kernels that started after their launching call had returned",
     kCause},
    {"launches.queue_ns", kNs, kNeither, kTimed, "time from that return to the start, summed over those kernels",
     kCause},
    {"launches.late_kernels", kCount, kLower, kTimed,
     "kernels that a dry GPU waited for because launching them took long", kCause},
    {"launches.late_idle_ns", kNs, kLower, kTimed, "idle time before those kernels", kCause},
    {"launches.depth0_ns", kNs, kLower, kTimed, "part of the window with nothing launched that had not finished",
     kCause},
    {"launches.depth1_ns", kNs, kNeither, kTimed, "part of the window with one operation launched and not finished",
     kCause},
    {"launches.depth2_ns", kNs, kHigher, kTimed, "part of the window with two or more", kCause},
    {"launches.max_depth", kCount, kNeither, kTimed, "most operations launched and not finished at one time", kCause},
    {"kernels.small_count", kCount, kLower, kTimed, "kernels that ran for less than 10 us", kOperations},
    {"kernels.small_ns", kNs, kLower, kTimed, "time of those kernels", kOperations},
    {"kernels.small_percent", kPercent, kLower, kTimed, "that time in percent of the time of all kernels", kOperations},
    {"chains.count", kCount, kNeither, kTimed, "different sequences of operations that a stream repeated", kCause},
    {"chains.operations", kCount, kNeither, kTimed, "operations in them, all repetitions counted", kCause},
    {"chains.idle_ns", kNs, kLower, kTimed, "idle time between operations of a repetition, gaps of at most 50 us",
     kCause},
    {"occupancy.percent", kPercent, kHigher, kTimed,
     "warps that fit on an SM by the launch, in percent of those it has room for; mean by kernel time",
     kOperations | kShapes | kDevices},
    {"occupancy.unused_ns", kNs, kLower, kTimed, "kernel time, less the share of SMs and lanes with work",
     kOperations | kShapes | kDevices},
    {"occupancy.small_grid_count", kCount, kLower, kExact, "kernels with fewer blocks than the GPU has SMs",
     kOperations | kShapes | kDevices},
    {"occupancy.small_grid_ns", kNs, kLower, kTimed, "time of those kernels", kOperations | kShapes | kDevices},
    {"occupancy.below_warp_count", kCount, kLower, kExact, "kernels with blocks smaller than a warp",
     kOperations | kShapes | kDevices},
    {"graphs.launches", kCount, kNeither, kExact, "graphs that were recorded as a whole", kOperations},

    {"memcpy.count", kCount, kLower, kExact, "copies of every direction", kOperations},
    {"memcpy.bytes", kBytes, kLower, kExact, "bytes copied in every direction", kOperations},
    {"memcpy.total_ns", kNs, kLower, kTimed, "sum of the durations of all copies", kOperations},
    {"memcpy.h2d_count", kCount, kLower, kExact, "copies from host to device", kOperations},
    {"memcpy.h2d_bytes", kBytes, kLower, kExact, "bytes copied from host to device", kOperations},
    {"memcpy.h2d_ns", kNs, kLower, kTimed, "time of the copies from host to device", kOperations},
    {"memcpy.d2h_count", kCount, kLower, kExact, "copies from device to host", kOperations},
    {"memcpy.d2h_bytes", kBytes, kLower, kExact, "bytes copied from device to host", kOperations},
    {"memcpy.d2h_ns", kNs, kLower, kTimed, "time of the copies from device to host", kOperations},
    {"memcpy.d2d_count", kCount, kLower, kExact, "copies within a device", kOperations},
    {"memcpy.d2d_bytes", kBytes, kLower, kExact, "bytes copied within a device", kOperations},
    {"memcpy.d2d_ns", kNs, kLower, kTimed, "time of the copies within a device", kOperations},
    {"memcpy.p2p_count", kCount, kLower, kExact, "copies from device to device", kOperations},
    {"memcpy.p2p_bytes", kBytes, kLower, kExact, "bytes copied from device to device", kOperations},
    {"memcpy.p2p_ns", kNs, kLower, kTimed, "time of the copies from device to device", kOperations},
    {"memcpy.pageable_count", kCount, kLower, kExact, "copies from or to pageable host memory",
     kOperations | kMemoryKinds},
    {"memcpy.pageable_bytes", kBytes, kLower, kExact, "bytes of those copies", kOperations | kMemoryKinds},
    {"memcpy.pageable_ns", kNs, kLower, kTimed, "time of those copies on the GPU", kOperations | kMemoryKinds},
    {"memcpy.pageable_blocked_ns", kNs, kLower, kTimed,
     "time that those copies held up the host, without waiting for earlier work", kCause | kMemoryKinds},
    {"memcpy.small_count", kCount, kLower, kExact, "copies between host and device of 64 KiB or less", kOperations},
    {"memcpy.latency_bound_count", kCount, kLower, kTimed, "copies between host and device that are mostly latency",
     kOperations},
    {"memcpy.latency_bound_ns", kNs, kLower, kTimed, "time of those copies", kOperations},
    {"memcpy.h2d_best_bytes_per_second", Unit::kBytesPerSecond, kHigher, kTimed,
     "bandwidth of the fastest copy from host to device above 64 KiB", kOperations},
    {"memcpy.d2h_best_bytes_per_second", Unit::kBytesPerSecond, kHigher, kTimed,
     "bandwidth of the fastest copy from device to host above 64 KiB", kOperations},
    {"memcpy.link_bytes_per_second", Unit::kBytesPerSecond, kNeither, kExact,
     "what the PCIe link of the GPU can carry after line coding", kOperations | kDevices},
    {"memcpy.overlappable_ns", kNs, kLower, kTimed, "time of copies that kernels next to them could have hidden",
     kCause | kMemoryKinds},
    {"memset.count", kCount, kLower, kExact, "fills", kOperations},
    {"memset.bytes", kBytes, kLower, kExact, "bytes filled", kOperations},
    {"memset.total_ns", kNs, kLower, kTimed, "sum of the durations of all fills", kOperations},

    {"memory.peak_bytes", kBytes, kLower, kTimed,
     "most device memory allocated at one time; whole trace: of the GPU with the most", kMemory},
    {"memory.allocations", kCount, kLower, kExact, "allocations of every sort of memory", kMemory},
    {"memory.frees", kCount, kNeither, kExact, "frees of every sort of memory", kMemory},
    {"memory.leaked_bytes", kBytes, kLower, kExact, "bytes that were allocated and not freed while it was recorded",
     kMemory},
    {"memory.churn_count", kCount, kLower, kTimed,
     "allocations with a block that had been freed before and could have been kept: of the same size, function and "
     "NVTX range, or any block where the trace has no records of memory",
     kApiCalls},
    {"memory.churn_ns", kNs, kLower, kTimed, "host time of those allocations and of the frees before them", kApiCalls},
    {"memory.churn_idle_ns", kNs, kLower, kTimed, "idle time with one of those calls as its cause", kCause},
    {"memory.growth_bytes", kBytes, kLower, kTimed,
     "bytes that one place allocated in step after step and that were there after the last one", kMemory},
    {"memory.managed_h2d_count", kCount, kLower, kTimed, "migrations of managed memory from host to device",
     kManagedMemory},
    {"memory.managed_h2d_bytes", kBytes, kLower, kTimed, "bytes of those migrations", kManagedMemory},
    {"memory.managed_h2d_ns", kNs, kLower, kTimed, "time of those migrations", kManagedMemory},
    {"memory.managed_d2h_count", kCount, kLower, kTimed, "migrations of managed memory from device to host",
     kManagedMemory},
    {"memory.managed_d2h_bytes", kBytes, kLower, kTimed, "bytes of those migrations", kManagedMemory},
    {"memory.managed_d2h_ns", kNs, kLower, kTimed, "time of those migrations", kManagedMemory},
    {"memory.managed_d2d_count", kCount, kLower, kTimed, "migrations of managed memory from device to device",
     kManagedMemory},
    {"memory.managed_d2d_bytes", kBytes, kLower, kTimed, "bytes of those migrations", kManagedMemory},
    {"memory.managed_d2d_ns", kNs, kLower, kTimed, "time of those migrations", kManagedMemory},
    {"memory.gpu_page_faults", kCount, kLower, kTimed, "pages of managed memory that a GPU faulted on", kGpuPageFaults},
    {"memory.gpu_fault_ns", kNs, kLower, kTimed, "time that the driver took for those faults", kGpuPageFaults},
    {"memory.cpu_page_faults", kCount, kLower, kTimed, "page faults of the host on managed memory", kCpuPageFaults},

    {"streams.created", kCount, kNeither, kExact, "streams that the program created", kApiCalls | kStreamsMade},
    {"streams.used", kCount, kNeither, kExact, "streams with an operation, default streams among them", kOperations},
    {"streams.named", kCount, kNeither, kExact, "names that the program gave to streams through NVTX",
     kApiCalls | kStreamsMade},
    {"streams.max_concurrency", kCount, kHigher, kTimed, "most streams that had an operation running at one time",
     kOperations},
    {"streams.overlap_ns", kNs, kHigher, kTimed, "time with operations of two or more streams running", kOperations},
    {"streams.overlap_percent", kPercent, kHigher, kTimed, "that time in percent of the busy time", kOperations},
    {"streams.kernel_overlap_ns", kNs, kHigher, kTimed, "time with kernels of two or more streams running",
     kOperations},
    {"streams.copy_compute_ns", kNs, kHigher, kTimed, "time with a kernel and a copy running", kOperations},
    {"streams.two_way_ns", kNs, kHigher, kTimed, "time with a copy to the device and one to the host running",
     kOperations},
    {"streams.unused", kCount, kLower, kExact, "streams that the program created and never used",
     kApiCalls | kStreamsMade},
    {"streams.renamed", kCount, kLower, kExact, "stream handles that were given several names: one used as several",
     kApiCalls | kStreamsMade},
    {"streams.never_overlapped", kCount, kNeither, kTimed,
     "streams with operations, none of them beside another stream", kOperations},
    {"streams.priorities", kCount, kNeither, kExact, "different priorities of the streams with operations",
     kOperations | kPriorities},
    {"streams.default_splits", kCount, kLower, kTimed,
     "runs of default stream operations with work of blocking streams before and after", kOperations | kStreamsMade},
    {"streams.default_split_ns", kNs, kLower, kTimed, "time of those operations", kOperations | kStreamsMade},
    {"streams.event_waits", kCount, kNeither, kExact, "times that a stream was told to wait for an event",
     kCause | kSyncs | kEvents},
    {"streams.event_held_ns", kNs, kLower, kTimed,
     "time that launched work of a free stream was held up by an event of another, summed over the streams",
     kCause | kSyncs | kEvents},
    {"streams.event_idle_ns", kNs, kLower, kTimed, "idle time with such a wait as its cause",
     kCause | kSyncs | kEvents},

    {"sync.count", kCount, kLower, kExact, "calls that wait for a device, stream or event", kApiCalls},
    {"sync.host_blocked_ns", kNs, kLower, kTimed, "time that host threads spent in those calls", kApiCalls},
    {"sync.idle_ns", kNs, kLower, kTimed, "idle time with one of those calls as its cause", kCause},
    {"sync.device_count", kCount, kLower, kExact, "those calls that wait for a device or context", kApiCalls},
    {"sync.device_blocked_ns", kNs, kLower, kTimed, "time that host threads spent in those", kApiCalls},
    {"sync.stream_count", kCount, kLower, kExact, "those calls that wait for a stream", kApiCalls},
    {"sync.stream_blocked_ns", kNs, kLower, kTimed, "time that host threads spent in those", kApiCalls},
    {"sync.event_count", kCount, kLower, kExact, "those calls that wait for an event", kApiCalls},
    {"sync.event_blocked_ns", kNs, kLower, kTimed, "time that host threads spent in those", kApiCalls},
    {"sync.copy_count", kCount, kLower, kExact, "copies and fills that make the host wait", kApiCalls | kMemoryKinds},
    {"sync.copy_blocked_ns", kNs, kLower, kTimed, "time that host threads spent in those", kApiCalls | kMemoryKinds},
    {"sync.copy_idle_ns", kNs, kLower, kTimed, "idle time with one of those as its cause", kCause | kMemoryKinds},
    {"sync.implied_count", kCount, kLower, kTimed, "frees and other memory calls that waited for the GPU",
     kApiCalls | kSyncs},
    {"sync.implied_blocked_ns", kNs, kLower, kTimed, "time that host threads spent in those", kApiCalls | kSyncs},
    {"sync.implied_idle_ns", kNs, kLower, kTimed, "idle time with one of those as its cause", kCause | kSyncs},
    {"sync.polling_loops", kCount, kLower, kTimed, "ten queries of streams or events in a row, or more", kApiCalls},
    {"sync.polling_calls", kCount, kLower, kTimed, "queries in those loops", kApiCalls},
    {"sync.polling_ns", kNs, kLower, kTimed, "time of those loops, summed over the threads", kApiCalls},

    {"api.calls", kCount, kLower, kExact, "CUDA calls of the program; calls within calls are not counted", kApiCalls},
    {"api.total_ns", kNs, kLower, kTimed, "time in those calls, summed over the threads", kApiCalls},

    {"api.errors", kCount, kLower, kExact, "calls that returned an error; queries that answer 'not ready' are none",
     kApiCalls | kResults},

    {"graphs.runs", kCount, kNeither, kExact, "launches of CUDA graphs, recorded as a whole or node by node",
     kOperations},
    {"graphs.distinct", kCount, kNeither, kExact, "different graphs among them", kOperations},
    {"graphs.gpu_ns", kNs, kLower, kTimed, "time from the first to the last node of each launch, summed", kOperations},
    {"graphs.nodes", kCount, kNeither, kTimed, "operations that graphs launched, where they were recorded node by node",
     kOperations | kGraphNodes},
    {"graphs.instantiations", kCount, kLower, kExact, "calls that instantiate a graph", kApiCalls},
    {"graphs.instantiate_ns", kNs, kLower, kTimed, "time in those calls", kApiCalls},

    {"startup.longest_ns", kNs, kLower, kTimed,
     "from the start of a process to its first GPU operation, of the slowest one", kCause | kProcessTimes},
    {"startup.own_ns", kNs, kLower, kTimed,
     "part of it in own code; this and the following are sums over the processes", kCause | kProcessTimes},
    {"startup.context_ns", kNs, kLower, kTimed, "part of it in calls that make the CUDA context", kCause},
    {"startup.load_ns", kNs, kLower, kTimed, "part of it that loading modules and kernels took", kCause},
    {"startup.compile_ns", kNs, kLower, kTimed, "part of it that the just-in-time compiler and its cache took",
     kCause | kOverheads},
    {"startup.profiler_ns", kNs, kLower, kTimed, "part of it that the recording took", kCause | kOverheads},
    {"startup.first_launch_ns", kNs, kLower, kTimed,
     "what first launches of kernels took more than the median of their launches", kCause},
    {"jit.compiles", kCount, kLower, kTimed, "kernels and modules that were compiled at run time",
     kApiCalls | kCompilations},
    {"jit.compile_ns", kNs, kLower, kTimed, "time that took", kApiCalls | kCompilations},

    {"nvtx.ranges", kCount, kNeither, kExact, "NVTX ranges; per range: how often it was entered", kNvtx},
    {"nvtx.marks", kCount, kNeither, kExact, "NVTX marks", kNvtx},
    {"nvtx.payloads", kCount, kNeither, kExact, "NVTX events with a payload that says more about them", kNvtx},
    {"nvtx.payload_bytes", kBytes, kNeither, kExact, "message sizes that payloads name (\"size [bytes]\"), summed",
     kNvtx},
    {"nvtx.total_ns", kNs, kLower, kTimed, "time within the range, summed over its entries", kNvtx},
    {"nvtx.self_ns", kNs, kLower, kTimed, "that time, less the push/pop ranges directly within", kNvtx},
    {"nvtx.gpu_idle_ns", kNs, kLower, kTimed,
     "idle time of the GPU that the range's thread uses most, within the range", kCause | kNvtx},
    {"nvtx.gpu_busy_ns", kNs, kLower, kTimed, "GPU time of the operations launched within the range", kCause | kNvtx},
    {"nvtx.kernels", kCount, kNeither, kExact, "kernels launched within the range", kCause | kNvtx},

    {"balance.waiting_ns", kNs, kLower, kTimed, "idle time of a GPU while another was busy, summed over the GPUs",
     kOperations},
    {"balance.imbalance_percent", kPercent, kLower, kTimed,
     "busy time of the busiest GPU above the mean, in percent of the mean", kOperations},
    {"balance.peer_bytes", kBytes, kNeither, kExact, "bytes copied between GPUs", kOperations},
    {"nccl.kernels", kCount, kNeither, kExact, "kernels of NCCL", kOperations},
    {"nccl.total_ns", kNs, kLower, kTimed, "time with a kernel of NCCL running, summed over the GPUs", kOperations},
    {"nccl.exposed_ns", kNs, kLower, kTimed, "part of it with no other kernel running on the same GPU", kOperations},
    {"nccl.exposed_percent", kPercent, kLower, kTimed, "exposed time in percent of the time of NCCL", kOperations},
    {"nccl.waiting_ns", kNs, kLower, kTimed,
     "time that kernels of NCCL ran before the last GPU of their collective began, summed over the GPUs", kOperations},

    {"critical.window_ns", kNs, kLower, kTimed,
     "from the first CUDA call or operation to the end of the last; the parts of the critical path below sum to it",
     kCause},
    {"critical.kernel_ns", kNs, kLower, kTimed, "kernels and whole graphs on the critical path", kCause},
    {"critical.copy_ns", kNs, kLower, kTimed, "copies and fills on it", kCause},
    {"critical.queue_ns", kNs, kLower, kTimed, "work launched and not started, although what it waited for was done",
     kCause},
    {"critical.launch_ns", kNs, kLower, kTimed, "launching calls on it", kCause},
    {"critical.sync_ns", kNs, kLower, kTimed, "synchronising calls on it, without the work that they waited for",
     kCause},
    {"critical.copy_call_ns", kNs, kLower, kTimed, "blocking copies and fills on it, without the time on the GPU",
     kCause},
    {"critical.memory_ns", kNs, kLower, kTimed, "allocations, frees and registrations on it", kCause},
    {"critical.load_ns", kNs, kLower, kTimed, "loading and compiling on it", kCause},
    {"critical.api_ns", kNs, kLower, kTimed, "other CUDA calls on it", kCause},
    {"critical.host_ns", kNs, kLower, kTimed, "the host's own code on it", kCause},
    {"critical.profiler_ns", kNs, kLower, kTimed, "recording that held up the host on it", kCause | kOverheads},
    {"critical.unknown_ns", kNs, kLower, kTimed, "time before work whose launching call is not in the trace", kCause},

    {"step.count", kCount, kNeither, kExact, "iterations of the NVTX range that stands for a step", kNvtx},
    {"step.warmup_count", kCount, kNeither, kTimed, "slow iterations before the first that is not slow", kNvtx},
    {"step.outliers", kCount, kLower, kTimed, "later iterations longer than the median by 5 times the median deviation",
     kNvtx},
    {"step.mean_ns", kNs, kLower, kTimed, "mean time of an iteration, without the warm-up as those below", kNvtx},
    {"step.median_ns", kNs, kLower, kTimed, "median time of an iteration", kNvtx},
    {"step.p95_ns", kNs, kLower, kTimed, "time that 95 % of the iterations do not exceed", kNvtx},
    {"step.p99_ns", kNs, kLower, kTimed, "time that 99 % of the iterations do not exceed", kNvtx},
    {"step.max_ns", kNs, kLower, kTimed, "time of the slowest iteration", kNvtx},
    {"step.trend_percent", kPercent, kLower, kTimed,
     "change from the first to the last iteration in percent of the median, by a robust slope", kNvtx},
    {"step.idle_percent", kPercent, kLower, kTimed, "idle time of the GPU in percent of the time of the iterations",
     kOperations | kNvtx},

    {"health.complete", kCount, kHigher, kExact, "1 when nothing is known to be missing from the trace, else 0",
     kNothing},
    {"health.lost_records", kCount, kLower, kTimed, "records that were dropped while recording", kNothing},
    {"health.damaged_chunks", kCount, kLower, kTimed, "parts of the file that could not be read", kNothing},
    {"health.missing_chunks", kCount, kLower, kTimed, "parts that were written and are not in the file", kNothing},
    {"health.duplicate_chunks", kCount, kLower, kTimed, "parts that are in the file twice", kNothing},
    {"health.skipped_bytes", kBytes, kLower, kTimed, "bytes of the file that belong to nothing", kNothing},
    {"health.unknown_chunks", kCount, kLower, kTimed, "parts of a kind or version that this build does not know",
     kNothing},
    {"health.unknown_records", kCount, kLower, kTimed, "records of a kind that this build does not know", kNothing},
    {"health.truncated", kCount, kLower, kTimed, "1 when the file ends within a chunk", kNothing},
    {"health.bad_times", kCount, kLower, kTimed, "operations without usable times, left out of every figure", kNothing},
    {"health.early_ops", kCount, kLower, kTimed, "operations that seem to start before their call", kNothing},
    {"health.unmatched_launches", kCount, kLower, kTimed, "launching calls without their GPU operation", kNothing},
    {"health.unmatched_ops", kCount, kLower, kTimed, "GPU operations without their launching call", kNothing},
    {"health.unfinished_processes", kCount, kLower, kTimed, "processes that did not end cleanly", kNothing},
    {"health.salvaged_processes", kCount, kLower, kTimed, "processes that died, and what they left was recovered",
     kNothing},
    {"health.unfinished_gpu_work", kCount, kLower, kTimed, "processes whose last GPU work may be missing", kNothing},
    {"health.ops_from_before", kCount, kNeither, kTimed, "GPU operations launched before the capture that they ran in",
     kNothing},
    {"health.open_ranges", kCount, kLower, kTimed, "NVTX ranges that were never ended", kNothing},
    {"health.unmatched_nvtx_ends", kCount, kLower, kTimed, "ends of NVTX ranges without their start", kNothing},
    {"health.missing_strings", kCount, kLower, kTimed, "names that are missing from the file", kNothing},
    {"health.warnings", kCount, kLower, kTimed, "warnings and errors that the tracer wrote into the trace", kNothing},
    {"health.clocks_ns", kNs, kLower, kTimed, "clocks of host, CUPTI and GPU agree to this, as far as the trace shows",
     kClocks},
    {"health.overhead_ns", kNs, kLower, kTimed, "estimate of what recording cost, summed over the threads",
     kRecordingCost},
    {"health.overhead_percent", kPercent, kLower, kTimed,
     "the same of the thread with the most, in percent of its time from first to last event", kRecordingCost},
    {"health.overhead_gpu_percent", kPercent, kLower, kTimed,
     "what recording cost between the first and the last GPU operation, in percent of that; of the thread with the "
     "most",
     kRecordingCost},
};

}  // namespace

std::span<const MetricInfo> MetricCatalogue() { return kCatalogue; }

const MetricInfo* FindMetric(std::string_view id) {
  const auto* found = std::find_if(std::begin(kCatalogue), std::end(kCatalogue),
                                   [id](const MetricInfo& info) { return info.id == id; });
  return found == std::end(kCatalogue) ? nullptr : found;
}

void AddMetricValue(AnalysisResult* result, std::string_view id, double value, std::string scope) {
  const MetricInfo* info = FindMetric(id);
  assert(info != nullptr && "metric without a line in metrics.cpp");
  if (info != nullptr) result->metrics.push_back({info->id, std::move(scope), value});
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
