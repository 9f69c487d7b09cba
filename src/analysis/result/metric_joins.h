// How figures of several ranks give that of all of them, where nobody has their traces.
#pragma once

#include <cstdint>
#include <string_view>

#include "gprof/analysis.h"

namespace gprof {

enum class Join : uint8_t {
  kSum,
  kMost,
  kLeast,
  kRatio,  // of two metrics that can be joined
  kSpan,   // from the first record of any rank to the last
  kNever,  // medians, and what ranks have in common or do to each other: Fact::kOneTrace
};

struct MetricJoin {
  std::string_view id;  // or the beginning of several ids, with a * at its end
  Join how;
  std::string_view part{}, whole{};  // of kRatio
  double scale = 1;
};

inline constexpr MetricJoin kMetricJoins[] = {
    {"run.wall_ns", Join::kSpan},
    {"gpu.busy_percent", Join::kRatio, "gpu.busy_ns", "gpu.window_ns", 100},
    {"gpu.idle_percent", Join::kRatio, "gpu.idle_ns", "gpu.window_ns", 100},
    {"kernels.small_percent", Join::kRatio, "kernels.small_ns", "kernels.total_ns", 100},
    {"streams.overlap_percent", Join::kRatio, "streams.overlap_ns", "gpu.busy_ns", 100},
    {"nccl.exposed_percent", Join::kRatio, "nccl.exposed_ns", "nccl.total_ns", 100},
    {"launches.per_second", Join::kRatio, "launches.count", "gpu.window_ns", 1e9},
    {"gemm.tflops", Join::kRatio, "gemm.flop", "gemm.gpu_ns", 1e-3},
    {"gaps.longest_ns", Join::kMost},
    {"launches.max_depth", Join::kMost},
    {"memcpy.h2d_best_bytes_per_second", Join::kMost},
    {"memcpy.d2h_best_bytes_per_second", Join::kMost},
    {"memcpy.link_bytes_per_second", Join::kMost},
    {"memory.peak_bytes", Join::kMost},
    {"memory.parameters_bytes", Join::kMost},
    {"memory.gradients_bytes", Join::kMost},
    {"memory.optimizer_bytes", Join::kMost},
    {"memory.activations_bytes", Join::kMost},
    {"streams.max_concurrency", Join::kMost},
    {"startup.longest_ns", Join::kMost},
    {"gpu.other_processes", Join::kMost},
    {"health.truncated", Join::kMost},
    {"health.clocks_ns", Join::kMost},
    {"health.overhead_percent", Join::kMost},
    {"health.overhead_gpu_percent", Join::kMost},
    {"health.slow_down_most_percent", Join::kMost},
    {"health.slow_down_percent", Join::kMost},
    {"health.complete", Join::kLeast},
    {"health.slow_down_least_percent", Join::kNever},
    {"health.slow_down_low_percent", Join::kNever},
    {"health.slow_down_high_percent", Join::kNever},
    {"kernels.median_ns", Join::kNever},
    {"kernels.distinct", Join::kNever},
    {"launches.interval_median_ns", Join::kNever},
    {"graphs.distinct", Join::kNever},
    {"chains.*", Join::kNever},
    {"occupancy.percent", Join::kNever},
    {"gemm.peak_percent", Join::kNever},
    {"mpi.late_ns", Join::kNever},
    {"kernel.*", Join::kNever},
    {"streams.priorities", Join::kNever},
    {"balance.*", Join::kNever},
    {"sharing.*", Join::kNever},
    {"nccl.waiting_ns", Join::kNever},
    {"nccl.late_host_ns", Join::kNever},
    {"nccl.bus_bytes_per_second", Join::kNever},
    {"openmp.waiting_percent", Join::kNever},
    {"critical.*", Join::kNever},
    {"ops.mfu_percent", Join::kNever},
    {"step.*", Join::kNever},
    {"host.cpu_*", Join::kNever},
    {"host.machine_percent", Join::kNever},
    {"host.memory_peak_bytes", Join::kNever},
    {"gpu.sm_*", Join::kNever},
    {"gpu.tensor_active_percent", Join::kNever},
    {"gpu.dram_percent", Join::kNever},
    {"gpu.clock_sm_mhz_p50", Join::kNever},
    {"gpu.energy_per_step_j", Join::kNever},
};

constexpr MetricJoin JoinOf(std::string_view id) {
  for (const MetricJoin& join : kMetricJoins) {
    const bool is_family = join.id.ends_with('*');
    if (is_family ? id.starts_with(join.id.substr(0, join.id.size() - 1)) : id == join.id) return join;
  }
  return {id, Join::kSum};
}

}  // namespace gprof
