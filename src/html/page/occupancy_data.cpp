#include "html/page/occupancy_data.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/facts/counters/counter_groups.h"
#include "analysis/facts/operations/op_facts.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/display_names.h"
#include "analysis/topics/kernels/occupancy_calculator.h"
#include "analysis/topics/kernels/occupancy_curves.h"
#include "base/json_style.h"

namespace gprof {
namespace {

constexpr std::size_t kMostKernels = 100;  // whose curves are 2 kB each before they are deflated

using trace::DeviceRecord;
using trace::KernelShapeRecord;

// null where the calculator does not know it.
Json LaunchJson(std::string_view kernel, std::string_view gpu, const DeviceRecord& device,
                const KernelShapeRecord& shape, std::optional<double> achieved_percent) {
  const std::optional<Occupancy> occupancy = OccupancyOf(device, shape);
  if (!occupancy) return nullptr;
  Json curves = Json::array();
  for (const OccupancyCurve& curve : OccupancyCurvesOf(device, shape)) {
    Json steps = Json::array();
    for (const OccupancyStep& step : curve.steps) steps.push_back({step.up_to, step.percent});
    curves.push_back({{"resource", curve.resource},
                      {"now", curve.now},
                      {"steps", std::move(steps)},
                      {"next", curve.next ? Json{curve.next->up_to, curve.next->percent} : Json()}});
  }
  return {{"kernel", kernel},
          {"gpu", gpu},
          {"percent", occupancy->percent},
          {"limiter", occupancy->limiter},
          {"achieved_percent", achieved_percent ? Json(*achieved_percent) : Json()},
          {"curves", std::move(curves)}};
}

// Launches that differ in nothing that decides their occupancy are one.
using Likeness = std::tuple<NameId, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint64_t>;

Json Launched(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  const std::vector<OpFacts::Sum>& sums = input.shared().ops().sums();
  std::map<Likeness, std::pair<int64_t, uint32_t>> likes;  // time, and the last of their shapes
  for (uint32_t i = 0; i < sums.size(); ++i) {
    const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
    if (traits.kind != OpKind::kKernel || traits.shape == kNone || sums[i].count == 0) continue;
    const KernelShapeRecord& s = trace.shapes[traits.shape];
    auto& [time_ns, shape] = likes[{traits.name, traits.device, s.block_x, s.block_y, s.block_z, s.registers_per_thread,
                                    uint64_t{s.static_shared_bytes} + s.dynamic_shared_bytes}];
    time_ns += sums[i].time_ns;
    shape = traits.shape;
  }
  std::vector<std::pair<Likeness, std::pair<int64_t, uint32_t>>> sorted(likes.begin(), likes.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
  Json launched = Json::array();
  for (const auto& [like, sum] : sorted) {
    const uint32_t device = std::get<1>(like);
    if (launched.size() == kMostKernels || device >= trace.devices.size()) continue;
    Json launch = LaunchJson(KernelName(trace, std::get<0>(like)), DeviceScope(trace, device),
                             trace.devices[device].properties, trace.shapes[sum.second], std::nullopt);
    if (!launch.is_null()) launched.push_back(std::move(launch));
  }
  return launched;
}

KernelShapeRecord ShapeOf(const KernelCounters& kernel) {
  const auto of = [&kernel](std::string_view metric) {
    return static_cast<uint32_t>(std::clamp(kernel.ValueOrZero(metric), 0.0, 4e9));
  };
  KernelShapeRecord shape;
  shape.grid_x = of("launch__grid_size");
  shape.block_x = of("launch__block_size");
  shape.grid_y = shape.grid_z = shape.block_y = shape.block_z = 1;
  shape.registers_per_thread = of("launch__registers_per_thread");
  shape.static_shared_bytes = of("launch__shared_mem_per_block_static");
  shape.dynamic_shared_bytes = of("launch__shared_mem_per_block_dynamic");
  return shape;
}

Json Counted(const Trace& trace) {
  Json counted = Json::array();
  for (const KernelCounters& kernel : KernelCountersOf(trace)) {
    if (counted.size() == kMostKernels) break;
    counted.push_back(kernel.device >= trace.devices.size()
                          ? Json()
                          : LaunchJson(kernel.name, DeviceScope(trace, kernel.device),
                                       trace.devices[kernel.device].properties, ShapeOf(kernel),
                                       kernel.Value("sm__warps_active.avg.pct_of_peak_sustained_active")));
  }
  return counted;
}

}  // namespace

std::string OccupancyJson(const AnalysisInput& input) {
  if (!HasOccupancyCalculator()) return {};
  Json launched = Launched(input), counted = Counted(input.trace());
  if (launched.empty() && counted.empty()) return {};
  return CompactText(Json{{"launched", std::move(launched)}, {"counted", std::move(counted)}});
}

}  // namespace gprof
