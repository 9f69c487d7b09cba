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
  kNone,   // medians, and what ranks have in common or do to each other: Fact::kOneTrace
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
    {"health.slow_down_least_percent", Join::kNone},
    {"health.slow_down_low_percent", Join::kNone},
    {"health.slow_down_high_percent", Join::kNone},
    {"kernels.median_ns", Join::kNone},
    {"kernels.distinct", Join::kNone},
    {"launches.interval_median_ns", Join::kNone},
    {"graphs.distinct", Join::kNone},
    {"chains.*", Join::kNone},
    {"occupancy.percent", Join::kNone},
    {"gemm.peak_percent", Join::kNone},
    {"mpi.late_ns", Join::kNone},
    {"kernel.*", Join::kNone},
    {"streams.priorities", Join::kNone},
    {"balance.*", Join::kNone},
    {"sharing.*", Join::kNone},
    {"nccl.waiting_ns", Join::kNone},
    {"nccl.late_host_ns", Join::kNone},
    {"nccl.bus_bytes_per_second", Join::kNone},
    {"openmp.waiting_percent", Join::kNone},
    {"critical.*", Join::kNone},
    {"ops.mfu_percent", Join::kNone},
    {"step.*", Join::kNone},
    {"host.cpu_*", Join::kNone},
    {"host.machine_percent", Join::kNone},
    {"host.memory_peak_bytes", Join::kNone},
    {"gpu.sm_*", Join::kNone},
    {"gpu.tensor_active_percent", Join::kNone},
    {"gpu.dram_percent", Join::kNone},
    {"gpu.clock_sm_mhz_p50", Join::kNone},
    {"gpu.energy_per_step_j", Join::kNone},
};

constexpr MetricJoin JoinOf(std::string_view id) {
  for (const MetricJoin& join : kMetricJoins) {
    const bool is_family = join.id.ends_with('*');
    if (is_family ? id.starts_with(join.id.substr(0, join.id.size() - 1)) : id == join.id) return join;
  }
  return {id, Join::kSum};
}

}  // namespace gprof
