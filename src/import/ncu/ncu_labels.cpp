#include "import/ncu/ncu_labels.h"

#include <algorithm>
#include <iterator>

namespace gprof {
namespace {

constexpr std::string_view kSpeed = "GPU Speed Of Light Throughput", kMemory = "Memory Workload Analysis",
                           kCompute = "Compute Workload Analysis", kScheduler = "Scheduler Statistics",
                           kWarps = "Warp State Statistics", kInstructions = "Instruction Statistics",
                           kLaunch = "Launch Statistics", kOccupancy = "Occupancy",
                           kDistribution = "GPU and Memory Workload Distribution", kSource = "Source Counters";

struct Label {
  std::string_view section, label, metric;
};
constexpr Label kLabels[] = {
    {kSpeed, "DRAM Frequency", "dram__cycles_elapsed.avg.per_second"},
    {kSpeed, "SM Frequency", "gpc__cycles_elapsed.avg.per_second"},
    {kSpeed, "Elapsed Cycles", "gpc__cycles_elapsed.max"},
    {kSpeed, "Memory Throughput", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
    {kSpeed, "DRAM Throughput", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
    {kSpeed, "Duration", "gpu__time_duration.sum"},
    {kSpeed, "L1/TEX Cache Throughput", "l1tex__throughput.avg.pct_of_peak_sustained_active"},
    {kSpeed, "L2 Cache Throughput", "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
    {kSpeed, "SM Active Cycles", "sm__cycles_active.avg"},
    {kSpeed, "Compute (SM) Throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {kCompute, "Executed Ipc Active", "sm__inst_executed.avg.per_cycle_active"},
    {kCompute, "Executed Ipc Elapsed", "sm__inst_executed.avg.per_cycle_elapsed"},
    {kCompute, "Issue Slots Busy", "sm__inst_issued.avg.pct_of_peak_sustained_elapsed"},
    {kCompute, "SM Busy", "sm__instruction_throughput.avg.pct_of_peak_sustained_elapsed"},
    {kMemory, "Memory Throughput", "dram__bytes.sum.per_second"},
    {kMemory, "Mem Busy", "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed"},
    {kMemory, "Max Bandwidth", "gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed"},
    {kMemory, "L1/TEX Hit Rate", "l1tex__t_sector_hit_rate.pct"},
    {kMemory, "L2 Hit Rate", "lts__t_sector_hit_rate.pct"},
    {kMemory, "Mem Pipes Busy", "sm__memory_throughput.avg.pct_of_peak_sustained_elapsed"},
    {kScheduler, "One or More Eligible", "smsp__issue_active.avg.pct_of_peak_sustained_active"},
    {kScheduler, "Issued Warp Per Scheduler", "smsp__issue_active.avg.per_cycle_active"},
    {kScheduler, "No Eligible", "smsp__issue_inst0.avg.pct_of_peak_sustained_active"},
    {kScheduler, "Active Warps Per Scheduler", "smsp__warps_active.avg.per_cycle_active"},
    {kScheduler, "Eligible Warps Per Scheduler", "smsp__warps_eligible.avg.per_cycle_active"},
    {kWarps, "Warp Cycles Per Issued Instruction", "smsp__average_warp_latency_per_inst_issued.ratio"},
    {kWarps, "Warp Cycles Per Executed Instruction", "smsp__average_warps_active_per_inst_executed.ratio"},
    {kWarps, "Avg. Active Threads Per Warp", "smsp__thread_inst_executed_per_inst_executed.ratio"},
    {kWarps, "Avg. Not Predicated Off Threads Per Warp", "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"},
    {kInstructions, "Avg. Executed Instructions Per Scheduler", "smsp__inst_executed.avg"},
    {kInstructions, "Executed Instructions", "smsp__inst_executed.sum"},
    {kInstructions, "Avg. Issued Instructions Per Scheduler", "smsp__inst_issued.avg"},
    {kInstructions, "Issued Instructions", "smsp__inst_issued.sum"},
    {kLaunch, "Block Size", "launch__block_size"},
    {kLaunch, "Cluster Size", "launch__cluster_size"},
    {kLaunch, "Grid Size", "launch__grid_size"},
    {kLaunch, "Registers Per Thread", "launch__registers_per_thread"},
    {kLaunch, "Shared Memory Configuration Size", "launch__shared_mem_config_size"},
    {kLaunch, "Driver Shared Memory Per Block", "launch__shared_mem_per_block_driver"},
    {kLaunch, "Dynamic Shared Memory Per Block", "launch__shared_mem_per_block_dynamic"},
    {kLaunch, "Static Shared Memory Per Block", "launch__shared_mem_per_block_static"},
    {kLaunch, "# SMs", "launch__sm_count"},
    {kLaunch, "# TPCs", "launch__tpc_count"},
    {kLaunch, "Stack Size", "launch__stack_size"},
    {kLaunch, "Threads", "launch__thread_count"},
    {kLaunch, "Waves Per SM", "launch__waves_per_multiprocessor"},
    {kOccupancy, "Block Limit SM", "launch__occupancy_limit_blocks"},
    {kOccupancy, "Block Limit Registers", "launch__occupancy_limit_registers"},
    {kOccupancy, "Block Limit Shared Mem", "launch__occupancy_limit_shared_mem"},
    {kOccupancy, "Block Limit Warps", "launch__occupancy_limit_warps"},
    {kOccupancy, "Theoretical Active Warps per SM", "sm__maximum_warps_avg_per_active_cycle"},
    {kOccupancy, "Theoretical Occupancy", "sm__maximum_warps_per_active_cycle_pct"},
    {kOccupancy, "Achieved Occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"},
    {kOccupancy, "Achieved Active Warps Per SM", "sm__warps_active.avg.per_cycle_active"},
    {kDistribution, "Average DRAM Active Cycles", "dram__cycles_active.avg"},
    {kDistribution, "Total DRAM Elapsed Cycles", "dram__cycles_elapsed.sum"},
    {kDistribution, "Average L1 Active Cycles", "l1tex__cycles_active.avg"},
    {kDistribution, "Total L1 Elapsed Cycles", "l1tex__cycles_elapsed.sum"},
    {kDistribution, "Average L2 Active Cycles", "lts__cycles_active.avg"},
    {kDistribution, "Total L2 Elapsed Cycles", "lts__cycles_elapsed.sum"},
    {kDistribution, "Average SM Active Cycles", "sm__cycles_active.avg"},
    {kDistribution, "Total SM Elapsed Cycles", "sm__cycles_elapsed.sum"},
    {kDistribution, "Average SMSP Active Cycles", "smsp__cycles_active.avg"},
    {kDistribution, "Total SMSP Elapsed Cycles", "smsp__cycles_elapsed.sum"},
    {kSource, "Branch Instructions", "smsp__inst_executed_op_branch.sum"},
    {kSource, "Branch Efficiency", "smsp__sass_average_branch_targets_threads_uniform.pct"},
    {kSource, "Avg. Divergent Branches", "smsp__sass_branch_targets_threads_divergent.avg"}};

}  // namespace

std::string_view MetricOfLabel(std::string_view section, std::string_view label) {
  const auto* const at = std::find_if(std::begin(kLabels), std::end(kLabels),
                                      [&](const Label& l) { return l.section == section && l.label == label; });
  return at == std::end(kLabels) ? std::string_view() : at->metric;
}

}  // namespace gprof
