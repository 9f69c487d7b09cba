#include "analysis/facts/counters/counter_sections.h"

#include <algorithm>
#include <string>

#include "analysis/facts/counters/counter_breakdown.h"
#include "analysis/facts/counters/counter_caches.h"

namespace gprof {
namespace {

constexpr Unit kNs = Unit::kNs, kCount = Unit::kCount, kPercent = Unit::kPercent, kBytes = Unit::kBytes,
               kRate = Unit::kBytesPerSecond;
constexpr double kMega = 1e-6;
constexpr bool kExtra = true;

constexpr CounterColumn kSpeedOfLight[] = {
    {"duration_ns", "Duration", kNs, {"gpu__time_duration.sum"}},
    {"compute_percent", "Compute", kPercent, {"sm__throughput.avg.pct_of_peak_sustained_elapsed"}},
    {"memory_percent", "Memory", kPercent, {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"}},
    {"dram_percent",
     "DRAM",
     kPercent,
     {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "dram__throughput.avg.pct_of_peak_sustained_elapsed"}},
    {"l2_percent", "L2", kPercent, {"lts__throughput.avg.pct_of_peak_sustained_elapsed"}},
    {"l1_percent", "L1", kPercent, {"l1tex__throughput.avg.pct_of_peak_sustained_active"}},
    {"elapsed_cycles", "Cycles", kCount, {"gpc__cycles_elapsed.max"}, 1, kExtra},
    {"sm_active_cycles", "SM active cycles", kCount, {"sm__cycles_active.avg"}, 1, kExtra},
    {"sm_clock_mhz", "SM MHz", kCount, {"gpc__cycles_elapsed.avg.per_second"}, kMega, kExtra},
    {"dram_clock_mhz", "DRAM MHz", kCount, {"dram__cycles_elapsed.avg.per_second"}, kMega, kExtra}};

constexpr CounterColumn kMemory[] = {
    {"dram_bytes_per_second", "DRAM", kRate, {"dram__bytes.sum.per_second"}},
    {"access_percent", "Busy", kPercent, {"gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed"}},
    {"request_percent",
     "Bandwidth",
     kPercent,
     {"gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed"}},
    {"pipes_percent", "Pipes", kPercent, {"sm__memory_throughput.avg.pct_of_peak_sustained_elapsed"}},
    {"l1_hit_percent", "L1 hits", kPercent, {"l1tex__t_sector_hit_rate.pct"}},
    {"l2_hit_percent", "L2 hits", kPercent, {"lts__t_sector_hit_rate.pct"}},
    {"dram_read_bytes", "DRAM read", kBytes, {"dram__bytes_read.sum", "dram__bytes_op_read.sum"}, 1, kExtra},
    {"dram_written_bytes", "DRAM written", kBytes, {"dram__bytes_write.sum", "dram__bytes_op_write.sum"}, 1, kExtra},
    {"compression_success_percent",
     "L2 compression",
     kPercent,
     {"lrc__average_ilc_input_sector_success_rate.pct", "lts__average_gcomp_input_sector_success_rate.pct"},
     1,
     kExtra}};

constexpr CounterColumn kAccess[] = {
    {"global_load_requests", "Load requests", kCount, {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"}},
    {"global_load_sectors", "Load sectors", kCount, {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"}},
    {"global_load_bytes_per_sector",
     "Load B/sector",
     kCount,
     {"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio"}},
    {"global_store_requests", "Store requests", kCount, {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"}},
    {"global_store_sectors", "Store sectors", kCount, {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"}},
    {"global_store_bytes_per_sector",
     "Store B/sector",
     kCount,
     {"smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio"}},
    {"local_load_requests", "Local loads", kCount, {"l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum"}, 1, kExtra},
    {"local_store_requests", "Local stores", kCount, {"l1tex__t_requests_pipe_lsu_mem_local_op_st.sum"}, 1, kExtra},
    {"shared_wavefronts", "Shared wavefronts", kCount, {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"}},
    {"bank_conflicts", "Bank conflicts", kCount, {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"}},
    {"global_reductions", "Reductions", kCount, {"smsp__inst_executed_op_global_red.sum"}, 1, kExtra},
    {"global_atomics", "Atomics", kCount, {"l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"}, 1, kExtra}};
// Loads and stores apart, and how busy the atomic units of the L2 slices are: the rules weigh with them.
constexpr std::string_view kAccessMore[] = {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
                                            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
                                            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                                            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
                                            "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.max_rate",
                                            "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.max_rate",
                                            "lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed"};

constexpr CounterColumn kCompute[] = {
    {"ipc", "IPC", kCount, {"sm__inst_executed.avg.per_cycle_active"}},
    {"ipc_elapsed", "IPC elapsed", kCount, {"sm__inst_executed.avg.per_cycle_elapsed"}},
    {"issued_ipc", "Issued IPC", kCount, {"sm__inst_issued.avg.per_cycle_active"}, 1, kExtra},
    {"issued_percent",
     "Issue slots",
     kPercent,
     {"sm__inst_issued.avg.pct_of_peak_sustained_elapsed", "sm__issue_active.avg.pct_of_peak_sustained_elapsed"}},
    {"busy_percent", "SM busy", kPercent, {"sm__instruction_throughput.avg.pct_of_peak_sustained_elapsed"}},
    {"fma_percent", "FMA", kPercent, {"sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed"}},
    {"alu_percent", "ALU", kPercent, {"sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed"}},
    {"fp64_percent", "FP64", kPercent, {"sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed"}},
    {"tensor_percent",
     "Tensor",
     kPercent,
     {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
      "sm__pipe_tensor_cycles_active_v2.avg.pct_of_peak_sustained_elapsed",
      "sm__pipe_tc_cycles_active.avg.pct_of_peak_sustained_elapsed"}},
    {"lsu_percent", "LSU", kPercent, {"sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed"}, 1, kExtra},
    {"xu_percent", "XU", kPercent, {"sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed"}, 1, kExtra},
    {"tma_percent", "TMA", kPercent, {"sm__pipe_tma_cycles_active.avg.pct_of_peak_sustained_elapsed"}, 1, kExtra},
    {"adu_percent", "ADU", kPercent, {"sm__inst_executed_pipe_adu.avg.pct_of_peak_sustained_elapsed"}, 1, kExtra},
    {"cbu_percent",
     "CBU",
     kPercent,
     {"sm__inst_executed_pipe_cbu_pred_on_any.avg.pct_of_peak_sustained_elapsed"},
     1,
     kExtra},
    {"tex_percent", "TEX", kPercent, {"sm__inst_executed_pipe_tex.avg.pct_of_peak_sustained_elapsed"}, 1, kExtra},
    {"uniform_percent",
     "Uniform",
     kPercent,
     {"sm__inst_executed_pipe_uniform.avg.pct_of_peak_sustained_elapsed"},
     1,
     kExtra}};

constexpr CounterColumn kScheduler[] = {
    {"active_warps", "Active warps", kCount, {"smsp__warps_active.avg.per_cycle_active"}},
    {"eligible_warps", "Eligible warps", kCount, {"smsp__warps_eligible.avg.per_cycle_active"}},
    {"issued_warps", "Issued", kCount, {"smsp__issue_active.avg.per_cycle_active"}},
    {"eligible_percent", "With an eligible warp", kPercent, {"smsp__issue_active.avg.pct_of_peak_sustained_active"}},
    {"no_eligible_percent", "Without one", kPercent, {"smsp__issue_inst0.avg.pct_of_peak_sustained_active"}}};

constexpr CounterColumn kWarpStates[] = {
    {"cycles_per_issue", "Cycles/issue", kCount, {"smsp__average_warp_latency_per_inst_issued.ratio"}},
    {"cycles_per_instruction", "Cycles/instruction", kCount, {"smsp__average_warps_active_per_inst_executed.ratio"}},
    {"threads_per_warp", "Active threads", kCount, {"smsp__thread_inst_executed_per_inst_executed.ratio"}},
    {"predicated_threads_per_warp",
     "Not predicated off",
     kCount,
     {"smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"}}};
constexpr std::string_view kStallMetrics[] = {
    "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_branch_resolving_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_dispatch_stall_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_drain_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_imc_miss_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_membar_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_misc_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_sleeping_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_tex_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio"};

constexpr CounterColumn kInstructions[] = {
    {"instructions", "Executed", kCount, {"smsp__inst_executed.sum", "inst_executed"}},
    {"issued", "Issued", kCount, {"smsp__inst_issued.sum"}},
    {"instructions_per_scheduler", "Per scheduler", kCount, {"smsp__inst_executed.avg"}, 1, kExtra},
    {"issued_per_scheduler", "Issued per scheduler", kCount, {"smsp__inst_issued.avg"}, 1, kExtra},
    {"branches", "Branches", kCount, {"smsp__inst_executed_op_branch.sum"}},
    {"branch_percent", "Branches of all", kPercent, {"derived__smsp__inst_executed_op_branch_pct"}, 1, kExtra},
    {"uniform_branch_percent", "Uniform", kPercent, {"smsp__sass_average_branch_targets_threads_uniform.pct"}},
    {"divergent_branches", "Divergent", kCount, {"smsp__sass_branch_targets_threads_divergent.avg"}},
    {"global_loads", "Global loads", kCount, {"smsp__sass_inst_executed_op_global_ld.sum"}},
    {"global_stores", "Global stores", kCount, {"smsp__sass_inst_executed_op_global_st.sum"}},
    {"shared_loads", "Shared loads", kCount, {"smsp__sass_inst_executed_op_shared_ld.sum"}, 1, kExtra},
    {"shared_stores", "Shared stores", kCount, {"smsp__sass_inst_executed_op_shared_st.sum"}, 1, kExtra},
    {"local_loads", "Local loads", kCount, {"smsp__sass_inst_executed_op_local_ld.sum"}, 1, kExtra},
    {"local_stores", "Local stores", kCount, {"smsp__sass_inst_executed_op_local_st.sum"}, 1, kExtra}};

constexpr CounterColumn kLaunch[] = {
    {"grid_blocks", "Blocks", kCount, {"launch__grid_size"}},
    {"block_threads", "Threads/block", kCount, {"launch__block_size"}},
    {"threads", "Threads", kCount, {"launch__thread_count"}},
    {"waves", "Waves", kCount, {"launch__waves_per_multiprocessor"}},
    {"registers", "Registers", kCount, {"launch__registers_per_thread"}},
    {"static_shared_bytes", "Static shared", kBytes, {"launch__shared_mem_per_block_static"}},
    {"dynamic_shared_bytes", "Dynamic shared", kBytes, {"launch__shared_mem_per_block_dynamic"}},
    {"driver_shared_bytes", "Driver shared", kBytes, {"launch__shared_mem_per_block_driver"}, 1, kExtra},
    {"shared_config_bytes", "Shared configured", kBytes, {"launch__shared_mem_config_size"}, 1, kExtra},
    {"cluster_blocks", "Cluster", kCount, {"launch__cluster_size"}, 1, kExtra},
    {"stack_bytes", "Stack", kBytes, {"launch__stack_size"}, 1, kExtra},
    {"memory_in_use_bytes", "GPU memory in use", kBytes, {"device__memory_in_use"}, 1, kExtra},
    {"sms", "SMs", kCount, {"launch__sm_count"}, 1, kExtra},
    {"tpcs", "TPCs", kCount, {"launch__tpc_count"}, 1, kExtra}};

constexpr CounterColumn kOccupancy[] = {
    {"achieved_percent", "Achieved", kPercent, {"sm__warps_active.avg.pct_of_peak_sustained_active"}},
    {"achieved_warps", "Warps/SM", kCount, {"sm__warps_active.avg.per_cycle_active"}}};

constexpr CounterColumn kDistribution[] = {
    {"sm_cycles", "SM cycles", kCount, {"sm__cycles_active.avg"}},
    {"sm_cycles_max", "Busiest SM", kCount, {"sm__cycles_active.max"}},
    {"smsp_cycles", "SMSP cycles", kCount, {"smsp__cycles_active.avg"}, 1, kExtra},
    {"smsp_cycles_max", "Busiest SMSP", kCount, {"smsp__cycles_active.max"}, 1, kExtra},
    {"l1_cycles", "L1 cycles", kCount, {"l1tex__cycles_active.avg"}, 1, kExtra},
    {"l2_cycles", "L2 cycles", kCount, {"lts__cycles_active.avg"}},
    {"l2_cycles_max", "Busiest slice", kCount, {"lts__cycles_active.max"}},
    {"dram_cycles", "DRAM cycles", kCount, {"dram__cycles_active.avg"}},
    {"dram_cycles_max", "Busiest channel", kCount, {"dram__cycles_active.max"}},
    {"sm_cycles_elapsed", "SM cycles elapsed", kCount, {"sm__cycles_elapsed.sum"}, 1, kExtra},
    {"smsp_cycles_elapsed", "SMSP cycles elapsed", kCount, {"smsp__cycles_elapsed.sum"}, 1, kExtra},
    {"l1_cycles_elapsed", "L1 cycles elapsed", kCount, {"l1tex__cycles_elapsed.sum"}, 1, kExtra},
    {"l2_cycles_elapsed", "L2 cycles elapsed", kCount, {"lts__cycles_elapsed.sum"}, 1, kExtra},
    {"dram_cycles_elapsed", "DRAM cycles elapsed", kCount, {"dram__cycles_elapsed.sum"}, 1, kExtra}};
constexpr std::string_view kDistributionMore[] = {"sm__cycles_elapsed.max"};

constexpr std::string_view kRooflineMetrics[] = {
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed",
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed",
    "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum.per_cycle_elapsed",
    "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum.per_cycle_elapsed",
    "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum.per_cycle_elapsed",
    "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum.per_cycle_elapsed",
    "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum.per_cycle_elapsed",
    "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum.per_cycle_elapsed",
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained",
    "sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained",
    "sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained",
    "smsp__cycles_elapsed.avg.per_second",
    "sm__cycles_elapsed.avg.per_second",
    "dram__bytes.sum.per_second",
    "dram__bytes.sum.peak_sustained",
    "dram__cycles_elapsed.avg.per_second",
    "lts__lts2xbar_cycles_active.sum.per_second",
    "lts__lts2xbar_cycles_active.sum.peak_sustained",
    "lts__cycles_elapsed.avg.per_second",
    "l1tex__lsu_writeback_active_mem_lgds.sum.per_second",
    "l1tex__lsu_writeback_active_mem_lgds.sum.peak_sustained",
    "l1tex__cycles_elapsed.avg.per_second"};

constexpr CounterSection kSections[] = {
    {"counter_speed_of_light",
     "Speed of light",
     "SpeedOfLight",
     "throughput in % of peak, by unit",
     "Compute and memory are their busiest components.",
     kSpeedOfLight,
     {},
     BreakdownMetrics},
    {"counter_memory",
     "Memory workload",
     "MemoryWorkloadAnalysis",
     "hit rates, traffic between units",
     "In % of peak: the busiest memory unit (busy), link between units (bandwidth), and pipe that issues requests.",
     kMemory,
     {},
     TrafficMetrics},
    {"counter_caches",
     "Caches",
     "MemoryWorkloadAnalysis_Tables",
     "L1, shared, L2 by operation",
     "",
     {},
     {},
     CacheMetrics,
     "counter_access"},
    {"counter_access", "Memory accesses", "MemoryWorkloadAnalysis_Tables", "sectors, bank conflicts, atomics",
     "Global memory, unless stated otherwise. B/sector: bytes used of the 32 bytes of a sector.", kAccess, kAccessMore},
    {"counter_compute", "Compute workload", "ComputeWorkloadAnalysis", "IPC, pipe utilisation",
     "IPC: instructions per cycle of an active SM, and of all cycles. Pipes in % of their peak.", kCompute},
    {"counter_scheduler", "Schedulers", "SchedulerStats", "active, eligible, issued warps",
     "Of a scheduler in an active cycle; it issues at most one warp.", kScheduler},
    {"counter_warp_states", "Warp states", "WarpStateStats", "stall reasons",
     "Cycles of a warp between two instructions; threads of 32 that execute one.", kWarpStates, kStallMetrics},
    {"counter_instructions", "Instruction mix", "InstructionStats", "instructions by kind, branches",
     "Instructions of warps. Divergent branches: mean of the schedulers.", kInstructions},
    {"counter_launch", "Launch", "LaunchStats", "grid, registers, shared memory",
     "Waves: how often the grid fills the GPU. Registers of a thread, shared memory of a block.", kLaunch},
    {"counter_occupancy", "Occupancy", "Occupancy", "achieved, theoretical, what-if",
     "Achieved and theoretical: of the warps that an SM can hold. By registers and others: blocks that fit on an SM.",
     kOccupancy},
    {"counter_distribution", "Workload distribution", "WorkloadDistribution", "balance of SMs, L2 and DRAM",
     "Cycles in which a unit was active: mean of all, and the busiest.", kDistribution, kDistributionMore},
    {"counter_roofline",
     "Roofline",
     "SpeedOfLight_RooflineChart",
     "FLOP/s against the peaks",
     "",
     {},
     kRooflineMetrics}};

constexpr std::string_view kBasic[] = {"counter_launch", "counter_occupancy", "counter_speed_of_light",
                                       "counter_distribution"};
constexpr std::string_view kDetailed[] = {"counter_launch",       "counter_occupancy", "counter_speed_of_light",
                                          "counter_distribution", "counter_compute",   "counter_memory",
                                          "counter_access",       "counter_roofline"};
constexpr std::string_view kFull[] = {"counter_launch",       "counter_occupancy",   "counter_speed_of_light",
                                      "counter_distribution", "counter_compute",     "counter_memory",
                                      "counter_access",       "counter_caches",      "counter_roofline",
                                      "counter_scheduler",    "counter_warp_states", "counter_instructions"};
constexpr std::string_view kRooflineSections[] = {"counter_launch", "counter_speed_of_light", "counter_distribution",
                                                  "counter_roofline"};
// One pass on every chip that was looked at, so that no kernel runs twice.
constexpr std::string_view kLightMetrics[] = {"gpu__time_duration.sum",
                                              "gpc__cycles_elapsed.max",
                                              "gpc__cycles_elapsed.avg.per_second",
                                              "sm__cycles_active.avg",
                                              "sm__warps_active.avg.pct_of_peak_sustained_active",
                                              "dram__bytes.sum",
                                              "dram__bytes_read.sum",
                                              "dram__bytes_write.sum",
                                              "dram__throughput.avg.pct_of_peak_sustained_elapsed",
                                              "lts__t_bytes.sum",
                                              "l1tex__t_bytes.sum",
                                              "smsp__inst_executed.sum",
                                              "sm__issue_active.avg.pct_of_peak_sustained_elapsed",
                                              "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
                                              "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
                                              "l1tex__f_wavefronts.avg.pct_of_peak_sustained_elapsed",
                                              "l1tex__t_sector_hit_rate.pct",
                                              "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"};
constexpr std::string_view kLight[] = {"counter_launch"};

constexpr CounterSet kSets[] = {
    {"light", "time, occupancy, traffic and instructions in one pass", kLight, kLightMetrics},
    {"basic", "launch, occupancy, speed of light, distribution", kBasic},
    {"detailed", "basic, compute and memory workload, accesses, roofline", kDetailed},
    {"full", "all sections", kFull},
    {"roofline", "speed of light, roofline, distribution", kRooflineSections}};

// Sections of ncu that are in one of ours.
struct SectionPart {
  std::string_view ncu_name, of;
};
constexpr SectionPart kPartsInNcu[] = {{"MemoryWorkloadAnalysis_Chart", "counter_memory"},
                                       {"SpeedOfLight_HierarchicalHalfRooflineChart", "counter_roofline"},
                                       {"SpeedOfLight_HierarchicalSingleRooflineChart", "counter_roofline"},
                                       {"SpeedOfLight_HierarchicalDoubleRooflineChart", "counter_roofline"},
                                       {"SpeedOfLight_HierarchicalTensorRooflineChart", "counter_roofline"}};

}  // namespace

std::span<const CounterSection> CounterSections() { return kSections; }

const CounterSection* FindCounterSection(std::string_view name) {
  const auto* const other = std::ranges::find_if(kPartsInNcu, [&](const SectionPart& p) { return p.ncu_name == name; });
  const std::string_view wanted = other == std::end(kPartsInNcu) ? name : other->of;
  const auto is_it = [&](const CounterSection& s) {
    return s.id == wanted || s.ncu_name == wanted || s.id.substr(s.id.find('_') + 1) == wanted;
  };
  const auto* const at = std::ranges::find_if(kSections, is_it);
  return at == std::end(kSections) ? nullptr : at;
}

std::vector<std::span<const std::string_view>> MetricsOf(const CounterSection& section) {
  std::vector<std::span<const std::string_view>> metrics;
  const auto is_counter = [](std::string_view name) {
    return !name.starts_with("launch__") && !name.starts_with("derived__") && name.find('.') != std::string_view::npos;
  };
  const auto add = [&](std::span<const std::string_view> names) {
    const auto end = std::ranges::find_if_not(names, is_counter);
    if (end != names.begin()) metrics.push_back(names.first(static_cast<std::size_t>(end - names.begin())));
  };
  for (const CounterColumn& column : section.columns) add(column.metrics);
  for (const std::string_view& name : section.more_metrics) add({&name, 1});
  if (section.parts == nullptr) return metrics;
  for (const std::string_view& name : section.parts()) add({&name, 1});
  return metrics;
}

std::span<const CounterSet> CounterSets() { return kSets; }

const CounterSet* FindCounterSet(std::string_view name) {
  const auto* const at = std::ranges::find_if(kSets, [&](const CounterSet& s) { return s.name == name; });
  return at == std::end(kSets) ? nullptr : at;
}

std::optional<double> ValueOf(const CounterColumn& column, const KernelCounters& kernel) {
  for (const std::string_view metric : column.metrics) {
    if (const auto value = kernel.Value(metric)) return *value * column.factor;
  }
  return {};
}

}  // namespace gprof
