#include "analysis/topics/kernels/occupancy_curves.h"

#include <algorithm>

#include "analysis/topics/kernels/occupancy_calculator.h"

namespace gprof {
namespace {

// The calculator hands out registers of a thread and shared memory in steps that are multiples of these.
constexpr uint32_t kRegisterStep = 8, kMostRegisters = 255, kSharedStep = 128;
constexpr uint32_t kMostValues = 4096;  // of a curve, which a damaged trace must not make endless

uint32_t Distance(uint32_t a, uint32_t b) { return a < b ? b - a : a - b; }

// The nearest value of a step with more than `percent`: the last of one before, the first of one behind.
std::optional<OccupancyStep> NearestAbove(const OccupancyCurve& curve, double percent, uint32_t step) {
  std::optional<OccupancyStep> nearest;
  uint32_t first = 0;
  for (const OccupancyStep& one : curve.steps) {
    const uint32_t value = one.up_to < curve.now ? one.up_to : first;
    if (one.percent > percent && (!nearest || Distance(value, curve.now) < Distance(nearest->up_to, curve.now)))
      nearest = OccupancyStep{value, one.percent};
    first = one.up_to + step;
  }
  return nearest;
}

struct Resource {
  std::string_view name;
  uint32_t now, first, last, step;
  void (*change)(trace::KernelShapeRecord* shape, uint32_t value);
};

OccupancyCurve CurveOf(const trace::DeviceRecord& device, const trace::KernelShapeRecord& shape,
                       const Resource& resource, double percent) {
  OccupancyCurve curve{resource.name, resource.now, {}, {}};
  const uint32_t step = std::max(resource.step, resource.last / kMostValues);
  trace::KernelShapeRecord changed = shape;
  for (uint32_t value = resource.first; value < resource.last + step; value += step) {
    const uint32_t up_to = std::min(value, resource.last);
    resource.change(&changed, up_to);
    const std::optional<Occupancy> occupancy = OccupancyOf(device, changed);
    const double of_value = occupancy ? occupancy->percent : 0;
    if (!curve.steps.empty() && curve.steps.back().percent == of_value) {
      curve.steps.back().up_to = up_to;
    } else {
      curve.steps.push_back({up_to, of_value});
    }
  }
  curve.next = NearestAbove(curve, percent, step);
  return curve;
}

}  // namespace

std::vector<OccupancyCurve> OccupancyCurvesOf(const trace::DeviceRecord& device,
                                              const trace::KernelShapeRecord& shape) {
  std::vector<OccupancyCurve> curves;
  const std::optional<Occupancy> now = OccupancyOf(device, shape);
  if (!now) return curves;
  const Resource resources[] = {
      {"block size", shape.block_x * shape.block_y * shape.block_z, device.warp_size, device.max_threads_per_block,
       device.warp_size,
       [](trace::KernelShapeRecord* changed, uint32_t value) {
         changed->block_x = value;
         changed->block_y = changed->block_z = 1;
       }},
      {"registers", shape.registers_per_thread, kRegisterStep, kMostRegisters, kRegisterStep,
       [](trace::KernelShapeRecord* changed, uint32_t value) { changed->registers_per_thread = value; }},
      {"shared memory", shape.static_shared_bytes + shape.dynamic_shared_bytes, 0, device.max_shared_bytes_per_sm,
       kSharedStep, [](trace::KernelShapeRecord* changed, uint32_t value) {
         changed->static_shared_bytes = 0;
         changed->dynamic_shared_bytes = value;
       }}};
  for (const Resource& resource : resources) curves.push_back(CurveOf(device, shape, resource, now->percent));
  return curves;
}

}  // namespace gprof
