#include "analysis/facts/counters/counter_breakdown.h"

#include <algorithm>
#include <iterator>

namespace gprof {
namespace {

constexpr std::string_view kSuffix = ".avg.pct_of_peak_sustained_elapsed";
// Those of sm__throughput come first, then those of gpu__compute_memory_throughput. A chip has most of them.
constexpr std::size_t kComputeParts = 22;
constexpr std::string_view kParts[] = {
    "sm__inst_executed.avg.pct_of_peak_sustained_elapsed",
    "sm__issue_active.avg.pct_of_peak_sustained_elapsed",
    "sm__mio_inst_issued.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_cbu_pred_on_any.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_uniform.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_adu.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_tex.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_ipa.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_fmaheavy_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_shared_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_tensor_op_dmma_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_tma_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__mio_pq_read_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__mio_pq_write_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__mio2rf_writeback_active.avg.pct_of_peak_sustained_elapsed",
    "idc__request_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_bank_reads.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_bank_writes.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_pipe_tex_wavefronts.avg.pct_of_peak_sustained_elapsed",
    "l1tex__f_wavefronts.avg.pct_of_peak_sustained_elapsed",
    "lts__d_atomic_input_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "lts__d_sectors.avg.pct_of_peak_sustained_elapsed",
    "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
    "lts__t_tag_requests.avg.pct_of_peak_sustained_elapsed",
    "lts__d_decomp_input_sectors.avg.pct_of_peak_sustained_elapsed",
    "l1tex__lsuin_requests.avg.pct_of_peak_sustained_elapsed",
    "l1tex__texin_sm2tex_req_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "l1tex__lsu_writeback_active.avg.pct_of_peak_sustained_elapsed",
    "l1tex__tex_writeback_active.avg.pct_of_peak_sustained_elapsed",
    "l1tex__m_l1tex2xbar_req_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "l1tex__m_xbar2l1tex_read_sectors.avg.pct_of_peak_sustained_elapsed",
    "l1tex__tmain_requests.avg.pct_of_peak_sustained_elapsed",
    "l1tex__m_xbar2l1tex_read_sectors_mem_dshared.avg.pct_of_peak_sustained_elapsed",
    "lts__lts2xbar_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "lts__xbar2lts_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "lts__d_sectors_fill_device.avg.pct_of_peak_sustained_elapsed",
    "lts__d_sectors_fill_sysmem.avg.pct_of_peak_sustained_elapsed",
    "dram__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "fbpa__dram_sectors.avg.pct_of_peak_sustained_elapsed",
};

// A sector is 32 bytes, a wavefront of shared memory at most 128.
struct Edge {
  std::string_view from, to, what;
  std::string_view metrics[2];
  double bytes_of_one = 1;
};
constexpr Edge kEdges[] = {
    {"L1", "SM", "global loads", {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"}, 32},
    {"SM", "L1", "global stores", {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"}, 32},
    {"L1", "SM", "local loads", {"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"}, 32},
    {"SM", "L1", "local stores", {"l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"}, 32},
    {"shared memory", "SM", "loads", {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"}, 128},
    {"SM", "shared memory", "stores", {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"}, 128},
    {"L2", "L1", "reads", {"l1tex__m_xbar2l1tex_read_bytes.sum"}},
    {"L1", "L2", "writes", {"l1tex__m_l1tex2xbar_write_bytes.sum"}},
    {"DRAM", "L2", "reads", {"dram__bytes_read.sum", "dram__bytes_op_read.sum"}},
    {"L2", "DRAM", "writes", {"dram__bytes_write.sum", "dram__bytes_op_write.sum"}},
    {"system memory", "L2", "reads", {"lts__t_sectors_srcunit_tex_aperture_sysmem_op_read_lookup_miss.sum"}, 32},
    {"L2", "system memory", "writes", {"lts__t_sectors_srcunit_tex_aperture_sysmem_op_write.sum"}, 32},
    {"peers", "L2", "reads", {"lts__t_sectors_srcunit_tex_aperture_peer_op_read_lookup_miss.sum"}, 32},
    {"L2", "peers", "writes", {"lts__t_sectors_srcunit_tex_aperture_peer_op_write.sum"}, 32}};

}  // namespace

std::vector<ThroughputPart> PartsOf(const KernelCounters& kernel) {
  std::vector<ThroughputPart> parts;
  for (std::size_t i = 0; i < std::size(kParts); ++i) {
    const auto percent = kernel.Value(kParts[i]);
    const std::string_view part = kParts[i].substr(0, kParts[i].size() - kSuffix.size());
    if (percent) parts.push_back({i < kComputeParts ? "compute" : "memory", part, *percent});
  }
  std::ranges::stable_sort(parts, [](const ThroughputPart& a, const ThroughputPart& b) {
    return a.throughput != b.throughput ? a.throughput < b.throughput : a.percent > b.percent;
  });
  return parts;
}

Throughputs ThroughputsOf(const KernelCounters& kernel) {
  Throughputs result{kernel.Value("sm__throughput.avg.pct_of_peak_sustained_elapsed"),
                     kernel.Value("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"), true};
  if (result.compute && result.memory) return result;
  result.is_whole = false;
  const auto widen = [](std::optional<double> percent, std::optional<double>* throughput) {
    if (percent) *throughput = std::max(throughput->value_or(0), *percent);
  };
  for (const ThroughputPart& part : PartsOf(kernel))
    widen(part.percent, part.throughput == "compute" ? &result.compute : &result.memory);
  widen(kernel.Value("dram__throughput.avg.pct_of_peak_sustained_elapsed"), &result.memory);
  return result;
}

std::vector<Traffic> TrafficOf(const KernelCounters& kernel) {
  std::vector<Traffic> all;
  const double seconds = kernel.DurationNs() * 1e-9;
  for (const Edge& edge : kEdges) {
    double bytes = 0;
    for (const std::string_view metric : edge.metrics) bytes = std::max(bytes, kernel.ValueOrZero(metric));
    bytes *= edge.bytes_of_one;
    if (bytes > 0) all.push_back({edge.from, edge.to, edge.what, bytes, seconds > 0 ? bytes / seconds : 0});
  }
  return all;
}

std::span<const std::string_view> BreakdownMetrics() { return kParts; }

std::span<const std::string_view> TrafficMetrics() {
  static const std::vector<std::string_view> kMetrics = [] {
    std::vector<std::string_view> metrics;
    for (const Edge& edge : kEdges) metrics.push_back(edge.metrics[0]);
    return metrics;
  }();
  return kMetrics;
}

}  // namespace gprof
