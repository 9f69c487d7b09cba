#include "analysis/facts/counters/counter_groups.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "analysis/facts/operations/operations.h"
#include "analysis/result/display_names.h"

namespace gprof {
namespace {

constexpr std::array<std::string_view, 6> kShape = {"launch__grid_dim_x",  "launch__grid_dim_y",
                                                    "launch__grid_dim_z",  "launch__block_dim_x",
                                                    "launch__block_dim_y", "launch__block_dim_z"};
using Key = std::tuple<std::string, uint32_t, std::array<double, kShape.size()>>;

std::array<double, kShape.size()> ShapeOf(const Trace& trace, uint32_t range) {
  std::array<double, kShape.size()> shape{};
  for (const CounterValue& value : trace.CountersOf(range)) {
    const auto at = std::ranges::find(kShape, trace.Text(value.metric));
    if (at != kShape.end()) shape[static_cast<std::size_t>(at - kShape.begin())] = NumberOf(value);
  }
  return shape;
}

Key KeyOf(const Trace& trace, const PackedOps::Traits& launches) {
  const trace::KernelShapeRecord& shape = trace.shapes[launches.shape];
  return {KernelName(trace, launches.name),
          launches.device,
          {static_cast<double>(shape.grid_x), static_cast<double>(shape.grid_y), static_cast<double>(shape.grid_z),
           static_cast<double>(shape.block_x), static_cast<double>(shape.block_y), static_cast<double>(shape.block_z)}};
}

// The range profiler has to be told where a graph, or a kernel with passes in several runs, begins and ends.
bool IncludesLaunch(const Trace& trace, const CounterRange& range) {
  if (range.scope == trace::CounterScope::kGraph) return true;
  if (range.scope != trace::CounterScope::kKernel || range.plan == kNone) return false;
  const CounterPlan& plan = trace.counter_plans[range.plan];
  return plan.replay == trace::ReplayMode::kApplication && plan.passes > 1;
}

// What the kernels took of the run.
void AddTimeline(const Trace& trace, const std::map<Key, std::size_t>& places, std::vector<KernelCounters>* kernels) {
  std::vector<KernelCounters*> of_traits(trace.ops.TraitsCount(), nullptr);
  for (uint32_t i = 0; i < of_traits.size(); ++i) {
    const PackedOps::Traits& launches = trace.ops.TraitsAt(i);
    if (launches.kind != OpKind::kKernel || launches.shape == kNone) continue;
    const auto place = places.find(KeyOf(trace, launches));
    if (place != places.end()) of_traits[i] = &(*kernels)[place->second];
  }
  for (const Operation op : OperationsOf(trace)) {
    KernelCounters* const kernel = of_traits[op.kind_number()];
    if (kernel == nullptr) continue;
    kernel->timeline_ns += static_cast<double>(op.duration_ns());
    ++kernel->timeline_launches;
  }
}

}  // namespace

void KernelCounters::Add(const Trace& trace, const CounterValue& value) {
  Mean& mean = metrics_[trace.Text(value.metric)];
  if (value.text != NameId{}) {
    mean.text = trace.Text(value.text);
    return;
  }
  mean.sum += NumberOf(value);
  ++mean.count;
}

std::optional<double> KernelCounters::Value(std::string_view metric) const {
  const auto at = metrics_.find(metric);
  if (at == metrics_.end() || at->second.count == 0) return {};
  return at->second.sum / at->second.count;
}

std::vector<std::string_view> KernelCounters::Metrics() const {
  std::vector<std::string_view> names;
  for (const auto& [metric, mean] : metrics_) names.push_back(metric);
  return names;
}

std::string_view KernelCounters::TextOf(std::string_view metric) const {
  const auto at = metrics_.find(metric);
  return at == metrics_.end() ? std::string_view() : at->second.text;
}

std::vector<KernelCounters> KernelCountersOf(const Trace& trace) {
  if (trace.counter_ranges.empty()) return {};
  std::vector<KernelCounters> kernels;
  std::map<Key, std::size_t> places;
  for (uint32_t i = 0; i < trace.counter_ranges.size(); ++i) {
    const CounterRange& range = trace.counter_ranges[i];
    std::string name = KernelName(trace, range.name);
    const auto [at, is_new] = places.try_emplace({name, range.device, ShapeOf(trace, i)}, kernels.size());
    if (is_new) {
      kernels.emplace_back(std::move(name), i, range);
      kernels.back().includes_launch = IncludesLaunch(trace, range);
    } else {
      ++kernels[at->second].launches;
    }
    for (const CounterValue& value : trace.CountersOf(i)) kernels[at->second].Add(trace, value);
  }
  AddTimeline(trace, places, &kernels);
  std::ranges::stable_sort(kernels, [](const KernelCounters& a, const KernelCounters& b) {
    return a.TotalNs() != b.TotalNs() ? a.TotalNs() > b.TotalNs() : a.name < b.name;
  });
  return kernels;
}

const trace::DeviceRecord* DevicePropertiesOf(const Trace& trace, const KernelCounters& kernel) {
  return kernel.device == kNone ? nullptr : &trace.devices[kernel.device].properties;
}

}  // namespace gprof
