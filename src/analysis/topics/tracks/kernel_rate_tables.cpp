#include "analysis/topics/tracks/kernel_rate_tables.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/rates/replay_doubt.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/display_names.h"
#include "analysis/topics/tracks/gpu_states.h"

namespace gprof {
namespace {

struct RateUnit {
  std::string text;
  double factor = 1;
};
// Bytes and events are shown in millions.
RateUnit RateUnitOf(std::string_view unit) {
  constexpr double kMillionth = 1e-6;
  if (unit == "bytes/s") return {"MB/s", kMillionth};
  if (unit == "1/s") return {"M/s", kMillionth};
  return {std::string(unit)};
}

std::string KindName(const AnalysisInput& input, const KernelRates& rates, uint32_t kind) {
  if (kind >= rates.kinds().size()) return "(idle)";
  const RatedKind& of = rates.kinds()[kind];
  switch (of.what) {
    case RatedKind::What::kKernel:
      return input.shared().kernels().Name(of.group);
    case RatedKind::What::kOtherKernels:
      return "(other kernels)";
    case RatedKind::What::kCopy:
      return "(copies " + std::string(DirectionName(of.direction)) + ")";
    case RatedKind::What::kFill:
      break;
  }
  return "(memsets)";
}

// Work that a counter has one value with, each name once.
std::string TogetherText(const AnalysisInput& input, const KernelRates& rates, const KernelRates::Counter& counter,
                         uint32_t group) {
  std::vector<std::string> names;
  for (const uint32_t kind : rates.TogetherWith(counter, group)) {
    std::string name = KindName(input, rates, kind);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void AddRateRow(const std::string& device, const KernelRates::Counter& counter, const Estimate& estimate,
                std::string work, std::string together, Table* table) {
  const RateUnit unit = RateUnitOf(counter.unit);
  table->rows.push_back({device, std::string(counter.name), unit.text, estimate.value * unit.factor,
                         estimate.low * unit.factor, estimate.high * unit.factor, std::move(work),
                         std::move(together)});
}

}  // namespace

Table KernelRatesTable() {
  return {"gpu_metrics_kernels",
          "GPU metrics by kernel",
          {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
           {"metric", "Metric", Unit::kText, false},
           {"unit", "Unit", Unit::kText, false},
           {"mean", "Mean", Unit::kCount, false, ColumnRole::kOwn},
           {"low", "From", Unit::kCount, false, ColumnRole::kOwn},
           {"high", "To", Unit::kCount, false, ColumnRole::kOwn},
           {"kernel", "Kernel", Unit::kText, false},
           {"together", "Together with", Unit::kText, true, ColumnRole::kOwn}},
          {},
          "While the kernel runs, solved from all samples for each kernel. From, To: 95% confidence interval. Together "
          "with: work that always ran with it, so that the value is the mean of both.",
          RowsOfRanks::kApart,
          true};
}

void AddKernelRates(const AnalysisInput& input, uint32_t device, Table* table) {
  const KernelRates& rates = input.shared().kernel_rates(device);
  const std::string name = DeviceScope(input.trace(), device);
  std::vector<const KernelRates::Counter*> counters;
  for (const KernelRates::Counter& counter : rates.counters()) counters.push_back(&counter);
  std::ranges::stable_sort(counters, {},
                           [](const KernelRates::Counter* counter) { return PlaceOfCounter(counter->name); });
  for (const LongKernel& kernel : LongestKernels(input, device)) {
    for (const KernelRates::Counter* const counter : counters) {
      const std::optional<Estimate> estimate = WithReplayDoubt(rates.OfKernel(*counter, kernel.group), counter->unit);
      if (!estimate) continue;
      AddRateRow(name, *counter, *estimate, input.shared().kernels().Name(kernel.group),
                 TogetherText(input, rates, *counter, kernel.group), table);
    }
  }
  for (uint32_t kind = 0; kind <= rates.kinds().size(); ++kind) {
    if (kind < rates.kinds().size() && rates.kinds()[kind].what == RatedKind::What::kKernel) continue;
    for (const KernelRates::Counter* const counter : counters) {
      if (const std::optional<Estimate> estimate = counter->fit.Of(kind))
        AddRateRow(name, *counter, *estimate, KindName(input, rates, kind), "", table);
    }
  }
}

}  // namespace gprof
