#include "analysis/topics/tracks/kernel_profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/display_names.h"
#include "analysis/topics/tracks/gpu_states.h"
#include "base/short_names.h"

namespace gprof {
namespace {

constexpr std::size_t kMostProfiles = 5;
constexpr int64_t kFewestLaunches = 1000;   // with fewer, parts of a launch are seen too seldom
constexpr double kLeastProfilePercent = 1;  // of the GPU window
constexpr std::string_view kAlong[] = {"SMs Active", "Tensor Active", kDramBandwidth};
// A tail: what its parts have at most of what is before it, and of all SMs. Less of a launch is not worth a word.
constexpr double kTailSmsPercent = 40, kFullSmsPercent = 60, kLeastTailPercent = 5;

// Eight heights; of a percentage the full one is 100.
std::string Sparkline(const PhaseCurve& curve, double most) {
  constexpr std::string_view kHeights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (const Estimate& part : curve.parts) {
    const double height = most > 0 ? part.value / most * 8 : 0;
    text += kHeights[static_cast<std::size_t>(std::clamp(height, 0.0, 7.0))];
  }
  return text;
}

std::string PartsText(const PhaseCurve& curve) {
  std::string text;
  for (const Estimate& part : curve.parts) text += fmt::format("{}{:.1f}", text.empty() ? "" : " ", part.value);
  return text;
}

// How many parts at the end have few SMs, while those before have most. 0: it has no tail.
std::size_t TailOf(const PhaseCurve& curve) {
  std::size_t tail = 0;
  while (tail < curve.parts.size() && curve.parts[curve.parts.size() - 1 - tail].high < kTailSmsPercent) ++tail;
  const std::size_t before = curve.parts.size() - tail;
  double sum = 0;
  for (std::size_t i = 0; i < before; ++i) sum += curve.parts[i].low;
  return before > 0 && sum / static_cast<double>(before) >= kFullSmsPercent ? tail : 0;
}

void FindTail(const AnalysisInput& input, uint32_t device, const LongKernel& kernel, const Interval& window,
              const PhaseCurve& curve, AnalysisResult* result) {
  const std::size_t tail = TailOf(curve), parts = curve.parts.size();
  const double share = static_cast<double>(tail) / static_cast<double>(parts);
  if (100 * share < kLeastTailPercent) return;
  double of_tail = 0, before = 0;
  for (std::size_t i = 0; i < parts; ++i) (i < parts - tail ? before : of_tail) += curve.parts[i].value;
  of_tail /= static_cast<double>(tail);
  before /= static_cast<double>(parts - tail);
  const double saved = share * (1 - of_tail / before);
  const double of_window = 100 * static_cast<double>(kernel.time_ns) / static_cast<double>(window.DurationNs());
  Finding finding = NewFinding("gpu.kernel_tail", of_window * saved);
  const std::string& name = input.shared().kernels().Name(kernel.group);
  finding.message = fmt::format("the last {:.0f}% of {} run on {:.0f}% of the SMs, what is before on {:.0f}%",
                                100 * share, BriefName(name), of_tail, before);
  finding.gain_ns = static_cast<int64_t>(static_cast<double>(kernel.time_ns) * saved);
  finding.basis = "assumes the work of the tail spreads over as many SMs as before it";
  finding.subject.kernel = name;
  finding.subject.device = DeviceScope(input.trace(), device);
  result->findings.push_back(std::move(finding));
}

}  // namespace

Table KernelProfilesTable() {
  return {
      "kernel_profiles",
      "Along kernels",
      {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
       {"metric", "Metric", Unit::kText, false},
       {"unit", "Unit", Unit::kText, true},
       {"profile", "From start to end", Unit::kText, false, ColumnRole::kOwn},
       {"most", "Most", Unit::kCount, false, ColumnRole::kOwn},
       {"error", "±", Unit::kCount, false, ColumnRole::kOwn},
       {"launches", "Launches", Unit::kCount, true, ColumnRole::kOwn},
       {"mean_ns", "Mean", Unit::kNs, true, ColumnRole::kOwn},
       {"parts", "Parts", Unit::kText, true, ColumnRole::kOwn},
       {"kernel", "Kernel", Unit::kText, false}},
      {},
      "Samples folded over all launches of the kernel. Percentages are drawn to 100, others to their maximum. ±: root "
      "mean square error of a part.",
      RowsOfRanks::kApart,
      true};
}

void AddKernelProfiles(const AnalysisInput& input, uint32_t device, const Interval& window, Table* table,
                       AnalysisResult* result) {
  const KernelRates& rates = input.shared().kernel_rates(device);
  if (rates.counters().empty()) return;
  std::vector<const KernelRates::Counter*> counters;
  for (const std::string_view name : kAlong) counters.push_back(rates.Find(name, "%"));
  std::vector<LongKernel> kernels = LongestKernels(input, device);
  if (kernels.size() > kMostProfiles) kernels.resize(kMostProfiles);
  for (const LongKernel& kernel : kernels) {
    const auto window_ns = static_cast<double>(window.DurationNs());
    if (100 * static_cast<double>(kernel.time_ns) < kLeastProfilePercent * window_ns) break;
    const KernelRates::Profile profile = rates.ProfileOf(kernel.group, counters);
    for (std::size_t i = 0; i < profile.curves.size(); ++i) {
      if (!profile.curves[i]) continue;
      const PhaseCurve& curve = *profile.curves[i];
      const KernelRates::Counter& counter = *profile.counters[i];
      const double most = std::ranges::max(curve.parts, {}, &Estimate::value).value;
      const RatedKind& kind = rates.kinds()[profile.kind];
      if (kind.count < kFewestLaunches) continue;
      table->rows.push_back({DeviceScope(input.trace(), device), std::string(counter.name), std::string(counter.unit),
                             Sparkline(curve, counter.unit == "%" ? 100 : most), most, curve.error, kind.count,
                             kind.time_ns / std::max<int64_t>(kind.count, 1), PartsText(curve),
                             input.shared().kernels().Name(kernel.group)});
      if (counter.name == "SMs Active") FindTail(input, device, kernel, window, curve, result);
    }
  }
}

}  // namespace gprof
