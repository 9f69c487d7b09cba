// Kernels by type, as far as their names say it, and what the names of library kernels say about how it is
// done.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/causes/bound.h"
#include "analysis/facts/operations/device_peaks.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/kernels/kernel_sequences.h"
#include "analysis/topics/kernels/library_names.h"
#include "base/demangle.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr double kPercentWorthSaying = 5;      // of the kernel time
constexpr double kPercentWorthSequences = 10;  // what several kernels could be as one

// Kernels that have something in common.
struct KernelSum {
  SaturatingSum ns;
  int64_t count = 0;
  uint32_t longest = kNone;  // the group that took most of it
  int64_t longest_ns = 0;

  void Add(uint32_t group, const Statistics& times) {
    ns += times.total;
    count += times.count;
    if (longest == kNone || times.total > longest_ns) longest = group, longest_ns = times.total;
  }
};

class Kinds {
 public:
  explicit Kinds(const AnalysisInput& input)
      : kernels_(input.shared().kernels()), times_(input.shared().kernel_times()) {
    for (uint32_t i = 0; i < kernels_.size(); ++i) {
      kind_of_group_.push_back(KindOfKernel(kernels_.Name(i)));
      SumOf(kind_of_group_.back()).Add(i, times_[i]);
      all_ns_ += times_[i].total;
    }
  }

  // The names of some kernels say what they do.
  bool KnowsAny() const { return int64_t{all_ns_} != int64_t{Of(KernelKind::kOther).ns}; }
  const KernelSum& Of(KernelKind kind) const { return sums_[static_cast<std::size_t>(kind)]; }
  const std::vector<KernelKind>& of_groups() const { return kind_of_group_; }
  double Percent(int64_t ns) const { return PercentOf(ns, all_ns_); }
  const std::string& Name(uint32_t group) const { return kernels_.Name(group); }
  const KernelGroups& groups() const { return kernels_; }

  // Of the kernels that are so by kind and name.
  template <class F>
  KernelSum Where(F&& is_so) const {
    KernelSum sum;
    for (uint32_t i = 0; i < kernels_.size(); ++i) {
      if (is_so(kind_of_group_[i], kernels_.Name(i))) sum.Add(i, times_[i]);
    }
    return sum;
  }
  // Of products and convolutions, the latter alone where products are told elsewhere.
  template <class F>
  KernelSum Products(bool with_matrices, F&& is_it) const {
    return Where([&](KernelKind kind, std::string_view name) {
      const bool is_product = with_matrices && kind == KernelKind::kProduct;
      return (is_product || kind == KernelKind::kConvolution) && is_it(name);
    });
  }

 private:
  KernelSum& SumOf(KernelKind kind) { return sums_[static_cast<std::size_t>(kind)]; }

  const KernelGroups& kernels_;
  const std::vector<Statistics>& times_;
  std::vector<KernelKind> kind_of_group_;
  std::array<KernelSum, kKernelKindCount> sums_{};
  SaturatingSum all_ns_;
};

Table KindTable(const Kinds& kinds, uint32_t max_rows) {
  Table table{"kernel_kinds",
              "Kernels by type",
              {{"kernel_percent", "Time (%)", Unit::kPercent, true},
               {"total_ns", "Total", Unit::kNs, false},
               {"count", "Count", Unit::kCount, false},
               {"kind", "Kind", Unit::kText, false},
               {"longest", "Top kernel", Unit::kText, false, ColumnRole::kCommon}},
              {},
              "Types are taken from kernel names. Percent of total kernel time.",
              RowsOfRanks::kAddUp};
  for (std::size_t i = 0; i < kKernelKindCount; ++i) {
    const auto kind = static_cast<KernelKind>(i);
    const KernelSum& sum = kinds.Of(kind);
    if (sum.count == 0) continue;
    table.rows.push_back({kinds.Percent(sum.ns), int64_t{sum.ns}, sum.count, std::string(WordOf(kind)),
                          ShortName(kinds.Name(sum.longest))});
  }
  SortAndCut(&table, 1, 3, max_rows);
  return table;
}

std::string Share(const Kinds& kinds, int64_t ns) {
  return FormatPercent(kinds.Percent(ns)) + " of the kernel time (" + FormatNs(ns) + ")";
}

std::string LaunchCount(int64_t count) { return CountOf(count, "launch", "launches"); }

// `finding` is about these kernels, of which `longest` takes most of the time.
Finding About(Finding finding, const Kinds& kinds, uint32_t longest, const std::string& launches) {
  finding.subject.kernel = kinds.Name(longest);
  finding.evidence.push_back(launches + ", mostly " + ShortName(kinds.Name(longest)));
  return finding;
}

// Products of matrices are told with their sizes where cuBLAS was watched (gemms.cpp).
bool KnowsProducts(const Trace& trace) { return !trace.gemms.empty(); }

std::optional<Finding> Fp32(const Trace& trace, const Kinds& kinds) {
  const KernelSum sum = kinds.Products(!KnowsProducts(trace), IsFp32WithoutTensorCores);
  if (kinds.Percent(sum.ns) < kPercentWorthSaying) return std::nullopt;
  double times = 0;  // as fast on the fastest of the devices
  for (const Device& device : trace.devices)
    times = std::max(times, PeakRatio(device, MathType::kTf32, MathType::kFp32));
  if (times <= 1) return std::nullopt;
  Finding finding =
      About(NewFinding("library.fp32", kinds.Percent(sum.ns)), kinds, sum.longest, LaunchCount(sum.count));
  finding.message = "Matrix products and convolutions in FP32 run without tensor cores: " + Share(kinds, sum.ns);
  finding.gain_ns = static_cast<int64_t>(static_cast<double>(int64_t{sum.ns}) * (1 - 1 / times));
  finding.basis = "assumes TF32 is " + FormatNumber(times) + " times as fast, the ratio of the peaks";
  return finding;
}

std::optional<Finding> Misaligned(const Trace& trace, const Kinds& kinds) {
  const KernelSum sum = kinds.Products(!KnowsProducts(trace), IsMisalignedProduct);
  if (kinds.Percent(sum.ns) < kPercentWorthSaying) return std::nullopt;
  Finding finding =
      About(NewFinding("library.misaligned", kinds.Percent(sum.ns)), kinds, sum.longest, LaunchCount(sum.count));
  finding.message =
      "Matrix products on tensor cores load operands in small pieces, as rows are not aligned to 16 bytes: " +
      Share(kinds, sum.ns);
  finding.gain_ns = int64_t{sum.ns} / 2;
  finding.basis = "assumes aligned products run up to twice as fast";
  return finding;
}

std::optional<Finding> Layout(const Kinds& kinds) {
  const KernelSum& sum = kinds.Of(KernelKind::kLayout);
  if (kinds.Percent(sum.ns) < kPercentWorthSaying) return std::nullopt;
  Finding finding =
      About(NewFinding("library.layout", kinds.Percent(sum.ns)), kinds, sum.longest, LaunchCount(sum.count));
  finding.message = "Conversions between NCHW and NHWC layout take " + Share(kinds, sum.ns);
  finding.evidence.insert(
      finding.evidence.begin(),
      "Tensor-core kernels expect channels-last (NHWC), but the tensors are stored channels-first (NCHW)");
  finding.gain_ns = sum.ns;
  finding.basis = "time of these conversions";
  return finding;
}

std::optional<Finding> Attention(const Trace& trace, const Kinds& kinds) {
  if (kinds.Percent(kinds.Of(KernelKind::kSoftmax).ns) < kPercentWorthSaying) return std::nullopt;
  const SequenceSum sum = SoftmaxBetweenProducts(trace, kinds.groups(), kinds.of_groups());
  if (kinds.Percent(sum.ns) < kPercentWorthSequences) return std::nullopt;
  Finding finding =
      About(NewFinding("library.attention", kinds.Percent(sum.ns)), kinds, sum.longest, LaunchCount(sum.kernels));
  finding.message = "Attention is not fused: separate kernels for its products, softmax, scaling and masking take " +
                    Share(kinds, sum.ns);
  finding.gain_ns = sum.ns;
  finding.basis = "assumes one fused kernel takes as long as the matrix products do now";
  return finding;
}

std::optional<Finding> Elementwise(const Trace& trace, const Kinds& kinds) {
  const KernelSum single = kinds.Where([](KernelKind, std::string_view name) { return IsSingleElementwise(name); });
  if (kinds.Percent(single.ns) < kPercentWorthSequences) return std::nullopt;
  const SequenceSum sum = ElementwiseInARow(trace, kinds.groups());
  if (kinds.Percent(sum.saved_ns) < kPercentWorthSequences) return std::nullopt;
  Finding finding = About(NewFinding("library.elementwise", kinds.Percent(sum.ns)), kinds, sum.longest,
                          LaunchCount(sum.kernels) + " in " + CountOf(sum.sequences, "sequence") + " of two or more");
  finding.message = "Consecutive element-wise kernels each read and write whole tensors: " + Share(kinds, sum.ns);
  finding.gain_ns = sum.saved_ns;
  finding.basis = "assumes each sequence takes as long as its longest kernel";
  return finding;
}

}  // namespace

AnalysisResult RunKernelKinds(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  const Kinds kinds(input);
  AnalysisResult result;
  if (!kinds.KnowsAny()) return result;
  result.tables.push_back(KindTable(kinds, options.max_rows));
  std::optional<Finding> found[] = {Fp32(trace, kinds), Misaligned(trace, kinds), Layout(kinds),
                                    Attention(trace, kinds), Elementwise(trace, kinds)};
  const bool has_any = std::ranges::any_of(found, [](const auto& one) { return one.has_value(); });
  // Faster kernels shorten a run only where the GPU is what everything waits for.
  if (!has_any || !IsKernelBound(input, options.step)) return result;
  for (std::optional<Finding>& one : found) {
    if (one) result.findings.push_back(std::move(*one));
  }
  return result;
}

}  // namespace gprof
