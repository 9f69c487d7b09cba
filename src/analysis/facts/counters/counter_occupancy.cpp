#include "analysis/facts/counters/counter_occupancy.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gprof {
namespace {

// The least step in which an SM hands out registers to a warp, and its quarters with registers of their own. The same
// from compute capability 7.0 on.
constexpr double kRegisterStep = 256, kQuarters = 4, kSharedStep = 128;

double RoundedUp(double value, double step) { return std::ceil(value / step) * step; }

// The first that is known and not 0.
double FirstOf(std::initializer_list<double> values) {
  for (const double value : values) {
    if (value > 0) return value;
  }
  return 0;
}

double Known(const trace::DeviceRecord* device, uint32_t trace::DeviceRecord::*field) {
  return device == nullptr ? 0 : device->*field;
}

struct Launch {
  double threads = 0, grid = 0, registers = 0;
  double shared_bytes = 0, driver_shared_bytes = 0;  // of a block
  double Warps() const { return std::ceil(threads / kWarpThreads); }
};

struct Sm {
  double count = 0;
  double max_warps = 0, max_registers = 0, max_blocks = 0;
  double shared_bytes = 0;  // what was configured for the launch, or all that there is
};

std::optional<Launch> LaunchOf(const KernelCounters& kernel) {
  const auto product = [&](std::string_view size) {
    const std::string name = "launch__" + std::string(size) + "_dim_";
    return kernel.ValueOrZero(name + "x") * kernel.ValueOrZero(name + "y") * kernel.ValueOrZero(name + "z");
  };
  Launch launch;
  launch.threads = FirstOf({kernel.ValueOrZero("launch__block_size"), product("block")});
  launch.grid = FirstOf({kernel.ValueOrZero("launch__grid_size"), product("grid")});
  launch.registers = kernel.ValueOrZero("launch__registers_per_thread");
  launch.shared_bytes = kernel.ValueOrZero("launch__shared_mem_per_block_static") +
                        kernel.ValueOrZero("launch__shared_mem_per_block_dynamic");
  launch.driver_shared_bytes = kernel.ValueOrZero("launch__shared_mem_per_block_driver");
  if (launch.threads <= 0 || launch.grid <= 0 || launch.registers <= 0) return {};
  return launch;
}

std::optional<Sm> SmOf(const KernelCounters& kernel, const trace::DeviceRecord* device) {
  Sm sm;
  sm.count = FirstOf({kernel.ValueOrZero("launch__sm_count"), Known(device, &trace::DeviceRecord::sm_count)});
  sm.max_warps = Known(device, &trace::DeviceRecord::max_threads_per_sm) / kWarpThreads;
  sm.max_registers = Known(device, &trace::DeviceRecord::max_registers_per_sm);
  sm.max_blocks = Known(device, &trace::DeviceRecord::max_blocks_per_sm);
  sm.shared_bytes = FirstOf({kernel.ValueOrZero("launch__shared_mem_config_size"),
                             Known(device, &trace::DeviceRecord::max_shared_bytes_per_sm)});
  if (sm.count <= 0 || sm.max_warps <= 0 || sm.max_registers <= 0 || sm.max_blocks <= 0) return {};
  return sm;
}

void NameLimiter(double max_warps, OccupancyLimits* limits) {
  if (limits->warps_per_sm >= max_warps) return;
  const std::pair<double, std::string_view> all[] = {{limits->registers, "registers"},
                                                     {limits->shared_memory, "shared memory"},
                                                     {limits->warps, "block size"},
                                                     {limits->blocks, "blocks per SM"}};
  for (const auto& [limit, name] : all) {
    if (limit == limits->blocks_per_sm) limits->limiter += (limits->limiter.empty() ? "" : ", ") + std::string(name);
  }
}

void Conclude(const Launch& launch, const Sm& sm, OccupancyLimits* limits) {
  limits->blocks_per_sm = std::min({limits->blocks, limits->warps, limits->registers, limits->shared_memory});
  limits->warps_per_sm = limits->blocks_per_sm * launch.Warps();
  limits->percent = 100 * limits->warps_per_sm / sm.max_warps;
  if (limits->blocks_per_sm > 0) limits->waves = launch.grid / (sm.count * limits->blocks_per_sm);
  NameLimiter(sm.max_warps, limits);
}

OccupancyLimits LimitsOf(const Launch& launch, const Sm& sm) {
  OccupancyLimits limits;
  limits.blocks = sm.max_blocks;
  limits.warps = std::floor(sm.max_warps / launch.Warps());
  const double of_warp = RoundedUp(launch.registers * kWarpThreads, kRegisterStep);
  limits.registers = std::floor(kQuarters * std::floor(sm.max_registers / kQuarters / of_warp) / launch.Warps());
  const double shared = RoundedUp(launch.shared_bytes + launch.driver_shared_bytes, kSharedStep);
  limits.shared_memory = sm.max_blocks;
  if (shared > 0 && sm.shared_bytes > 0)
    limits.shared_memory = std::min(std::floor(sm.shared_bytes / shared), sm.max_blocks);
  Conclude(launch, sm, &limits);
  return limits;
}

std::optional<OccupancyLimits> CollectedLimits(const KernelCounters& kernel, const Launch& launch) {
  const auto blocks = kernel.Value("launch__occupancy_limit_blocks"),
             warps = kernel.Value("launch__occupancy_limit_warps");
  const auto registers = kernel.Value("launch__occupancy_limit_registers");
  const auto shared = kernel.Value("launch__occupancy_limit_shared_mem");
  Sm sm;
  sm.count = kernel.ValueOrZero("launch__sm_count");
  const double percent = kernel.ValueOrZero("sm__maximum_warps_per_active_cycle_pct");
  if (!blocks || !warps || !registers || !shared || percent <= 0 || sm.count <= 0) return {};
  sm.max_warps = std::round(100 * kernel.ValueOrZero("sm__maximum_warps_avg_per_active_cycle") / percent);
  if (sm.max_warps <= 0) return {};
  OccupancyLimits limits;
  limits.blocks = *blocks;
  limits.warps = *warps;
  limits.registers = *registers;
  limits.shared_memory = *shared;
  Conclude(launch, sm, &limits);
  return limits;
}

// Tries the values from `first` on and notes the one by which the first more warps fit, and the first by which most do.
template <class Change>
void AddChanges(const Launch& launch, const Sm& sm, std::string_view resource, double now,
                const std::vector<double>& values, Change&& change, std::vector<WhatIf>* all) {
  std::optional<WhatIf> least, most;
  double best = LimitsOf(launch, sm).warps_per_sm;
  for (const double value : values) {
    Launch changed = launch;
    change(&changed, value);
    const OccupancyLimits limits = LimitsOf(changed, sm);
    if (limits.warps_per_sm <= best) continue;
    best = limits.warps_per_sm;
    most = WhatIf{resource, now, value, limits.blocks_per_sm, limits.percent};
    if (!least) least = most;
  }
  if (least) all->push_back(*least);
  if (most && most->then != least->then) all->push_back(*most);
}

std::vector<double> Range(double first, double last, double step) {
  std::vector<double> values;
  for (double value = first; step > 0 ? value <= last : value >= last; value += step) values.push_back(value);
  return values;
}

}  // namespace

std::optional<OccupancyLimits> LimitsOf(const KernelCounters& kernel, const trace::DeviceRecord* device) {
  const std::optional<Launch> launch = LaunchOf(kernel);
  if (!launch) return {};
  const std::optional<Sm> sm = SmOf(kernel, device);
  if (!sm) return CollectedLimits(kernel, *launch);
  OccupancyLimits limits = LimitsOf(*launch, *sm);
  if (limits.blocks_per_sm <= 0) return {};
  return limits;
}

std::vector<WhatIf> WhatIfsOf(const KernelCounters& kernel, const trace::DeviceRecord* device) {
  // Registers of a thread are compiled in steps of 8, and fewer than 24 leave hardly a kernel without spills.
  constexpr double kRegisterChoice = 8, kLeastRegisters = 24, kMostThreads = 1024;
  const std::optional<Launch> launch = LaunchOf(kernel);
  std::optional<Sm> sm = SmOf(kernel, device);
  std::vector<WhatIf> all;
  if (!launch || !sm) return all;
  sm->shared_bytes = std::max(sm->shared_bytes, Known(device, &trace::DeviceRecord::max_shared_bytes_per_sm));
  const double registers = std::floor((launch->registers - 1) / kRegisterChoice) * kRegisterChoice;
  AddChanges(
      *launch, *sm, "registers", launch->registers, Range(registers, kLeastRegisters, -kRegisterChoice),
      [](Launch* changed, double value) { changed->registers = value; }, &all);
  std::vector<double> shared;
  for (double blocks = 1; blocks <= sm->max_blocks; ++blocks) {
    const double of_block = std::floor(sm->shared_bytes / blocks / kSharedStep) * kSharedStep;
    const double bytes = of_block - launch->driver_shared_bytes;
    if (bytes >= 0 && bytes < launch->shared_bytes) shared.push_back(bytes);
  }
  AddChanges(
      *launch, *sm, "shared memory", launch->shared_bytes, shared,
      [](Launch* changed, double value) { changed->shared_bytes = value; }, &all);
  AddChanges(
      *launch, *sm, "block size", launch->threads, Range(kWarpThreads, kMostThreads, kWarpThreads),
      [](Launch* changed, double value) { changed->threads = value; }, &all);
  return all;
}

}  // namespace gprof
