#include "analysis/causes/counters/counter_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/facts/counters/counter_breakdown.h"
#include "analysis/facts/counters/counter_formulas.h"
#include "analysis/facts/counters/counter_occupancy.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr double kLeastPercent = 1;       // of the kernel's time: less is not worth a sentence
constexpr double kClearPercent = 10;      // a cause with so much comes before what it shows as
constexpr double kMainPercent = 50;       // a cause with so much is what the kernel is about
constexpr double kSaturatedPercent = 60;  // of a peak: from here on that unit is what limits
constexpr double kHeavierPercent = 10;    // points by which compute or memory is ahead of the other
constexpr std::size_t kMostDiagnoses = 3;

std::string Percent(double percent) { return FormatPercent(percent); }
std::string Count(double count) { return FormatCount(std::llround(count)); }

// What the rules share about a kernel.
class Rules {
 public:
  Rules(const KernelCounters& kernel, const trace::DeviceRecord* device)
      : k_(kernel),
        device_(device),
        limits_(LimitsOf(kernel, device)),
        sms_(kernel.Value("launch__sm_count").value_or(device == nullptr ? 0 : device->sm_count)),
        throughputs_(ThroughputsOf(kernel)),
        compute_(throughputs_.compute.value_or(0)),
        memory_(throughputs_.memory.value_or(0)) {}

  std::vector<Diagnosis> Run() {
    const bool is_small = SmallGrid();
    if (!is_small) {
      LowOccupancy();
      Tail();
      Imbalance();
    }
    Divergence();
    Fp64();
    Unfused();
    BankConflicts();
    Uncoalesced();
    LocalMemory();
    Atomics();
    L2Thrash();
    ExcessInstructions();
    TensorUnused();
    // Parts of a throughput tell what limits, but not that nothing does.
    if (!is_small && (throughputs_.is_whole || TopPercent() >= kSaturatedPercent)) Bound();
    Order();
    return std::move(found_);
  }

 private:
  double DramPercent() const {
    return k_.Value("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed")
        .value_or(k_.ValueOrZero("dram__throughput.avg.pct_of_peak_sustained_elapsed"));
  }
  double L2Percent() const {
    return k_.Value("lts__throughput.avg.pct_of_peak_sustained_elapsed")
        .value_or(k_.ValueOrZero("lts__t_sectors.avg.pct_of_peak_sustained_elapsed"));
  }
  double TopPercent() const { return std::max(compute_, memory_); }
  // What is left to the nearest roof.
  double Room() const { return 100 - std::min(TopPercent(), 100.0); }
  // And to an instruction in every cycle: more warps win no more than that.
  double LatencyRoom() const {
    const std::optional<double> per_cycle = k_.Value("smsp__issue_active.avg.per_cycle_active");
    const double issued =
        k_.Value("smsp__issue_active.avg.pct_of_peak_sustained_active")
            .value_or(per_cycle ? 100 * *per_cycle
                                : k_.ValueOrZero("sm__issue_active.avg.pct_of_peak_sustained_elapsed"));
    return std::min(Room(), 100 - issued);
  }

  void Diagnose(std::string_view finding, double percent, std::string message, bool is_general = false,
                std::vector<std::string> evidence = {}) {
    if (percent < kLeastPercent && !is_general) return;
    (is_general ? general_ : found_)
        .push_back({finding, std::min(percent, 100.0), std::move(message), !is_general, std::move(evidence)});
  }

  bool SmallGrid() {
    const double blocks = k_.ValueOrZero("launch__grid_size");
    if (blocks <= 0 || blocks >= sms_) return false;
    Diagnose("kernel.small_grid", 100 * (sms_ - blocks) / sms_,
             fmt::format("{} {} on {} SMs: the others have no work", Count(blocks), blocks == 1 ? "block" : "blocks",
                         Count(sms_)));
    return true;
  }

  void LowOccupancy() {
    constexpr double kLow = 80;
    if (!limits_ || limits_->percent >= kLow || TopPercent() >= kSaturatedPercent) return;
    Diagnose("kernel.low_occupancy", std::min(100 - limits_->percent, LatencyRoom()),
             fmt::format("at most {} of the warps that an SM can hold fit, limited by {} ({} {} of {} threads per SM)",
                         Percent(limits_->percent), limits_->limiter, Count(limits_->blocks_per_sm),
                         limits_->blocks_per_sm == 1 ? "block" : "blocks", Count(k_.ValueOrZero("launch__block_size"))),
             false, Residents());
  }

  std::vector<std::string> Residents() const {
    std::vector<std::string> lines = {Percent(k_.ValueOrZero("sm__warps_active.avg.pct_of_peak_sustained_active")) +
                                      " were resident on average"};
    if (std::string next = NextOccupancy(); !next.empty()) lines.insert(lines.begin(), std::move(next));
    return lines;
  }

  // The least change of the first limit by which more warps fit.
  std::string NextOccupancy() const {
    for (const WhatIf& w : WhatIfsOf(k_, device_)) {
      if (!limits_->limiter.starts_with(w.resource)) continue;
      if (w.resource == "registers")
        return fmt::format("With {} registers a thread instead of {}, {} would fit", Count(w.then), Count(w.now),
                           Percent(w.percent));
      return fmt::format("With {} of shared memory a block instead of {}, {} would fit", FormatBytes(w.then),
                         FormatBytes(w.now), Percent(w.percent));
    }
    return {};
  }

  // The last, partly filled wave takes as long as a full one, unless what limits the kernel is busy all the time: what
  // is empty of it could be saved.
  void Tail() {
    constexpr double kLeastShare = 20;
    if (!limits_) return;
    const double whole = std::floor(limits_->waves), part = limits_->waves - whole;
    const double share = 100 / (1 + whole);
    if (whole < 1 || part <= 0 || share < kLeastShare) return;
    Diagnose(
        "kernel.tail", std::min(share * (1 - part), Room()),
        fmt::format("the grid fills the GPU {:.2f} times: the last wave is {} full and takes as long as the others",
                    limits_->waves, Percent(100 * part)));
  }

  void Imbalance() {
    constexpr double kLeastImbalance = 5;
    const double mean = k_.ValueOrZero("sm__cycles_active.avg"), most = k_.ValueOrZero("sm__cycles_active.max");
    const double elapsed = std::max(k_.ValueOrZero("sm__cycles_elapsed.max"), most);
    if (most <= 0) return;
    const double percent = 100 * (most - mean) / elapsed;
    if (percent < kLeastImbalance) return;
    Diagnose("kernel.imbalance", percent,
             fmt::format("the busiest SM was active for {} cycles, the average SM for {}", Count(most), Count(mean)));
  }

  void Divergence() {
    constexpr double kFewThreads = 24;
    const auto threads = k_.Value("smsp__thread_inst_executed_per_inst_executed.ratio");
    const auto working = k_.Value("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio");
    if (!threads && !working) return;
    const double least = std::min(threads.value_or(kWarpThreads), working.value_or(kWarpThreads));
    if (least >= kFewThreads || least <= 0) return;
    Diagnose("kernel.divergence", (1 - least / kWarpThreads) * compute_,
             fmt::format("on average {:.1f} of the 32 threads of a warp execute an instruction", least));
  }

  // FP64 has a fraction of the peak of FP32 on most chips.
  void Fp64() {
    constexpr double kLeastFp64 = 15;
    const auto fp32 = Fp32Of(k_), fp64 = Fp64Of(k_);
    if (!fp32 || !fp64 || fp64->Percent() < kLeastFp64 || fp32->Percent() >= kSaturatedPercent) return;
    if (fp64->peak_per_second <= 0 || fp32->peak_per_second <= fp64->peak_per_second) return;
    const double share = fp64->per_second / (fp64->per_second + fp32->per_second);
    const double pipe =
        k_.Value("sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed").value_or(fp64->Percent());
    Diagnose("kernel.fp64", share * (1 - fp64->peak_per_second / fp32->peak_per_second) * pipe,
             fmt::format("FP64 arithmetic runs at {} of its peak, which is {:.1f} times lower than the FP32 peak",
                         Percent(fp64->Percent()), fp32->peak_per_second / fp64->peak_per_second));
  }

  // Additions and multiplications apart take two instructions where one does. In a pipe with room that costs nothing.
  void Unfused() {
    constexpr double kLeastShare = 0.1, kLeastPipe = 20;
    const auto judge = [&](char letter, const char* type, std::string_view pipe) {
      const auto rate = [&](const char* what) {
        return k_.ValueOrZero(
            fmt::format("smsp__sass_thread_inst_executed_op_{}{}_pred_on.sum.per_cycle_elapsed", letter, what));
      };
      const double apart = rate("add") + rate("mul"), all = apart + rate("fma");
      const double use = k_.ValueOrZero(pipe);
      if (all <= 0 || apart / all / 2 <= kLeastShare || use < kLeastPipe) return;
      Diagnose(
          "kernel.unfused", apart / all / 2 * use,
          fmt::format("{} of its {} additions and multiplications are not fused", Percent(100 * apart / all), type));
    };
    judge('f', "FP32", "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed");
    judge('d', "FP64", "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed");
  }

  void BankConflicts() {
    constexpr double kLeastConflicts = 10;
    const auto sum = [&](const char* what, const char* op) {
      return k_.ValueOrZero(fmt::format("l1tex__data_{}_mem_shared_op_{}.sum", what, op));
    };
    for (const auto& [op, name] : {std::pair("ld", "loads"), std::pair("st", "stores")}) {
      const double conflicts = sum("bank_conflicts_pipe_lsu", op), wavefronts = sum("pipe_lsu_wavefronts", op);
      if (wavefronts <= 0 || 100 * conflicts / wavefronts < kLeastConflicts) continue;
      const double l1 = k_.ValueOrZero("l1tex__throughput.avg.pct_of_peak_sustained_active");
      Diagnose("kernel.bank_conflicts", conflicts / wavefronts * l1,
               fmt::format("{} of the wavefronts of shared-memory {} are bank conflicts ({} of {})",
                           Percent(100 * conflicts / wavefronts), name, Count(conflicts), Count(wavefronts)));
    }
  }

  void Uncoalesced() {
    double excess = 0, all = 0;
    std::string words;
    for (const auto& [op, name] : {std::pair("ld", "loads"), std::pair("st", "stores")}) {
      const std::string ratio = fmt::format("smsp__sass_average_data_bytes_per_sector_mem_global_op_{}", op);
      const double used = k_.ValueOrZero(ratio + ".ratio"), most = k_.ValueOrZero(ratio + ".max_rate");
      const double sectors = k_.ValueOrZero(fmt::format("l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum", op));
      all += sectors;
      if (used <= 0 || most <= 0 || used >= most) continue;
      excess += sectors * (1 - used / most);
      words +=
          fmt::format("{}{} use {:.1f} of the {:.0f} bytes of a sector", words.empty() ? "" : ", ", name, used, most);
    }
    if (excess <= 0) return;
    Diagnose("kernel.uncoalesced", excess / all * memory_,
             fmt::format("global {}; {} of the sectors would suffice", words, Percent(100 * (1 - excess / all))));
  }

  // Spilled registers, and arrays that are indexed by variables, live in memory.
  void LocalMemory() {
    constexpr double kLeastShare = 5;
    const auto requests = [&](const char* space) {
      const std::string name = fmt::format("l1tex__t_requests_pipe_lsu_mem_{}_op_", space);
      return k_.ValueOrZero(name + "ld.sum") + k_.ValueOrZero(name + "st.sum");
    };
    const double local = requests("local"), all = local + requests("global");
    if (local <= 0 || 100 * local / all < kLeastShare) return;
    Diagnose(
        "kernel.local_memory", local / all * std::max(memory_, StallPercent({"long_scoreboard", "lg_throttle"})),
        fmt::format("{} of its {} requests to memory are to local memory", Percent(100 * local / all), Count(all)));
  }

  double StallPercent(std::initializer_list<std::string_view> reasons) const {
    double percent = 0;
    for (const Stall& stall : StallsOf(k_)) {
      if (std::ranges::find(reasons, stall.reason) != reasons.end()) percent += stall.percent;
    }
    return percent;
  }

  // Atomic operations on few addresses wait for each other in one slice of L2.
  void Atomics() {
    constexpr double kLeastShare = 30;
    const double reductions = k_.Value("smsp__inst_executed_op_global_red.sum")
                                  .value_or(k_.ValueOrZero("l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"));
    const double atomics = reductions + k_.ValueOrZero("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum");
    const double waiting = StallPercent({"drain", "short_scoreboard", "long_scoreboard", "lg_throttle"});
    const double slice = k_.ValueOrZero("lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed");
    const double share = std::max(slice, atomics > 0 && slice == 0 ? waiting : 0.0);
    if (atomics <= 0 || share < kLeastShare || TopPercent() >= kSaturatedPercent) return;
    std::string words = fmt::format("{} requests of atomic operations", Count(atomics));
    if (slice > 0) words += fmt::format(" keep one L2 slice busy for {} of the time", Percent(slice));
    Diagnose("kernel.atomics", share / 100 * Room(), words);
  }

  // A kernel cannot read more bytes than the GPU holds without reading some of them again, and what L2 had kept of
  // those would not have come from DRAM. What it reads again goes through L2 in any case.
  void L2Thrash() {
    constexpr double kLeastTimes = 2;
    const double held = k_.ValueOrZero("device__memory_in_use");
    const double read = k_.Value("dram__bytes_read.sum").value_or(k_.ValueOrZero("dram__bytes_op_read.sum"));
    const double written = k_.Value("dram__bytes_write.sum").value_or(k_.ValueOrZero("dram__bytes_op_write.sum"));
    if (held <= 0 || read < kLeastTimes * held) return;
    // What L2 is busy with beside looking sectors up is to fetch them, which would go away with the thrash: a kernel
    // whose throughput of L2 was 96% took half of the time when its data fitted (H200).
    const double l2 = k_.Value("lts__t_sectors.avg.pct_of_peak_sustained_elapsed").value_or(L2Percent());
    Diagnose(
        "kernel.l2_thrash", std::min((read - held) / (read + written) * DramPercent(), 100 - std::max(compute_, l2)),
        fmt::format("read {} from DRAM while the GPU held {}: data was read {:.1f} times on average or more, and L2 "
                    "had not kept it",
                    FormatBytes(read), FormatBytes(held), read / held));
  }

  // The schedulers are busy with instructions that compute nothing.
  void ExcessInstructions() {
    constexpr double kBusyIssue = 80, kHalf = 50;
    const double issued = std::max(k_.ValueOrZero("sm__inst_issued.avg.pct_of_peak_sustained_elapsed"),
                                   k_.ValueOrZero("sm__issue_active.avg.pct_of_peak_sustained_elapsed"));
    double math = 0;
    for (const char* const pipe : {"fma", "fp64", "tensor", "shared"}) {
      math = std::max(math,
                      k_.ValueOrZero(fmt::format("sm__pipe_{}_cycles_active.avg.pct_of_peak_sustained_elapsed", pipe)));
    }
    // Of a warp that diverges, most of those are for a few threads.
    const bool is_divergent =
        std::ranges::any_of(found_, [](const Diagnosis& d) { return d.finding == "kernel.divergence"; });
    const bool is_known = k_.Value("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed") &&
                          k_.Value("smsp__thread_inst_executed_per_inst_executed.ratio");
    if (is_divergent || issued < kBusyIssue || math >= kHalf || !is_known) return;
    Diagnose("kernel.excess_instructions", issued - math,
             fmt::format("{} of the issue slots are used, but the busiest pipe for arithmetic only for {}",
                         Percent(issued), Percent(math)));
  }

  void Bound() {
    const bool is_saturated = TopPercent() >= kSaturatedPercent;
    // A time with the launch in it makes a short kernel look idle.
    if (!is_saturated) return k_.includes_launch ? void() : Latency();
    if (memory_ >= compute_ + kHeavierPercent) return MemoryBound();
    if (compute_ >= memory_ + kHeavierPercent) return ComputeBound();
    Diagnose("kernel.balanced", Room(),
             fmt::format("compute at {} and memory at {} of their peaks: both limit it", Percent(compute_),
                         Percent(memory_)),
             true);
  }

  void MemoryBound() {
    const double dram = DramPercent(), l2 = L2Percent();
    const double l1 = k_.Value("l1tex__throughput.avg.pct_of_peak_sustained_active")
                          .value_or(k_.ValueOrZero("l1tex__f_wavefronts.avg.pct_of_peak_sustained_elapsed"));
    constexpr double kNear = 1;  // the level that memory throughput is the one of
    const std::string_view level = dram >= memory_ - kNear ? "DRAM" : l2 >= l1 ? "L2" : "L1";
    std::string words =
        fmt::format("memory-bound ({}): {} of peak, compute {}", level, Percent(memory_), Percent(compute_));
    if (const auto bytes = k_.Value("dram__bytes.sum.per_second"))
      words += fmt::format("; DRAM at {}", FormatBytesPerSecond(*bytes));
    const auto hits = k_.Value("lts__t_sector_hit_rate.pct");
    if (hits) words += fmt::format(", L2 hit rate {}", Percent(std::min(*hits, 100.0)));
    Diagnose("kernel.memory_bound", Room(), words, true);
  }

  void ComputeBound() {
    constexpr std::pair<std::string_view, std::string_view> kPipes[] = {
        {"sm__pipe_tensor_cycles_active", "tensor"}, {"sm__pipe_fp64_cycles_active", "FP64"},
        {"sm__pipe_fma_cycles_active", "FMA"},       {"sm__pipe_alu_cycles_active", "ALU"},
        {"sm__inst_executed_pipe_xu", "XU"},         {"sm__inst_executed_pipe_lsu", "LSU"}};
    std::pair<double, std::string_view> most;
    for (const auto& [metric, name] : kPipes) {
      most = std::max(most, {k_.ValueOrZero(std::string(metric) + ".avg.pct_of_peak_sustained_elapsed"), name});
    }
    std::string words = fmt::format("compute-bound: {} of peak, memory {}", Percent(compute_), Percent(memory_));
    if (most.first > 0) words += fmt::format("; busiest pipe {} with {}", most.second, Percent(most.first));
    Diagnose("kernel.compute_bound", Room(), words, true);
  }

  void Latency() {
    std::vector<std::string> evidence;
    if (const auto stall = TopStall(k_)) {
      evidence.push_back(fmt::format("Warps spend {} of their time waiting for {} ({})", Percent(stall->percent),
                                     MeaningOf(stall->reason), stall->reason));
    } else if (const auto warps = k_.Value("sm__warps_active.avg.pct_of_peak_sustained_active")) {
      evidence.push_back(fmt::format("{} of the warps that an SM can hold were resident", Percent(*warps)));
    }
    Diagnose("kernel.latency_bound", LatencyRoom(),
             fmt::format("latency-bound: compute {} and memory {} of peak", Percent(compute_), Percent(memory_)), true,
             std::move(evidence));
  }

  // Whether it is a matrix product only its author knows, so nothing is promised.
  void TensorUnused() {
    const auto tensor = k_.Value("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed");
    const double fma = k_.ValueOrZero("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed");
    const double fp16 = k_.ValueOrZero("smsp__sass_thread_inst_executed_op_hfma_pred_on.sum.per_cycle_elapsed");
    if (!tensor || *tensor >= 1 || fma < kSaturatedPercent || fp16 <= 0) return;
    // Compilers write constants with an instruction for FP16, so that a little of it says nothing.
    double fp32 = 0;
    for (const char* const op : {"fadd", "fmul", "ffma"})
      fp32 += k_.ValueOrZero(fmt::format("smsp__sass_thread_inst_executed_op_{}_pred_on.sum.per_cycle_elapsed", op));
    if (fp16 <= fp32) return;
    Diagnose("kernel.tensor_unused", 0,
             fmt::format("FP16 arithmetic keeps the FMA pipe busy for {}, and the tensor cores are idle", Percent(fma)),
             true);
  }

  // Where one cause is most of the time, the kernel without it is another one: what limits it as it is, and what one
  // would do about that, would only lead away.
  void Order() {
    const auto by_percent = [](const Diagnosis& a, const Diagnosis& b) { return a.percent > b.percent; };
    std::ranges::stable_sort(found_, by_percent);
    if (!found_.empty() && found_.front().percent >= kMainPercent) general_.clear();
    const auto minor = std::ranges::find_if(found_, [](const Diagnosis& d) { return d.percent < kClearPercent; });
    found_.insert(minor, general_.begin(), general_.end());
    if (found_.size() > kMostDiagnoses) found_.resize(kMostDiagnoses);
  }

  const KernelCounters& k_;
  const trace::DeviceRecord* const device_;
  const std::optional<OccupancyLimits> limits_;
  const double sms_;
  const Throughputs throughputs_;
  const double compute_, memory_;
  std::vector<Diagnosis> found_, general_;
};

}  // namespace

std::vector<Diagnosis> DiagnosesOf(const KernelCounters& kernel, const trace::DeviceRecord* device) {
  return Rules(kernel, device).Run();
}

}  // namespace gprof
