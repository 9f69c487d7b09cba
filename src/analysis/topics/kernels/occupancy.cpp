// How much of the GPU the launches of kernels can use at all: occupancy, waves, grids and blocks that are too small.
// From launch facts alone, without counters.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/causes/first_touch.h"
#include "analysis/facts/gaps/gaps.h"
#include "analysis/facts/judged_time.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/kernels/occupancy_calculator.h"
#include "base/demangle.h"
#include "base/saturate.h"
#include "base/short_names.h"
#include "base/units.h"
#include "gprof/analysis.h"

namespace gprof {
namespace {

// A kernel that runs beside others.
struct SharedUse {
  double share = 1;  // of the GPU, that it can use
  double small = 0;  // where all that run use less than that share of the GPU together, they are small
  double unused_ns = 0;
};

struct Running {
  int64_t end_ns;
  uint32_t use;
};

bool EndsLater(const Running& a, const Running& b) { return a.end_ns > b.end_ns; }

void AddTime(const std::vector<Running>& running, int64_t ns, std::vector<SharedUse>* uses) {
  double used = 0;
  for (const Running& one : running) used += (*uses)[one.use].share;
  if (used >= 1) return;
  const double unused_ns = static_cast<double>(ns) * (1 - used) / static_cast<double>(running.size());
  for (const Running& one : running) {
    SharedUse& use = (*uses)[one.use];
    if (used < use.small) use.unused_ns += unused_ns;
  }
}

// Adds to each of `uses` its part of what the GPU's kernels leave unused while they are small: at any time those that
// run share it alike. `use_of`: for each PackedOps::Traits the index in `uses`; kNone: does not count.
void AddUnused(const Trace& trace, uint32_t device, const std::vector<uint32_t>& use_of, std::vector<SharedUse>* uses) {
  std::vector<Running> running;  // a heap: the first one ends first
  int64_t now_ns = 0;
  const auto run_until = [&](int64_t until_ns) {
    while (!running.empty()) {
      const int64_t next_ns = std::min(running.front().end_ns, until_ns);
      if (next_ns > now_ns) AddTime(running, next_ns - now_ns, uses);
      now_ns = next_ns;
      if (running.front().end_ns > until_ns) return;
      std::pop_heap(running.begin(), running.end(), EndsLater);
      running.pop_back();
    }
  };
  for (const Operation op : OperationsOf(trace, trace.device_ops[device])) {
    if (use_of[op.kind_number()] == kNone) continue;
    run_until(op.start_ns());
    now_ns = op.start_ns();
    running.push_back({op.end_ns(), use_of[op.kind_number()]});
    std::push_heap(running.begin(), running.end(), EndsLater);
  }
  run_until(INT64_MAX);
}

constexpr double kPercentWorthAFinding = 5;  // of the window
// Less of the window is enough where it is much of the time of all kernels.
// Of a GPU: kernels that use more of it, with those beside them, are not small. Who calls a library does not choose its
// grids.
constexpr double kSmallPercent = 50, kSmallPercentOfLibraries = 25;
constexpr double kHardlyAnyBeside = 1.01;  // kernels at a time, on average
constexpr int64_t kShortNs = 5'000;        // the mean: shorter kernels take as long however many blocks do the work
constexpr int64_t kLaunchesToKnow = 4;     // of a kernel, where the first may have waited for managed memory
constexpr int64_t kSchedulersOfSm = 4;     // since Maxwell, but for the P100, which has two
constexpr double kLeastPercentWorthAFinding = 1, kKernelPercentWorthAFinding = 25;

// All launches of a kernel in one shape on one device.
struct Launches {
  NameId name;
  uint32_t shape = kNone, device = kNone;
  int64_t count = 0;
  SaturatingSum time_ns;
};

// Few kernels share a shape.
std::vector<Launches> Collect(const Trace& trace, const OpFacts& ops) {
  std::vector<std::vector<Launches>> of_shape(trace.shapes.size());
  for (uint32_t i = 0; i < ops.sums().size(); ++i) {
    const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
    const OpFacts::Sum& sum = ops.sums()[i];
    if (traits.kind != OpKind::kKernel || traits.shape == kNone || sum.count == 0) continue;
    std::vector<Launches>& list = of_shape[traits.shape];
    auto at = std::ranges::find_if(
        list, [&](const Launches& l) { return l.name == traits.name && l.device == traits.device; });
    if (at == list.end()) at = list.insert(at, {traits.name, traits.shape, traits.device, 0, 0});
    at->count += sum.count;
    at->time_ns += sum.time_ns;
  }
  std::vector<Launches> result;
  for (const auto& list : of_shape) result.insert(result.end(), list.begin(), list.end());
  return result;
}

// What a launch can use of its device.
struct Use {
  Occupancy occupancy;
  int64_t blocks = 0, threads = 0;  // of the grid, of a block
  double waves = 0;                 // rounds in which the blocks fit on the device
  double sm_share = 0;              // of the SMs that have work, on average over the kernel, all blocks being alike
  double scheduler_share = 1;       // of the schedulers of an SM that has one block, which have a warp
  double lane_share = 0;            // threads of the warps that there are threads for
  double Share() const { return sm_share * scheduler_share * lane_share; }
};

Use UseOf(const trace::DeviceRecord& device, const trace::KernelShapeRecord& shape, const Occupancy& occupancy) {
  Use use;
  use.occupancy = occupancy;
  // As doubles, because the product of three sizes of a damaged trace may be anything.
  const double blocks = static_cast<double>(shape.grid_x) * shape.grid_y * shape.grid_z;
  use.blocks = static_cast<int64_t>(std::min(blocks, 9e18));
  use.threads = int64_t{shape.block_x} * shape.block_y * shape.block_z;
  const int64_t sms = device.sm_count;
  use.waves = blocks / static_cast<double>(sms * occupancy.blocks_per_sm);
  // The SM with the most blocks has the last one. Blocks share their SM: one that has it for itself does not take as
  // long as it would in a full wave.
  const int64_t most_blocks = use.blocks / sms + (use.blocks % sms != 0);
  use.sm_share =
      most_blocks == 0 ? 1 : std::min(blocks / (static_cast<double>(most_blocks) * static_cast<double>(sms)), 1.0);
  const int64_t warp = device.warp_size, warps = (use.threads + warp - 1) / warp;
  if (use.blocks <= sms) use.scheduler_share = std::min(static_cast<double>(warps) / kSchedulersOfSm, 1.0);
  use.lane_share = static_cast<double>(use.threads) / static_cast<double>(warps * warp);
  return use;
}

struct LaunchUse {
  Launches launches;
  Use use;
  int64_t unused_ns = 0;
};

// How many kernels ran at a time, on average over the time with any, by device.
std::vector<double> Concurrency(const AnalysisInput& input, const std::vector<LaunchUse>& rows) {
  std::vector<double> kernels(input.trace().device_ops.size(), 0);
  for (const LaunchUse& row : rows) kernels[row.launches.device] += static_cast<double>(row.launches.time_ns);
  for (uint32_t device = 0; device < kernels.size(); ++device) {
    const int64_t busy_ns = HasWindow(input.trace(), device) ? input.shared().busy(device).kernels.busy_ns() : 0;
    kernels[device] = std::max(1.0, kernels[device] / static_cast<double>(std::max<int64_t>(busy_ns, 1)));
  }
  return kernels;
}

struct Summary {
  std::vector<LaunchUse> rows;  // the most unused time first
  SaturatingSum known_ns;
  int64_t unknown = 0;
  double occupancy_ns = 0;  // sum of occupancy times time
};

Summary Summarize(const Trace& trace, const OpFacts& ops) {
  Summary summary;
  for (const Launches& launches : Collect(trace, ops)) {
    const trace::DeviceRecord& device = trace.devices[launches.device].properties;
    const trace::KernelShapeRecord& shape = trace.shapes[launches.shape];
    const std::optional<Occupancy> occupancy = OccupancyOf(device, shape);
    if (!occupancy) {
      summary.unknown += launches.count;
      continue;
    }
    LaunchUse row{launches, UseOf(device, shape, *occupancy), 0};
    row.unused_ns = static_cast<int64_t>(static_cast<double>(launches.time_ns) * (1 - row.use.Share()));
    summary.known_ns += launches.time_ns;
    summary.occupancy_ns += occupancy->percent * static_cast<double>(launches.time_ns);
    summary.rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(summary.rows, [&](const LaunchUse& a, const LaunchUse& b) {
    if (a.unused_ns != b.unused_ns) return a.unused_ns > b.unused_ns;
    return a.launches.time_ns > b.launches.time_ns;
  });
  return summary;
}

std::string Size(uint32_t x, uint32_t y, uint32_t z) {
  std::string text = std::to_string(x);
  if (y > 1 || z > 1) text += "x" + std::to_string(y);
  if (z > 1) text += "x" + std::to_string(z);
  return text;
}

Table OccupancyTable(const Trace& trace, const Summary& summary, uint32_t max_rows) {
  Table table{
      "occupancy",
      "Launch utilisation by kernel",
      {{"unused_ns", "Wasted time", Unit::kNs, false,
        "kernel time minus the share of SMs, schedulers and lanes in use"},
       {"time_ns", "Time", Unit::kNs, false},
       {"kernels", "Kernels", Unit::kCount, true},
       {"device", "GPU", Unit::kText, true, ColumnRole::kOwn},
       {"grid", "Grid", Unit::kText, false},
       {"block", "Block", Unit::kText, false},
       {"registers", "Registers", Unit::kCount, true, ColumnRole::kName},
       {"shared_bytes", "Shared", Unit::kBytes, true, ColumnRole::kName},
       {"waves", "Waves", Unit::kCount, true, ColumnRole::kCommon},
       {"used_percent", "Max. SM utilisation", Unit::kPercent, false, ColumnRole::kCommon,
        "upper bound on the share of SMs, warp schedulers and lanes with work, if all blocks take equally long"},
       {"blocks_per_sm", "Blocks per SM", Unit::kCount, true, ColumnRole::kCommon},
       {"occupancy_percent", "Occupancy", Unit::kPercent, true, ColumnRole::kCommon,
        "warps per SM in percent of the maximum, where the grid fills the SM"},
       {"limiter", "Limited by", Unit::kText, true},
       {"kernel", "Name", Unit::kText, false}},
      {},
      "",
      RowsOfRanks::kAddUp};
  const size_t shown = RowsShown(summary.rows.size(), max_rows);
  for (const LaunchUse& row : std::span(summary.rows).first(shown)) {
    const trace::KernelShapeRecord& shape = trace.shapes[row.launches.shape];
    const Occupancy& occupancy = row.use.occupancy;
    table.rows.push_back({row.unused_ns, row.launches.time_ns, row.launches.count,
                          DeviceScope(trace, row.launches.device), Size(shape.grid_x, shape.grid_y, shape.grid_z),
                          Size(shape.block_x, shape.block_y, shape.block_z), int64_t{shape.registers_per_thread},
                          int64_t{shape.static_shared_bytes} + shape.dynamic_shared_bytes, row.use.waves,
                          100 * row.use.Share(), occupancy.blocks_per_sm, occupancy.percent, occupancy.limiter,
                          KernelName(trace, row.launches.name)});
  }
  CountLeftOut(&table, summary.rows.size());
  if (summary.unknown > 0) {
    AddToNote(&table,
              "Not included: " + CountOf(summary.unknown, "kernel") + " with an unknown GPU or launch configuration.");
  }
  return table;
}

bool IsSmallGrid(const Trace& trace, const LaunchUse& row) {
  return row.use.blocks < int64_t{trace.devices[row.launches.device].properties.sm_count};
}

bool IsBelowWarp(const Trace& trace, const LaunchUse& row) {
  return row.use.threads < int64_t{trace.devices[row.launches.device].properties.warp_size};
}

void AddMetrics(const Trace& trace, const Summary& summary, AnalysisResult* result) {
  SaturatingSum unused_ns, small_ns;
  int64_t small_count = 0, below_count = 0;
  for (const LaunchUse& row : summary.rows) {
    unused_ns += row.unused_ns;
    if (IsBelowWarp(trace, row)) below_count += row.launches.count;
    if (!IsSmallGrid(trace, row)) continue;
    small_count += row.launches.count;
    small_ns += row.launches.time_ns;
  }
  AddMetric(result, "occupancy.percent",
            summary.known_ns == 0 ? 0 : summary.occupancy_ns / static_cast<double>(summary.known_ns));
  AddMetric(result, "occupancy.unused_ns", unused_ns);
  AddMetric(result, "occupancy.small_grid_count", small_count);
  AddMetric(result, "occupancy.small_grid_ns", small_ns);
  AddMetric(result, "occupancy.below_warp_count", below_count);
}

// What several rows have in common becomes one finding, which names the worst of them.
struct Group {
  const LaunchUse* worst = nullptr;
  SaturatingSum unused_ns;
  int64_t others = 0;
  void Add(const LaunchUse& row, int64_t row_unused_ns) {
    unused_ns += row_unused_ns;
    if (worst == nullptr) {
      worst = &row;
    } else {
      ++others;
    }
  }
};

std::string LaunchText(const Trace& trace, const LaunchUse& row) {
  return BriefName(KernelName(trace, row.launches.name)) + ": " + CountOf(row.launches.count, "launch", "launches") +
         " of " + CountOf(row.use.blocks, "block") + " x " + CountOf(row.use.threads, "thread") + " (" +
         FormatNs(row.launches.time_ns) + ")";
}

// Launches that leave much of the GPU unused, by the reason.
struct Groups {
  Group small, narrow, tail;
};

double SmallShareOf(const Trace& trace, const LaunchUse& row) {
  return (IsLibraryKernel(trace.Text(row.launches.name)) ? kSmallPercentOfLibraries : kSmallPercent) / 100;
}

// By row, whether it is a kernel that waits. NCCL takes no more of the GPU than it needs, so that kernels run beside
// it.
std::vector<uint8_t> AreWaiting(const Trace& trace, const Summary& summary) {
  std::map<NameId, bool> known;
  std::vector<uint8_t> are_waiting;
  for (const LaunchUse& row : summary.rows) {
    const auto [at, is_new] = known.try_emplace(row.launches.name);
    if (is_new) at->second = IsWaitingKernel(trace.Text(row.launches.name));
    are_waiting.push_back(at->second ? 1 : 0);
  }
  return are_waiting;
}

// What small kernels leave unused, by row. Those that run beside each other may fill the GPU together.
std::vector<int64_t> UnusedBySmall(const Trace& trace, const Summary& summary, const std::vector<uint8_t>& are_waiting,
                                   const std::vector<double>& concurrency) {
  std::vector<SharedUse> uses;
  std::map<std::tuple<NameId, uint32_t, uint32_t>, uint32_t> row_of;
  for (const LaunchUse& row : summary.rows) {
    row_of[{row.launches.name, row.launches.shape, row.launches.device}] = static_cast<uint32_t>(uses.size());
    uses.push_back({row.use.Share(), SmallShareOf(trace, row), 0});
    const bool is_alone = concurrency[row.launches.device] <= kHardlyAnyBeside;
    if (is_alone && uses.back().share < uses.back().small) uses.back().unused_ns = static_cast<double>(row.unused_ns);
  }
  std::vector<uint32_t> use_of(trace.ops.TraitsCount(), kNone);
  for (uint32_t i = 0; i < use_of.size(); ++i) {
    const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
    const auto found = row_of.find({traits.name, traits.shape, traits.device});
    const bool counts = traits.kind == OpKind::kKernel && found != row_of.end();
    if (counts && are_waiting[found->second] == 0) use_of[i] = found->second;
  }
  for (uint32_t device = 0; device < concurrency.size(); ++device) {
    if (concurrency[device] > kHardlyAnyBeside) AddUnused(trace, device, use_of, &uses);
  }
  std::vector<int64_t> unused_ns;
  for (const SharedUse& use : uses) unused_ns.push_back(static_cast<int64_t>(use.unused_ns));
  return unused_ns;
}

Groups GroupsOf(const AnalysisInput& input, const Summary& summary) {
  const Trace& trace = input.trace();
  const std::vector<double> concurrency = Concurrency(input, summary.rows);
  const std::vector<uint8_t> are_waiting = AreWaiting(trace, summary);
  const std::vector<int64_t> unused_by_small = UnusedBySmall(trace, summary, are_waiting, concurrency);
  const bool may_wait_for_pages = trace.managed_memory.empty() && AllocatesManagedMemory(input);
  Groups groups;
  for (const LaunchUse& row : summary.rows) {
    const auto index = static_cast<size_t>(&row - summary.rows.data());
    if (are_waiting[index] != 0) continue;
    // First launches wait for managed memory, and where there are hardly any others nobody knows how long they worked:
    // half of it is what memory.first_touch counts for the memory.
    const int64_t may_be_waiting = may_wait_for_pages && row.launches.count < kLaunchesToKnow ? 2 : 1;
    if (may_be_waiting > 1 && row.launches.time_ns < kFirstTouchNs) continue;
    if (row.launches.time_ns < kShortNs * row.launches.count) continue;
    const double beside = concurrency[row.launches.device], used = std::min(1.0, row.use.Share() * beside);
    const double working_ns = static_cast<double>(row.launches.time_ns) / beside / static_cast<double>(may_be_waiting);
    const auto unused_ns = static_cast<int64_t>(working_ns * (1 - used));
    if (IsSmallGrid(trace, row)) {
      const int64_t small_ns = unused_by_small[index];
      if (small_ns > 0) groups.small.Add(row, small_ns / may_be_waiting);
    } else if (IsBelowWarp(trace, row)) {
      // Such blocks take up the block slots of an SM before its warps: what the lanes do not use, nobody else can.
      const double full = std::min(1.0, used * row.use.occupancy.percent / 100);
      groups.narrow.Add(row, static_cast<int64_t>(working_ns * (1 - full)));
    } else if (row.use.waves > 1 && !IsLibraryKernel(trace.Text(row.launches.name)) &&
               PercentOf(unused_ns, input.shared().window_ns()) >= kPercentWorthAFinding) {
      // Every grid has a last wave that is not full: many that lose a little are what any program has.
      groups.tail.Add(row, unused_ns);
    }
  }
  return groups;
}

void AddFindings(const AnalysisInput& input, const Summary& summary, std::vector<Finding>* findings) {
  const Trace& trace = input.trace();
  const int64_t window_ns = input.shared().window_ns();
  // Where kernels run for less than half of the time that is judged, something else decides how long the run takes:
  // kernels that fill the GPU better would leave longer gaps.
  const DeviceTimes judged = input.shared().judged(input).devices;
  const bool kernels_decide = 2 * judged.kernel_ns >= judged.window_ns;
  const auto [small, narrow, tail] = GroupsOf(input, summary);
  const auto add = [&](std::string_view id, const Group& group, std::string message, std::string_view basis) {
    const double percent = PercentOf(group.unused_ns, window_ns);
    const bool is_much = PercentOf(group.unused_ns, summary.known_ns) >= kKernelPercentWorthAFinding;
    if (percent < (is_much ? kLeastPercentWorthAFinding : kPercentWorthAFinding)) return;
    Finding finding = NewFinding(id, percent);
    finding.message = std::move(message);
    if (group.others > 0) finding.evidence.push_back(CountOf(group.others, "similar configuration"));
    if (kernels_decide) {
      finding.gain_ns = group.unused_ns;
      finding.basis = basis;
    } else {
      finding.severity = Severity::kInfo;
    }
    finding.subject.kernel = KernelName(trace, group.worst->launches.name);
    finding.subject.device = DeviceScope(trace, group.worst->launches.device);
    findings->push_back(std::move(finding));
  };
  if (small.worst != nullptr) {
    const LaunchUse& row = *small.worst;
    add("occupancy.small_grid", small,
        LaunchText(trace, row) + " on a " + FormatCount(trace.devices[row.launches.device].properties.sm_count) +
            "-SM GPU; max. utilisation " + FormatPercent(100 * row.use.Share()),
        "kernel time minus the share of SMs, schedulers and lanes in use");
  }
  if (narrow.worst != nullptr) {
    const LaunchUse& row = *narrow.worst;
    add("occupancy.small_block", narrow,
        LaunchText(trace, row) + ", less than a warp of " +
            FormatCount(trace.devices[row.launches.device].properties.warp_size) + "; max. utilisation " +
            FormatPercent(100 * row.use.Share()),
        "kernel time minus the share of SMs, warps and lanes in use");
  }
  if (tail.worst != nullptr) {
    const LaunchUse& row = *tail.worst;
    add("occupancy.tail", tail,
        LaunchText(trace, row) + ", " + FormatNumber(row.use.waves) +
            " waves: tail effect, most of the GPU is idle in the last wave",
        "kernel time minus the share of SMs with work, if all blocks take equally long");
  }
}

}  // namespace

AnalysisResult RunOccupancy(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  const Summary summary = HasOccupancyCalculator() ? Summarize(trace, input.shared().ops()) : Summary{};
  if (HasOccupancyCalculator()) {
    AddMetrics(trace, summary, &result);
    AddFindings(input, summary, &result.findings);
  }
  result.tables.push_back(OccupancyTable(trace, summary, options.max_rows));
  result.tables.back().is_detail = result.findings.empty();
  return result;
}

}  // namespace gprof
