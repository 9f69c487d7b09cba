#include "analysis/facts/counters/counter_formulas.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace gprof {
namespace {

constexpr std::string_view kReasons[] = {
    "barrier",         "branch_resolving",   "dispatch_stall", "drain",        "gmma", "imc_miss",       "lg_throttle",
    "long_scoreboard", "math_pipe_throttle", "membar",         "mio_throttle", "misc", "no_instruction", "not_selected",
    "selected",        "short_scoreboard",   "sleeping",       "tex_throttle", "wait"};

// Operations of one precision on the ordinary pipes: instructions that count once, and those that count twice.
struct Precision {
  const char* type;
  char letter;   // of the instructions: fadd, dadd, hadd
  double lanes;  // operands of an instruction: 2 for half2
};
constexpr Precision kPrecisions[] = {{"FP32", 'f', 1}, {"FP64", 'd', 1}, {"FP16", 'h', 2}};

std::optional<RooflinePoint> PointOf(const KernelCounters& kernel, const Precision& precision) {
  const auto rate = [&](std::string_view what) {
    return kernel.Value(
        fmt::format("smsp__sass_thread_inst_executed_op_{}{}_pred_on.sum.per_cycle_elapsed", precision.letter, what));
  };
  const auto add = rate("add"), mul = rate("mul"), fma = rate("fma");
  const auto clock = kernel.Value("smsp__cycles_elapsed.avg.per_second");
  if (!add || !mul || !fma || !clock) return {};
  RooflinePoint point{precision.type};
  point.per_second = precision.lanes * (*add + *mul + 2 * *fma) * *clock;
  const double peak = kernel.ValueOrZero(
      fmt::format("sm__sass_thread_inst_executed_op_{}fma_pred_on.sum.peak_sustained", precision.letter));
  point.peak_per_second = 2 * precision.lanes * peak * kernel.ValueOrZero("sm__cycles_elapsed.avg.per_second");
  return point;
}

// Tensor cores by instruction and type. Peaks of a name without `_sparsity_off` are those of sparse operands, twice
// what dense ones reach.
constexpr std::string_view kTensorPaths[] = {"op_hgmma_src_bf16_dst_fp32_sparsity_off",
                                             "op_hgmma_src_fp16_sparsity_off",
                                             "op_hgmma_src_tf32_dst_fp32_sparsity_off",
                                             "op_hmma_src_bf16_dst_fp32_sparsity_off",
                                             "op_hmma_src_fp16_dst_fp16_sparsity_off",
                                             "op_hmma_src_fp16_dst_fp32_sparsity_off",
                                             "op_hmma_src_tf32_dst_fp32_sparsity_off",
                                             "op_igmma_src_int8_sparsity_off",
                                             "op_imma_src_int8_sparsity_off",
                                             "src_fp8_sparsity_off",
                                             "src_fp64",
                                             "src_fp16_dst_fp32",
                                             "src_bf16_dst_fp32",
                                             "src_tf32_dst_fp32",
                                             "src_int8"};

// "op_hmma_src_fp16_dst_fp32_sparsity_off": "tensor hmma fp16 fp32".
std::string TensorType(std::string_view path) {
  std::string type = "tensor";
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('_', at), path.size());
    const std::string_view word = path.substr(at, end - at);
    if (word == "sparsity") break;
    if (word != "op" && word != "src" && word != "dst") type += " " + std::string(word);
    at = end + 1;
  }
  return type;
}

void AddTensorPoints(const KernelCounters& kernel, std::vector<RooflinePoint>* points) {
  const double clock = kernel.ValueOrZero("sm__cycles_elapsed.avg.per_second");
  bool is_by_instruction = false;
  for (const std::string_view path : kTensorPaths) {
    const std::string name = fmt::format("sm__ops_path_tensor_{}.sum", path);
    const auto rate = kernel.Value(name + ".per_cycle_elapsed");
    if (!rate) continue;
    // Chips that count by instruction count the same operations by type, too.
    const bool is_of_instruction = path.starts_with("op_");
    is_by_instruction = is_by_instruction || is_of_instruction;
    if (is_by_instruction && !is_of_instruction && path != "src_fp8_sparsity_off" && path != "src_fp64") continue;
    const double peak = kernel.ValueOrZero(name + ".peak_sustained");
    points->push_back({TensorType(path), *rate * clock, peak * clock});
  }
}

}  // namespace

std::vector<Stall> StallsOf(const KernelCounters& kernel) {
  std::vector<Stall> stalls;
  double sum = 0;
  for (const std::string_view reason : kReasons) {
    const auto warps = kernel.Value(fmt::format("smsp__average_warps_issue_stalled_{}_per_issue_active.ratio", reason));
    if (!warps) continue;
    stalls.push_back({reason, *warps, 0});
    sum += *warps;
  }
  const double latency = kernel.Value("smsp__average_warp_latency_per_inst_issued.ratio").value_or(sum);
  for (Stall& stall : stalls) stall.percent = latency > 0 ? 100 * stall.warps / latency : 0;
  std::ranges::stable_sort(stalls, std::greater(), &Stall::warps);
  return stalls;
}

std::optional<Stall> TopStall(const KernelCounters& kernel) {
  for (const Stall& stall : StallsOf(kernel)) {
    if (stall.reason != "selected" && stall.reason != "not_selected") return stall;
  }
  return {};
}

std::string_view MeaningOf(std::string_view reason) {
  constexpr std::pair<std::string_view, std::string_view> kMeanings[] = {
      {"barrier", "other warps at __syncthreads()"},
      {"branch_resolving", "the target of a branch"},
      {"dispatch_stall", "the dispatcher, which holds back what was issued"},
      {"drain", "stores to be written before the warp ends"},
      {"gmma", "asynchronous matrix instructions"},
      {"imc_miss", "a constant that is not in its cache"},
      {"lg_throttle", "room in the queue of global and local memory"},
      {"long_scoreboard", "data of global, local or texture memory"},
      {"math_pipe_throttle", "a busy pipe for arithmetic"},
      {"membar", "a memory barrier (__threadfence)"},
      {"mio_throttle", "room in the queue of shared memory and special functions"},
      {"misc", "other reasons"},
      {"no_instruction", "the instruction itself (cache misses, jumps)"},
      {"not_selected", "nothing: another warp was issued"},
      {"selected", "nothing: it was issued"},
      {"short_scoreboard", "data of shared memory or special functions"},
      {"sleeping", "nothing: it sleeps (__nanosleep)"},
      {"tex_throttle", "room in the queue of textures"},
      {"wait", "a fixed latency of the instruction before"}};
  for (const auto& [name, meaning] : kMeanings) {
    if (name == reason) return meaning;
  }
  return {};
}

std::vector<MemoryRoof> MemoryRoofsOf(const KernelCounters& kernel) {
  std::vector<MemoryRoof> levels;
  const auto add = [&](std::string_view name, std::string_view metric, double factor, std::string_view clock) {
    const auto bytes = kernel.Value(std::string(metric) + ".sum.per_second");
    if (!bytes) return;
    const double peak = kernel.ValueOrZero(std::string(metric) + ".sum.peak_sustained");
    levels.push_back({name, factor * *bytes, factor * peak * kernel.ValueOrZero(clock)});
  };
  add("DRAM", "dram__bytes", 1, "dram__cycles_elapsed.avg.per_second");
  add("L2", "lts__lts2xbar_cycles_active", 32, "lts__cycles_elapsed.avg.per_second");
  add("L1", "l1tex__lsu_writeback_active_mem_lgds", 128, "l1tex__cycles_elapsed.avg.per_second");
  return levels;
}

std::optional<RooflinePoint> Fp32Of(const KernelCounters& kernel) { return PointOf(kernel, kPrecisions[0]); }
std::optional<RooflinePoint> Fp64Of(const KernelCounters& kernel) { return PointOf(kernel, kPrecisions[1]); }

std::vector<RooflinePoint> RooflineOf(const KernelCounters& kernel) {
  std::vector<RooflinePoint> points;
  for (const Precision& precision : kPrecisions) {
    if (const auto point = PointOf(kernel, precision)) points.push_back(*point);
  }
  AddTensorPoints(kernel, &points);
  std::ranges::stable_sort(points,
                           [](const RooflinePoint& a, const RooflinePoint& b) { return a.Percent() > b.Percent(); });
  std::erase_if(points, [](const RooflinePoint& p) { return p.per_second <= 0; });
  const auto small = std::ranges::find_if(points, [](const RooflinePoint& p) { return p.Percent() <= 1; });
  const auto kept = std::max<std::ptrdiff_t>(small - points.begin(), 1);
  if (static_cast<std::ptrdiff_t>(points.size()) > kept) points.erase(points.begin() + kept, points.end());
  return points;
}

}  // namespace gprof
