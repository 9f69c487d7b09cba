// Matrix multiplications of cuBLAS: by size and type, what of the GPU's peak they reach, and what holds them back.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/facts/operations/device_peaks.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr double kGemmPercentWorthAFinding = 5;  // of the time that the GPUs run kernels
constexpr uint32_t kTensorCoreBytes = 16;        // what tensor cores load at a time
constexpr double kTera = 1e12;
constexpr double kFasterLayout = 1.25;  // nobody copies a matrix into another layout for less
constexpr double kLikeSizes = 4;        // sizes are alike whose operations differ by less than this factor

// The multiplication that a thread was in at a time.
class GemmAt {
 public:
  explicit GemmAt(const Trace& trace) : trace_(trace), of_thread_(trace.threads.size()) {
    for (uint32_t i = 0; i < trace.gemms.size(); ++i) {
      if (trace.gemms[i].thread < of_thread_.size()) of_thread_[trace.gemms[i].thread].push_back(i);
    }
  }

  uint32_t Find(uint32_t thread, int64_t time_ns) const {
    if (thread >= of_thread_.size()) return kNone;
    const std::vector<uint32_t>& gemms = of_thread_[thread];
    const auto after = std::upper_bound(gemms.begin(), gemms.end(), time_ns, [&](int64_t time, uint32_t gemm) {
      return time < trace_.gemms[gemm].start_ns;
    });
    if (after == gemms.begin() || trace_.gemms[*(after - 1)].end_ns <= time_ns) return kNone;
    return *(after - 1);
  }

 private:
  const Trace& trace_;
  std::vector<std::vector<uint32_t>> of_thread_;
};

// What ran on a GPU for one call: once, or each time that a graph was launched that it was captured into.
struct GemmWork {
  uint32_t device = kNone;
  int64_t gpu_ns = 0, runs = 0;
};

std::vector<GemmWork> WorkOfCalls(const Trace& trace) {
  std::vector<GemmWork> work(trace.gemms.size());
  if (work.empty()) return work;
  const GemmAt gemm_at(trace);
  std::unordered_map<uint32_t, int64_t> runs_of_node;
  for (const Operation op : OperationsOf(trace)) {
    uint32_t gemm = kNone;
    int64_t runs = 1;
    if (const uint32_t node = op.shared().node; node != kNone) {
      gemm = gemm_at.Find(trace.graph_nodes[node].thread, trace.graph_nodes[node].time_ns);
      runs = ++runs_of_node[node];
    } else if (op.call() != kNone) {
      const Call call(trace.api_calls, op.call());
      gemm = gemm_at.Find(call.thread(), call.start_ns());
    }
    if (gemm == kNone) continue;
    work[gemm].device = op.shared().device;
    work[gemm].gpu_ns += op.duration_ns();
    work[gemm].runs = std::max(work[gemm].runs, runs);
  }
  return work;
}

// Numbers of cudaDataType_t and cublasComputeType_t.
MathType MathOf(const Gemm& gemm) {
  constexpr uint8_t kFast16 = 74, kFastBf16 = 75, kFastTf32 = 77;
  constexpr uint8_t kCompute32 = 68, kPedantic32 = 69;
  switch (gemm.a_type) {
    case 0:
    case 4:
      if (gemm.compute_type == kFastTf32) return MathType::kTf32;
      if (gemm.compute_type == kFast16) return MathType::kFp16;
      if (gemm.compute_type == kFastBf16) return MathType::kBf16;
      return gemm.compute_type == kCompute32 || gemm.compute_type == kPedantic32 ? MathType::kFp32 : MathType::kOther;
    case 1:
    case 5:
      return MathType::kFp64;
    case 2:
    case 6:
      return MathType::kFp16;
    case 14:
    case 15:
      return MathType::kBf16;
    case 3:
    case 7:
    case 8:
    case 9:
      return MathType::kInt8;
    case 28:
    case 29:
      return MathType::kFp8;
    case 33:
      return MathType::kFp4;
    default:
      return MathType::kOther;
  }
}

bool IsComplex(const Gemm& gemm) {
  return gemm.a_type == 4 || gemm.a_type == 5 || gemm.a_type == 6 || gemm.a_type == 7 || gemm.a_type == 15;
}

uint32_t BytesOfElement(uint8_t type) {
  switch (type) {
    case 0:
    case 6:
    case 10:
    case 15:
      return 4;
    case 1:
    case 4:
      return 8;
    case 5:
      return 16;
    case 2:
    case 7:
    case 14:
      return 2;
    default:
      return 1;
  }
}

// A multiplication and an addition are two operations; those of complex numbers take four of each.
double OperationsOfRun(const Gemm& gemm) {
  return (IsComplex(gemm) ? 8.0 : 2.0) * gemm.m * gemm.n * gemm.k * gemm.batch;
}

bool AreOfOneCall(const Gemm& a, const Gemm& b) {
  return a.thread == b.thread && a.start_ns == b.start_ns && a.end_ns == b.end_ns && a.function == b.function;
}

// The groups of a call are multiplications of their own, and what ran for it was found with the last of them: its time
// is divided by their operations.
std::vector<GemmWork> WorkOfGemms(const Trace& trace) {
  std::vector<GemmWork> work = WorkOfCalls(trace);
  for (size_t first = 0, last = 0; first < work.size(); first = last + 1) {
    double operations = OperationsOfRun(trace.gemms[first]);
    for (last = first; last + 1 < work.size() && AreOfOneCall(trace.gemms[first], trace.gemms[last + 1]); ++last) {
      operations += OperationsOfRun(trace.gemms[last + 1]);
    }
    if (first == last || operations <= 0) continue;
    const GemmWork whole = work[last];
    for (size_t i = first; i <= last; ++i) {
      const double part = OperationsOfRun(trace.gemms[i]) / operations;
      work[i] = {whole.device, static_cast<int64_t>(part * static_cast<double>(whole.gpu_ns)), whole.runs};
    }
  }
  return work;
}

bool IsAligned(const Gemm& gemm) {
  const auto is_whole = [](uint64_t elements, uint8_t type) {
    return elements * BytesOfElement(type) % kTensorCoreBytes == 0;
  };
  return (gemm.alignment == 0 || gemm.alignment >= kTensorCoreBytes) && is_whole(gemm.lda, gemm.a_type) &&
         is_whole(gemm.ldb, gemm.b_type) && is_whole(gemm.ldc, gemm.c_type);
}

// Multiplications of one size, type and layout on one device.
struct GemmSum {
  Gemm like;
  uint32_t device = kNone;
  int64_t calls = 0, runs = 0;
  SaturatingSum gpu_ns;
  double operations = 0;
  MathType math() const { return MathOf(like); }
  double PerSecond() const { return gpu_ns > 0 ? operations / static_cast<double>(int64_t{gpu_ns}) * 1e9 : 0; }
};

std::vector<GemmSum> SumGemms(const Trace& trace) {
  const std::vector<GemmWork> work = WorkOfGemms(trace);
  const auto key = [](const Gemm& g, uint32_t device) {
    return std::tuple(device, g.function, g.m, g.n, g.k, g.batch, g.a_type, g.b_type, g.c_type, g.compute_type,
                      g.a_transposed, g.b_transposed, IsAligned(g));
  };
  std::map<decltype(key(Gemm{}, 0)), GemmSum> sums;
  for (uint32_t i = 0; i < trace.gemms.size(); ++i) {
    const Gemm& gemm = trace.gemms[i];
    GemmSum& sum = sums[key(gemm, work[i].device)];
    sum.like = gemm;
    sum.device = work[i].device;
    ++sum.calls;
    sum.runs += work[i].runs;
    sum.gpu_ns += work[i].gpu_ns;
    sum.operations += OperationsOfRun(gemm) * static_cast<double>(work[i].runs);
  }
  std::vector<GemmSum> list;
  for (auto& [shape, sum] : sums) list.push_back(std::move(sum));
  std::ranges::stable_sort(list, [](const GemmSum& a, const GemmSum& b) {
    return std::pair(int64_t{b.gpu_ns}, b.calls) < std::pair(int64_t{a.gpu_ns}, a.calls);
  });
  return list;
}

double PeakOf(const Trace& trace, const GemmSum& sum) {
  return sum.device == kNone ? 0 : PeakOperationsPerSecond(trace.devices[sum.device], sum.math());
}

std::string Layout(const Gemm& gemm) {
  constexpr char kLetters[] = {'N', 'T', 'C', '?'};
  return {kLetters[gemm.a_transposed & 3], kLetters[gemm.b_transposed & 3]};
}

Table GemmTable(const Trace& trace, const std::vector<GemmSum>& sums, uint32_t max_rows) {
  Table table{
      "gemms",
      "Matrix multiplications",
      {{"gpu_percent", "GPU (%)", Unit::kPercent, true},
       {"gpu_ns", "GPU time", Unit::kNs, false},
       {"runs", "Runs", Unit::kCount, false, "including those in CUDA graphs"},
       {"calls", "Calls", Unit::kCount, true},
       {"mean_ns", "Mean", Unit::kNs, true, ColumnRole::kMean},
       {"tflops", "TFLOP/s", Unit::kCount, false, ColumnRole::kRate},
       {"peak_percent", "% of peak", Unit::kPercent, false, ColumnRole::kRate},
       {"type", "Type", Unit::kText, false},
       {"m", "M", Unit::kCount, false, ColumnRole::kName},
       {"n", "N", Unit::kCount, false, ColumnRole::kName},
       {"k", "K", Unit::kCount, false, ColumnRole::kName},
       {"batch", "Batch", Unit::kCount, true, ColumnRole::kName},
       {"layout", "Layout", Unit::kText, true},
       {"is_aligned", "Aligned", Unit::kText, true, "addresses and leading dimensions are multiples of 16 bytes"},
       {"device", "GPU", Unit::kText, true, ColumnRole::kOwn},
       {"function", "Function", Unit::kText, false}},
      {},
      "cuBLAS matrix multiplications: C (M x N) = A (M x K) B (K x N). Peak: dense peak of the data type at the "
      "maximum clock.",
      RowsOfRanks::kAddUp};
  SaturatingSum gpu_ns;
  for (const GemmSum& sum : sums) gpu_ns += sum.gpu_ns;
  const std::size_t shown = RowsShown(sums.size(), max_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    const GemmSum& sum = sums[i];
    const Gemm& g = sum.like;
    const double peak = PeakOf(trace, sum);
    const bool ran = sum.runs > 0 && sum.gpu_ns > 0;
    table.rows.push_back(
        {PercentOf(sum.gpu_ns, gpu_ns), ran ? Cell(int64_t{sum.gpu_ns}) : Cell(), sum.runs, sum.calls,
         ran ? Cell(sum.gpu_ns / sum.runs) : Cell(), ran ? Cell(sum.PerSecond() / kTera) : Cell(),
         ran && peak > 0 ? Cell(100 * sum.PerSecond() / peak) : Cell(), std::string(NameOf(sum.math())), int64_t{g.m},
         int64_t{g.n}, int64_t{g.k}, int64_t{g.batch}, Layout(g), IsAligned(g) ? "yes" : "no",
         sum.device == kNone ? Cell() : Cell(DeviceScope(trace, sum.device)), std::string(trace.Text(g.function))});
  }
  CountLeftOut(&table, sums.size());
  return table;
}

void AddMetrics(const Trace& trace, const std::vector<GemmSum>& sums, AnalysisResult* result) {
  SaturatingSum gpu_ns;
  int64_t calls = 0;
  double operations = 0, ideal_ns = 0, of_known_ns = 0;
  for (const GemmSum& sum : sums) {
    calls += sum.calls;
    gpu_ns += sum.gpu_ns;
    operations += sum.operations;
    if (const double peak = PeakOf(trace, sum); peak > 0) {
      ideal_ns += sum.operations / peak * 1e9;
      of_known_ns += static_cast<double>(int64_t{sum.gpu_ns});
    }
  }
  AddMetric(result, "gemm.calls", calls);
  AddMetric(result, "gemm.gpu_ns", gpu_ns);
  AddMetric(result, "gemm.flop", operations);
  if (gpu_ns > 0) AddMetric(result, "gemm.tflops", operations / static_cast<double>(int64_t{gpu_ns}) * 1e9 / kTera);
  if (of_known_ns > 0) AddMetric(result, "gemm.peak_percent", 100 * ideal_ns / of_known_ns);
}

std::string Tera(double per_second) { return FormatNumber(per_second / kTera) + " TFLOP/s"; }

// Multiplications that a finding is about, and what they would take otherwise.
struct GemmGroup {
  const GemmSum* longest = nullptr;
  SaturatingSum gpu_ns;
  int64_t runs = 0;
  double operations = 0, other_ns = 0;
  void Add(const GemmSum& sum, double sum_other_ns) {
    if (longest == nullptr) longest = &sum;
    gpu_ns += sum.gpu_ns;
    runs += sum.runs;
    operations += sum.operations;
    other_ns += std::min(sum_other_ns, static_cast<double>(int64_t{sum.gpu_ns}));
  }
  double PerSecond() const { return operations / static_cast<double>(int64_t{gpu_ns}) * 1e9; }
  int64_t GainNs() const { return int64_t{gpu_ns} - static_cast<int64_t>(other_ns); }
};

std::string SizeOf(const Gemm& gemm) {
  return std::to_string(gemm.m) + " x " + std::to_string(gemm.n) + " x " + std::to_string(gemm.k) +
         (gemm.batch > 1 ? " in batches of " + std::to_string(gemm.batch) : "");
}

std::string SpeedOf(const GemmGroup& group, double percent) {
  return FormatPercent(percent) + " of the kernel time (" + FormatNs(int64_t{group.gpu_ns}) + ") at " +
         Tera(group.PerSecond());
}

bool IsWorthAFinding(const GemmGroup& group, int64_t kernel_ns) {
  return group.longest != nullptr && PercentOf(group.gpu_ns, kernel_ns) >= kGemmPercentWorthAFinding;
}

void FindFp32(const Trace& trace, const std::vector<GemmSum>& sums, int64_t kernel_ns, AnalysisResult* result) {
  GemmGroup group;
  for (const GemmSum& sum : sums) {
    if (sum.device == kNone || sum.math() != MathType::kFp32) continue;
    const double peak = PeakOperationsPerSecond(trace.devices[sum.device], MathType::kTf32);
    if (peak > 0) group.Add(sum, sum.operations / peak * 1e9);
  }
  if (!IsWorthAFinding(group, kernel_ns)) return;
  const double percent = PercentOf(group.gpu_ns, kernel_ns);
  Finding finding = NewFinding("gemm.fp32", percent);
  const Device& device = trace.devices[group.longest->device];
  finding.message = "FP32 matrix multiplications run without tensor cores: " + SpeedOf(group, percent);
  finding.evidence = {"Peak of this GPU: " + Tera(PeakOperationsPerSecond(device, MathType::kFp32)) + " in FP32, " +
                          Tera(PeakOperationsPerSecond(device, MathType::kTf32)) + " in TF32",
                      CountOf(group.runs, "run") + ", the longest of " + SizeOf(group.longest->like)};
  finding.gain_ns = group.GainNs();
  finding.basis = "assumes they reach the peak of TF32";
  result->findings.push_back(std::move(finding));
}

// The rate of the fastest multiplications with aligned matrices that are alike otherwise.
double RateOfAligned(const std::vector<GemmSum>& sums, const GemmSum& one) {
  double best = 0;
  const double operations = OperationsOfRun(one.like);
  for (const GemmSum& other : sums) {
    if (other.device != one.device || other.math() != one.math() || !IsAligned(other.like)) continue;
    const double factor = OperationsOfRun(other.like) / operations;
    if (factor < kLikeSizes && factor > 1 / kLikeSizes) best = std::max(best, other.PerSecond());
  }
  return best;
}

bool UsesTensorCores(const Trace& trace, const GemmSum& sum) {
  return sum.math() != MathType::kFp32 && sum.math() != MathType::kFp64 && PeakOf(trace, sum) > 0;
}

void FindMisaligned(const Trace& trace, const std::vector<GemmSum>& sums, int64_t kernel_ns, AnalysisResult* result) {
  GemmGroup group;
  bool has_aligned = false;
  for (const GemmSum& sum : sums) {
    if (sum.runs == 0 || !UsesTensorCores(trace, sum) || IsAligned(sum.like)) continue;
    const double rate = RateOfAligned(sums, sum);
    has_aligned |= rate > sum.PerSecond();
    group.Add(sum, rate > 0 ? sum.operations / rate * 1e9 : static_cast<double>(int64_t{sum.gpu_ns}));
  }
  if (!IsWorthAFinding(group, kernel_ns)) return;
  const double percent = PercentOf(group.gpu_ns, kernel_ns);
  const Gemm& like = group.longest->like;
  Finding finding = NewFinding("gemm.misaligned", percent);
  finding.message = "Matrices that are multiplied are not aligned to " + std::to_string(kTensorCoreBytes) +
                    " bytes, which tensor cores need for full speed: " + SpeedOf(group, percent);
  finding.evidence.push_back(CountOf(group.runs, "run") + ", the longest of " + SizeOf(like) + " in " +
                             std::string(NameOf(group.longest->math())) + ", leading dimensions " +
                             std::to_string(like.lda) + ", " + std::to_string(like.ldb) + " and " +
                             std::to_string(like.ldc));
  if (has_aligned) {
    finding.gain_ns = group.GainNs();
    finding.basis = "assumes they are as fast as aligned ones of similar size in this run";
  }
  result->findings.push_back(std::move(finding));
}

// Of each size and type the sum of the layout that is fastest in this run.
class FastestLayouts {
 public:
  explicit FastestLayouts(const std::vector<GemmSum>& sums) {
    for (const GemmSum& sum : sums) {
      if (sum.gpu_ns <= 0) continue;
      const GemmSum*& best = best_[KeyOf(sum)];
      if (best == nullptr || best->PerSecond() < sum.PerSecond()) best = &sum;
    }
  }
  // Null where this one is it, or nearly as fast, or has the same layout (of another function).
  const GemmSum* FasterThan(const GemmSum& sum) const {
    const auto found = best_.find(KeyOf(sum));
    if (found == best_.end() || sum.gpu_ns <= 0) return nullptr;
    const GemmSum& best = *found->second;
    const bool is_faster = best.PerSecond() > kFasterLayout * sum.PerSecond();
    return is_faster && Layout(best.like) != Layout(sum.like) ? &best : nullptr;
  }

 private:
  using Key = std::tuple<uint32_t, uint64_t, uint64_t, uint64_t, uint64_t, uint8_t, uint8_t, uint8_t, uint8_t, bool>;
  static Key KeyOf(const GemmSum& sum) {
    const Gemm& g = sum.like;
    return {sum.device, g.m, g.n, g.k, g.batch, g.a_type, g.b_type, g.c_type, g.compute_type, IsAligned(g)};
  }
  std::map<Key, const GemmSum*> best_;
};

void FindSlowLayouts(const std::vector<GemmSum>& sums, int64_t kernel_ns, AnalysisResult* result) {
  const FastestLayouts fastest(sums);
  GemmGroup group;
  for (const GemmSum& sum : sums) {
    if (const GemmSum* best = fastest.FasterThan(sum)) group.Add(sum, sum.operations / best->PerSecond() * 1e9);
  }
  if (!IsWorthAFinding(group, kernel_ns)) return;
  const double percent = PercentOf(group.gpu_ns, kernel_ns);
  const GemmSum& longest = *group.longest;
  const GemmSum& best = *fastest.FasterThan(longest);
  Finding finding = NewFinding("gemm.layout", percent);
  finding.message =
      CountOf(group.runs, "multiplication") + " would be faster in another layout: " + SpeedOf(group, percent);
  finding.evidence.push_back("Longest: " + SizeOf(longest.like) + " in " + std::string(NameOf(longest.math())) + ", " +
                             Layout(longest.like) + " at " + Tera(longest.PerSecond()) + "; " + Layout(best.like) +
                             " of the same size reaches " + Tera(best.PerSecond()) + " in this run");
  finding.gain_ns = group.GainNs();
  finding.basis = "assumes the speed of the faster layout";
  result->findings.push_back(std::move(finding));
}

}  // namespace

AnalysisResult RunGemms(const AnalysisInput& input, const AnalysisOptions& options) {
  AnalysisResult result;
  const Trace& trace = input.trace();
  const std::vector<GemmSum> sums = SumGemms(trace);
  AddMetrics(trace, sums, &result);
  if (sums.empty()) return result;
  result.tables.push_back(GemmTable(trace, sums, options.max_rows));
  SaturatingSum kernel_ns;
  for (uint32_t device = 0; device < trace.device_ops.size(); ++device) {
    if (HasWindow(trace, device)) kernel_ns += input.shared().busy(device).kernels.busy_ns();
  }
  FindFp32(trace, sums, kernel_ns, &result);
  FindMisaligned(trace, sums, kernel_ns, &result);
  FindSlowLayouts(sums, kernel_ns, &result);
  return result;
}

}  // namespace gprof
