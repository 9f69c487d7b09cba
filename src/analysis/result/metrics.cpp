// The catalogue of metrics. An id, once released, keeps its meaning: budgets and baselines of users name it.
#include "analysis/result/metrics.h"

#include <algorithm>
#include <cassert>

namespace gprof {
namespace {

constexpr Unit kNs = Unit::kNs, kCount = Unit::kCount, kBytes = Unit::kBytes, kPercent = Unit::kPercent;
constexpr Better kLower = Better::kLower, kHigher = Better::kHigher, kNeither = Better::kNeither;
// Whether a figure is the same in every run of the same program.
constexpr bool kExact = true, kTimed = false;

constexpr MetricInfo kCatalogue[] = {
    {"run.wall_ns", kNs, kLower, kTimed, "from the first to the last record, what was not selected included"},
    {"gpu.window_ns", kNs, kLower, kTimed,
     "from the first to the last GPU operation, less pauses between captures, summed over the GPUs"},
    {"gpu.busy_ns", kNs, kLower, kTimed, "part of the window with a kernel, copy or fill running"},
    {"gpu.busy_percent", kPercent, kHigher, kTimed, "busy time in percent of the window"},
    {"gpu.kernel_ns", kNs, kLower, kTimed, "part of the window with a kernel running"},
    {"gpu.copy_only_ns", kNs, kLower, kTimed, "busy time without a kernel running"},
    {"gpu.idle_ns", kNs, kLower, kTimed, "window less busy time"},
    {"gpu.idle_percent", kPercent, kLower, kTimed, "idle time in percent of the window"},
    {"gpu.startup_ns", kNs, kLower, kTimed,
     "recorded time of the process before the GPU's first operation, of several the longest, summed over the GPUs"},
    {"gpu.teardown_ns", kNs, kLower, kTimed, "the same after the GPU's last operation"},
    {"gpu.operations", kCount, kNeither, kExact, "kernels, copies, fills and whole graphs that ran on a GPU"},

    {"idle.queue_ns", kNs, kLower, kTimed, "idle although the launching call had returned: work was queued"},
    {"idle.dependency_ns", kNs, kLower, kTimed, "idle while queued work waited for an event of another stream"},
    {"idle.launch_ns", kNs, kLower, kTimed, "idle from the entry of the launching call to the start on the GPU"},
    {"idle.sync_ns", kNs, kLower, kTimed, "idle while the launching thread was in a synchronising call"},
    {"idle.copy_ns", kNs, kLower, kTimed, "idle while the launching thread was in a blocking copy or fill"},
    {"idle.memory_ns", kNs, kLower, kTimed,
     "idle while the launching thread allocated, freed or registered memory, or work waited for managed memory"},
    {"idle.load_ns", kNs, kLower, kTimed, "idle while contexts or code were loaded or compiled"},
    {"idle.api_ns", kNs, kLower, kTimed, "idle while the launching thread was in another CUDA call"},
    {"idle.host_ns", kNs, kLower, kTimed, "idle while the launching thread ran its own code"},
    {"idle.profiler_ns", kNs, kLower, kTimed, "idle while the recording itself held up the launching thread"},
    {"idle.unknown_ns", kNs, kLower, kTimed, "idle without a launching call in the trace that would explain it"},
    {"gaps.count", kCount, kLower, kTimed, "idle intervals between GPU operations"},
    {"gaps.longest_ns", kNs, kLower, kTimed, "longest idle interval"},

    {"kernels.count", kCount, kNeither, kExact, "kernels that ran; those of graphs recorded as a whole are not in it"},
    {"kernels.total_ns", kNs, kLower, kTimed, "sum of the durations of all kernels"},
    {"kernels.median_ns", kNs, kLower, kTimed, "median duration of the runs of a kernel; only per kernel"},
    {"kernels.distinct", kCount, kNeither, kExact, "kernels with different names"},
    {"launches.count", kCount, kLower, kExact, "calls that launch kernels or graphs"},
    {"launches.per_second", Unit::kPerSecond, kNeither, kTimed, "those calls by second of the window"},
    {"launches.call_ns", kNs, kLower, kTimed, "time in those calls, summed over the threads"},
    {"launches.interval_median_ns", kNs, kLower, kTimed, "median time from a launch to the next one of its thread"},
    {"launches.queued", kCount, kNeither, kTimed, "kernels that started after their launching call had returned"},
    {"launches.queue_ns", kNs, kNeither, kTimed, "time from that return to the start, summed over those kernels"},
    {"launches.late_kernels", kCount, kLower, kTimed,
     "kernels that a dry GPU waited for because launching them took long"},
    {"launches.late_idle_ns", kNs, kLower, kTimed, "idle time before those kernels"},
    {"launches.depth0_ns", kNs, kLower, kTimed, "part of the window with nothing launched that had not finished"},
    {"launches.depth1_ns", kNs, kNeither, kTimed, "part of the window with one operation launched and not finished"},
    {"launches.depth2_ns", kNs, kHigher, kTimed, "part of the window with two or more"},
    {"launches.max_depth", kCount, kNeither, kTimed, "most operations launched and not finished at one time"},
    {"kernels.small_count", kCount, kLower, kTimed, "kernels that ran for less than 10 us"},
    {"kernels.small_ns", kNs, kLower, kTimed, "time of those kernels"},
    {"kernels.small_percent", kPercent, kLower, kTimed, "that time in percent of the time of all kernels"},
    {"chains.count", kCount, kNeither, kTimed, "different sequences of operations that a stream repeated"},
    {"chains.operations", kCount, kNeither, kTimed, "operations in them, all repetitions counted"},
    {"chains.idle_ns", kNs, kLower, kTimed, "idle time between operations of a repetition, gaps of at most 50 us"},
    {"occupancy.percent", kPercent, kHigher, kTimed,
     "warps that fit on an SM by the launch, in percent of those it has room for; mean by kernel time"},
    {"occupancy.unused_ns", kNs, kLower, kTimed, "kernel time, less the share of SMs and lanes with work"},
    {"occupancy.small_grid_count", kCount, kLower, kExact, "kernels with fewer blocks than the GPU has SMs"},
    {"occupancy.small_grid_ns", kNs, kLower, kTimed, "time of those kernels"},
    {"occupancy.below_warp_count", kCount, kLower, kExact, "kernels with blocks smaller than a warp"},
    {"graphs.launches", kCount, kNeither, kExact, "graphs that were recorded as a whole"},

    {"memcpy.count", kCount, kLower, kExact, "copies of every direction"},
    {"memcpy.bytes", kBytes, kLower, kExact, "bytes copied in every direction"},
    {"memcpy.total_ns", kNs, kLower, kTimed, "sum of the durations of all copies"},
    {"memcpy.h2d_count", kCount, kLower, kExact, "copies from host to device"},
    {"memcpy.h2d_bytes", kBytes, kLower, kExact, "bytes copied from host to device"},
    {"memcpy.h2d_ns", kNs, kLower, kTimed, "time of the copies from host to device"},
    {"memcpy.d2h_count", kCount, kLower, kExact, "copies from device to host"},
    {"memcpy.d2h_bytes", kBytes, kLower, kExact, "bytes copied from device to host"},
    {"memcpy.d2h_ns", kNs, kLower, kTimed, "time of the copies from device to host"},
    {"memcpy.d2d_count", kCount, kLower, kExact, "copies within a device"},
    {"memcpy.d2d_bytes", kBytes, kLower, kExact, "bytes copied within a device"},
    {"memcpy.d2d_ns", kNs, kLower, kTimed, "time of the copies within a device"},
    {"memcpy.p2p_count", kCount, kLower, kExact, "copies from device to device"},
    {"memcpy.p2p_bytes", kBytes, kLower, kExact, "bytes copied from device to device"},
    {"memcpy.p2p_ns", kNs, kLower, kTimed, "time of the copies from device to device"},
    {"memcpy.pageable_count", kCount, kLower, kExact, "copies from or to pageable host memory"},
    {"memcpy.pageable_bytes", kBytes, kLower, kExact, "bytes of those copies"},
    {"memcpy.pageable_ns", kNs, kLower, kTimed, "time of those copies on the GPU"},
    {"memcpy.pageable_blocked_ns", kNs, kLower, kTimed, "time that those copies held up the host"},
    {"memcpy.small_count", kCount, kLower, kExact, "copies between host and device of 64 KiB or less"},
    {"memcpy.latency_bound_count", kCount, kLower, kTimed, "copies between host and device that are mostly latency"},
    {"memcpy.latency_bound_ns", kNs, kLower, kTimed, "time of those copies"},
    {"memcpy.h2d_best_bytes_per_second", Unit::kBytesPerSecond, kHigher, kTimed,
     "bandwidth of the fastest copy from host to device above 64 KiB"},
    {"memcpy.d2h_best_bytes_per_second", Unit::kBytesPerSecond, kHigher, kTimed,
     "bandwidth of the fastest copy from device to host above 64 KiB"},
    {"memcpy.link_bytes_per_second", Unit::kBytesPerSecond, kNeither, kExact,
     "what the PCIe link of the GPU can carry after line coding"},
    {"memcpy.overlappable_ns", kNs, kLower, kTimed, "time of copies that kernels next to them could have hidden"},
    {"memset.count", kCount, kLower, kExact, "fills"},
    {"memset.bytes", kBytes, kLower, kExact, "bytes filled"},
    {"memset.total_ns", kNs, kLower, kTimed, "sum of the durations of all fills"},

    {"memory.peak_bytes", kBytes, kLower, kTimed,
     "most device memory allocated at one time; whole trace: of the GPU with the most"},
    {"memory.allocations", kCount, kLower, kExact, "allocations of every sort of memory"},
    {"memory.frees", kCount, kNeither, kExact, "frees of every sort of memory"},
    {"memory.leaked_bytes", kBytes, kLower, kExact, "bytes that were allocated and not freed while it was recorded"},
    {"memory.churn_count", kCount, kLower, kTimed,
     "allocations with a block that had been freed before and could have been kept: of the same size, function and "
     "NVTX range, or any block where the trace has no records of memory"},
    {"memory.churn_ns", kNs, kLower, kTimed, "host time of those allocations and of the frees before them"},
    {"memory.churn_idle_ns", kNs, kLower, kTimed, "idle time with one of those calls as its cause"},
    {"memory.growth_bytes", kBytes, kLower, kTimed,
     "bytes that one place allocated in step after step and that were there after the last one"},
    {"memory.managed_h2d_count", kCount, kLower, kTimed, "migrations of managed memory from host to device"},
    {"memory.managed_h2d_bytes", kBytes, kLower, kTimed, "bytes of those migrations"},
    {"memory.managed_h2d_ns", kNs, kLower, kTimed, "time of those migrations"},
    {"memory.managed_d2h_count", kCount, kLower, kTimed, "migrations of managed memory from device to host"},
    {"memory.managed_d2h_bytes", kBytes, kLower, kTimed, "bytes of those migrations"},
    {"memory.managed_d2h_ns", kNs, kLower, kTimed, "time of those migrations"},
    {"memory.managed_d2d_count", kCount, kLower, kTimed, "migrations of managed memory from device to device"},
    {"memory.managed_d2d_bytes", kBytes, kLower, kTimed, "bytes of those migrations"},
    {"memory.managed_d2d_ns", kNs, kLower, kTimed, "time of those migrations"},
    {"memory.gpu_page_faults", kCount, kLower, kTimed, "pages of managed memory that a GPU faulted on"},
    {"memory.gpu_fault_ns", kNs, kLower, kTimed, "time that the driver took for those faults"},
    {"memory.cpu_page_faults", kCount, kLower, kTimed, "page faults of the host on managed memory"},

    {"streams.created", kCount, kNeither, kExact, "streams that the program created"},
    {"streams.used", kCount, kNeither, kExact, "streams with an operation, default streams among them"},
    {"streams.named", kCount, kNeither, kExact, "names that the program gave to streams through NVTX"},
    {"streams.max_concurrency", kCount, kHigher, kTimed, "most streams that had an operation running at one time"},
    {"streams.overlap_ns", kNs, kHigher, kTimed, "time with operations of two or more streams running"},
    {"streams.overlap_percent", kPercent, kHigher, kTimed, "that time in percent of the busy time"},
    {"streams.kernel_overlap_ns", kNs, kHigher, kTimed, "time with kernels of two or more streams running"},
    {"streams.copy_compute_ns", kNs, kHigher, kTimed, "time with a kernel and a copy running"},
    {"streams.two_way_ns", kNs, kHigher, kTimed, "time with a copy to the device and one to the host running"},
    {"streams.unused", kCount, kLower, kExact, "streams that the program created and never used"},
    {"streams.renamed", kCount, kLower, kExact, "stream handles that were given several names: one used as several"},
    {"streams.never_overlapped", kCount, kNeither, kTimed,
     "streams with operations, none of them beside another stream"},
    {"streams.priorities", kCount, kNeither, kExact, "different priorities of the streams with operations"},
    {"streams.default_splits", kCount, kLower, kTimed,
     "runs of default stream operations with work of blocking streams before and after"},
    {"streams.default_split_ns", kNs, kLower, kTimed, "time of those operations"},
    {"streams.event_waits", kCount, kNeither, kExact, "times that a stream was told to wait for an event"},
    {"streams.event_held_ns", kNs, kLower, kTimed,
     "time that launched work of a free stream was held up by an event of another, summed over the streams"},
    {"streams.event_idle_ns", kNs, kLower, kTimed, "idle time with such a wait as its cause"},

    {"sync.count", kCount, kLower, kExact, "calls that wait for a device, stream or event"},
    {"sync.host_blocked_ns", kNs, kLower, kTimed, "time that host threads spent in those calls"},
    {"sync.idle_ns", kNs, kLower, kTimed, "idle time with one of those calls as its cause"},
    {"sync.device_count", kCount, kLower, kExact, "those calls that wait for a device or context"},
    {"sync.device_blocked_ns", kNs, kLower, kTimed, "time that host threads spent in those"},
    {"sync.stream_count", kCount, kLower, kExact, "those calls that wait for a stream"},
    {"sync.stream_blocked_ns", kNs, kLower, kTimed, "time that host threads spent in those"},
    {"sync.event_count", kCount, kLower, kExact, "those calls that wait for an event"},
    {"sync.event_blocked_ns", kNs, kLower, kTimed, "time that host threads spent in those"},
    {"sync.copy_count", kCount, kLower, kExact, "copies and fills that make the host wait"},
    {"sync.copy_blocked_ns", kNs, kLower, kTimed, "time that host threads spent in those"},
    {"sync.copy_idle_ns", kNs, kLower, kTimed, "idle time with one of those as its cause"},
    {"sync.implied_count", kCount, kLower, kTimed, "frees and other memory calls that waited for the GPU"},
    {"sync.implied_blocked_ns", kNs, kLower, kTimed, "time that host threads spent in those"},
    {"sync.implied_idle_ns", kNs, kLower, kTimed, "idle time with one of those as its cause"},
    {"sync.polling_loops", kCount, kLower, kTimed, "ten queries of streams or events in a row, or more"},
    {"sync.polling_calls", kCount, kLower, kTimed, "queries in those loops"},
    {"sync.polling_ns", kNs, kLower, kTimed, "time of those loops, summed over the threads"},

    {"api.calls", kCount, kLower, kExact, "CUDA calls of the program; calls within calls are not counted"},
    {"api.total_ns", kNs, kLower, kTimed, "time in those calls, summed over the threads"},

    {"api.errors", kCount, kLower, kExact, "calls that returned an error; queries that answer 'not ready' are none"},

    {"graphs.runs", kCount, kNeither, kExact, "launches of CUDA graphs, recorded as a whole or node by node"},
    {"graphs.distinct", kCount, kNeither, kExact, "different graphs among them"},
    {"graphs.gpu_ns", kNs, kLower, kTimed, "time from the first to the last node of each launch, summed"},
    {"graphs.nodes", kCount, kNeither, kTimed,
     "operations that graphs launched, where they were recorded node by node"},
    {"graphs.instantiations", kCount, kLower, kExact, "calls that instantiate a graph"},
    {"graphs.instantiate_ns", kNs, kLower, kTimed, "time in those calls"},

    {"startup.longest_ns", kNs, kLower, kTimed,
     "from the start of a process to its first GPU operation, of the slowest one"},
    {"startup.own_ns", kNs, kLower, kTimed,
     "part of it in own code; this and the following are sums over the processes"},
    {"startup.context_ns", kNs, kLower, kTimed, "part of it in calls that make the CUDA context"},
    {"startup.load_ns", kNs, kLower, kTimed, "part of it that loading modules and kernels took"},
    {"startup.compile_ns", kNs, kLower, kTimed, "part of it that the just-in-time compiler and its cache took"},
    {"startup.profiler_ns", kNs, kLower, kTimed, "part of it that the recording took"},
    {"startup.first_launch_ns", kNs, kLower, kTimed,
     "what first launches of kernels took more than the median of their launches"},
    {"jit.compiles", kCount, kLower, kTimed, "kernels and modules that were compiled at run time"},
    {"jit.compile_ns", kNs, kLower, kTimed, "time that took"},

    {"nvtx.ranges", kCount, kNeither, kExact, "NVTX ranges; per range: how often it was entered"},
    {"nvtx.marks", kCount, kNeither, kExact, "NVTX marks"},
    {"nvtx.payloads", kCount, kNeither, kExact, "NVTX events with a payload that says more about them"},
    {"nvtx.payload_bytes", kBytes, kNeither, kExact, "message sizes that payloads name (\"size [bytes]\"), summed"},
    {"nvtx.total_ns", kNs, kLower, kTimed, "time within the range, summed over its entries"},
    {"nvtx.self_ns", kNs, kLower, kTimed, "that time, less the push/pop ranges directly within"},
    {"nvtx.gpu_idle_ns", kNs, kLower, kTimed,
     "idle time of the GPU that the range's thread uses most, within the range"},
    {"nvtx.gpu_busy_ns", kNs, kLower, kTimed, "GPU time of the operations launched within the range"},
    {"nvtx.kernels", kCount, kNeither, kExact, "kernels launched within the range"},

    {"balance.waiting_ns", kNs, kLower, kTimed, "idle time of a GPU while another was busy, summed over the GPUs"},
    {"balance.imbalance_percent", kPercent, kLower, kTimed,
     "busy time of the busiest GPU above the mean, in percent of the mean"},
    {"balance.peer_bytes", kBytes, kNeither, kExact, "bytes copied between GPUs"},
    {"nccl.kernels", kCount, kNeither, kExact, "kernels of NCCL"},
    {"nccl.total_ns", kNs, kLower, kTimed, "time with a kernel of NCCL running, summed over the GPUs"},
    {"nccl.exposed_ns", kNs, kLower, kTimed, "part of it with no other kernel running on the same GPU"},
    {"nccl.exposed_percent", kPercent, kLower, kTimed, "exposed time in percent of the time of NCCL"},
    {"nccl.waiting_ns", kNs, kLower, kTimed,
     "time that kernels of NCCL ran before the last GPU of their collective began, summed over the GPUs"},

    {"critical.window_ns", kNs, kLower, kTimed,
     "from the first CUDA call or operation to the end of the last; the parts of the critical path below sum to it"},
    {"critical.kernel_ns", kNs, kLower, kTimed, "kernels and whole graphs on the critical path"},
    {"critical.copy_ns", kNs, kLower, kTimed, "copies and fills on it"},
    {"critical.queue_ns", kNs, kLower, kTimed, "work launched and not started, although what it waited for was done"},
    {"critical.launch_ns", kNs, kLower, kTimed, "launching calls on it"},
    {"critical.sync_ns", kNs, kLower, kTimed, "synchronising calls on it, without the work that they waited for"},
    {"critical.copy_call_ns", kNs, kLower, kTimed, "blocking copies and fills on it, without the time on the GPU"},
    {"critical.memory_ns", kNs, kLower, kTimed, "allocations, frees and registrations on it"},
    {"critical.load_ns", kNs, kLower, kTimed, "loading and compiling on it"},
    {"critical.api_ns", kNs, kLower, kTimed, "other CUDA calls on it"},
    {"critical.host_ns", kNs, kLower, kTimed, "the host's own code on it"},
    {"critical.profiler_ns", kNs, kLower, kTimed, "recording that held up the host on it"},
    {"critical.unknown_ns", kNs, kLower, kTimed, "time before work whose launching call is not in the trace"},

    {"step.count", kCount, kNeither, kExact, "iterations of the NVTX range that stands for a step"},
    {"step.warmup_count", kCount, kNeither, kTimed, "slow iterations before the first that is not slow"},
    {"step.outliers", kCount, kLower, kTimed,
     "later iterations longer than the median by 5 times the median deviation"},
    {"step.mean_ns", kNs, kLower, kTimed, "mean time of an iteration, without the warm-up as those below"},
    {"step.median_ns", kNs, kLower, kTimed, "median time of an iteration"},
    {"step.p95_ns", kNs, kLower, kTimed, "time that 95 % of the iterations do not exceed"},
    {"step.p99_ns", kNs, kLower, kTimed, "time that 99 % of the iterations do not exceed"},
    {"step.max_ns", kNs, kLower, kTimed, "time of the slowest iteration"},
    {"step.trend_percent", kPercent, kLower, kTimed,
     "change from the first to the last iteration in percent of the median, by a robust slope"},
    {"step.idle_percent", kPercent, kLower, kTimed, "idle time of the GPU in percent of the time of the iterations"},

    {"health.complete", kCount, kHigher, kExact, "1 when nothing is known to be missing from the trace, else 0"},
    {"health.lost_records", kCount, kLower, kTimed, "records that were dropped while recording"},
    {"health.damaged_chunks", kCount, kLower, kTimed, "parts of the file that could not be read"},
    {"health.missing_chunks", kCount, kLower, kTimed, "parts that were written and are not in the file"},
    {"health.duplicate_chunks", kCount, kLower, kTimed, "parts that are in the file twice"},
    {"health.skipped_bytes", kBytes, kLower, kTimed, "bytes of the file that belong to nothing"},
    {"health.unknown_chunks", kCount, kLower, kTimed, "parts of a kind or version that this build does not know"},
    {"health.unknown_records", kCount, kLower, kTimed, "records of a kind that this build does not know"},
    {"health.truncated", kCount, kLower, kTimed, "1 when the file ends within a chunk"},
    {"health.bad_times", kCount, kLower, kTimed, "operations without usable times, left out of every figure"},
    {"health.early_ops", kCount, kLower, kTimed, "operations that seem to start before their call"},
    {"health.unmatched_launches", kCount, kLower, kTimed, "launching calls without their GPU operation"},
    {"health.unmatched_ops", kCount, kLower, kTimed, "GPU operations without their launching call"},
    {"health.unfinished_processes", kCount, kLower, kTimed, "processes that did not end cleanly"},
    {"health.salvaged_processes", kCount, kLower, kTimed, "processes that died, and what they left was recovered"},
    {"health.unfinished_gpu_work", kCount, kLower, kTimed, "processes whose last GPU work may be missing"},
    {"health.ops_from_before", kCount, kNeither, kTimed, "GPU operations launched before the capture that they ran in"},
    {"health.open_ranges", kCount, kLower, kTimed, "NVTX ranges that were never ended"},
    {"health.unmatched_nvtx_ends", kCount, kLower, kTimed, "ends of NVTX ranges without their start"},
    {"health.missing_strings", kCount, kLower, kTimed, "names that are missing from the file"},
    {"health.warnings", kCount, kLower, kTimed, "warnings and errors that the tracer wrote into the trace"},
    {"health.clocks_ns", kNs, kLower, kTimed, "clocks of host, CUPTI and GPU agree to this, as far as the trace shows"},
    {"health.overhead_ns", kNs, kLower, kTimed, "estimate of what recording cost, summed over the threads"},
    {"health.overhead_percent", kPercent, kLower, kTimed,
     "the same of the thread with the most, in percent of its time from first to last event"},
    {"health.overhead_gpu_percent", kPercent, kLower, kTimed,
     "what recording cost between the first and the last GPU operation, in percent of that; of the thread with the "
     "most"},
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
