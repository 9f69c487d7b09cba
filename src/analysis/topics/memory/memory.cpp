// Memory: how much was allocated when, what is freed and allocated again and again, what is never freed, memory pools,
// and what managed memory costs.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/causes/first_touch.h"
#include "analysis/facts/memory/memory_use.h"
#include "analysis/facts/operations/transfers.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/steps/step_finder.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/ranked_findings.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/memory/memory_churn.h"
#include "analysis/topics/memory/memory_growth.h"
#include "analysis/topics/memory/tensors/tensor_blocks.h"
#include "analysis/topics/memory/tensors/tensor_growth.h"
#include "analysis/topics/memory/tensors/tensor_peak.h"
#include "analysis/topics/memory/tensors/tensor_use.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

using trace::ManagedKind;

void AddUsageMetrics(const Trace& trace, const MemoryUse& use, AnalysisResult* result) {
  int64_t allocations = 0, frees = 0;
  uint64_t left_bytes = 0, most_bytes = 0;
  for (const auto& [key, usage] : use.usages) {
    allocations += usage.allocations;
    frees += usage.frees;
    left_bytes += usage.not_freed_bytes;
  }
  for (const auto& [device, level] : use.devices) {
    most_bytes = std::max(most_bytes, level.peak_bytes);
    if (device != kNone) AddMetric(result, "memory.peak_bytes", level.peak_bytes, DeviceScope(trace, device));
  }
  AddMetric(result, "memory.peak_bytes", most_bytes);
  AddMetric(result, "memory.allocations", allocations);
  AddMetric(result, "memory.frees", frees);
  AddMetric(result, "memory.leaked_bytes", left_bytes);
}

// ---- pools ----

struct Pool {
  uint32_t device = kNone;
  int64_t trims = 0;
  uint64_t size_bytes = 0, used_bytes = 0, threshold_bytes = 0;
  Cell created_ns, destroyed_ns;  // empty where it was not recorded
  bool is_imported = false;
};

Table PoolTable(const Trace& trace, uint32_t max_rows) {
  Table table{"memory_pools",
              "Memory pools",
              {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
               {"size_bytes", "Size", Unit::kBytes, false},
               {"used_bytes", "Used", Unit::kBytes, false},
               {"release_threshold_bytes", "Threshold", Unit::kBytes, false, "release threshold"},
               {"trims", "Trims", Unit::kCount, false},
               {"created_ns", "Created", Unit::kNs, true, ColumnRole::kOwn},
               {"destroyed_ns", "Destroyed", Unit::kNs, true, ColumnRole::kOwn},
               {"imported", "Imported", Unit::kCount, true},
               {"pid", "Process", Unit::kCount, true, ColumnRole::kName},
               {"pool", "Pool", Unit::kText, false}},
              {},
              "Size and Used: the largest reported. Times are since the start of the trace."};
  std::map<std::pair<uint32_t, uint64_t>, Pool> pools;
  for (const MemoryPoolEvent& event : trace.memory_pools) {
    Pool& pool = pools[{event.process, event.pool}];
    pool.device = event.device;
    pool.trims += event.operation == trace::PoolOp::kTrim;
    pool.size_bytes = std::max(pool.size_bytes, event.size_bytes);
    pool.used_bytes = std::max(pool.used_bytes, event.used_bytes);
    pool.threshold_bytes = event.release_threshold_bytes;
    pool.is_imported = pool.is_imported || event.is_imported;
    if (event.operation == trace::PoolOp::kCreate) pool.created_ns = event.time_ns - trace.start_ns;
    if (event.operation == trace::PoolOp::kDestroy) pool.destroyed_ns = event.time_ns - trace.start_ns;
  }
  for (const auto& [key, pool] : pools) {
    table.rows.push_back({MemoryDeviceName(trace, pool.device), static_cast<int64_t>(pool.size_bytes),
                          static_cast<int64_t>(pool.used_bytes), static_cast<int64_t>(pool.threshold_bytes), pool.trims,
                          pool.created_ns, pool.destroyed_ns, static_cast<int64_t>(pool.is_imported),
                          static_cast<int64_t>(trace.processes[key.first].pid), "pool " + std::to_string(key.second)});
  }
  SortAndCut(&table, 1, 9, max_rows);
  return table;
}

// ---- managed memory ----

struct Traffic {
  int64_t count = 0;
  SaturatingSum time_ns;
  uint64_t value = 0;  // bytes or pages
};
constexpr size_t kManagedKinds = 9;

struct ManagedInfo {
  const char* name;
  bool is_migration;
  const char *count_metric, *value_metric, *time_metric;  // null: in the table alone
};

const ManagedInfo& InfoOf(ManagedKind kind) {
  static constexpr ManagedInfo kInfo[kManagedKinds] = {
      {"other", false, nullptr, nullptr, nullptr},
      {"host to device", true, "memory.managed_h2d_count", "memory.managed_h2d_bytes", "memory.managed_h2d_ns"},
      {"device to host", true, "memory.managed_d2h_count", "memory.managed_d2h_bytes", "memory.managed_d2h_ns"},
      {"CPU page faults", false, nullptr, "memory.cpu_page_faults", nullptr},
      {"GPU page faults", false, nullptr, "memory.gpu_page_faults", "memory.gpu_fault_ns"},
      {"thrashing", false, nullptr, nullptr, nullptr},
      {"throttling", false, nullptr, nullptr, nullptr},
      {"remote mapping", false, nullptr, nullptr, nullptr},
      {"device to device", true, "memory.managed_d2d_count", "memory.managed_d2d_bytes", "memory.managed_d2d_ns"}};
  return kInfo[static_cast<size_t>(kind)];
}

using ManagedTraffic = std::array<Traffic, kManagedKinds>;

ManagedTraffic SumManaged(const Trace& trace) {
  ManagedTraffic sums;
  for (const ManagedMemory& m : trace.managed_memory) {
    Traffic& sum = sums[static_cast<size_t>(m.kind)];
    ++sum.count;
    sum.value += m.value;
    sum.time_ns += m.DurationNs();
  }
  return sums;
}

Table ManagedTable(const ManagedTraffic& sums) {
  Table table{"managed_memory",
              "Managed memory",
              {{"time_ns", "Time", Unit::kNs, false},
               {"count", "Count", Unit::kCount, false},
               {"bytes", "Bytes", Unit::kBytes, false},
               {"pages", "Pages", Unit::kCount, false},
               {"bytes_per_second", "Bandwidth", Unit::kBytesPerSecond, false},
               {"what", "Event", Unit::kText, false}},
              {},
              "Migrations and page faults reported by the driver; they may overlap with kernels.",
              RowsOfRanks::kAddUp};
  for (size_t i = 0; i < kManagedKinds; ++i) {
    const Traffic& sum = sums[i];
    if (sum.count == 0) continue;
    const ManagedInfo& info = InfoOf(static_cast<ManagedKind>(i));
    const auto value = static_cast<int64_t>(sum.value);
    Cell bandwidth;
    if (info.is_migration && sum.time_ns > 0) {
      bandwidth = static_cast<double>(value) * 1e9 / static_cast<double>(sum.time_ns);
    }
    table.rows.push_back({sum.time_ns, sum.count, info.is_migration ? Cell(value) : Cell(),
                          info.is_migration ? Cell() : Cell(value), bandwidth, std::string(info.name)});
  }
  SortAndCut(&table, 0, 5, 0);
  return table;
}

void AddManagedMetrics(const ManagedTraffic& sums, AnalysisResult* result) {
  for (size_t i = 0; i < kManagedKinds; ++i) {
    const ManagedInfo& info = InfoOf(static_cast<ManagedKind>(i));
    if (info.count_metric != nullptr) AddMetric(result, info.count_metric, sums[i].count);
    if (info.value_metric != nullptr) AddMetric(result, info.value_metric, sums[i].value);
    if (info.time_metric != nullptr) AddMetric(result, info.time_metric, sums[i].time_ns);
  }
}

// What migrations of a kind take when their bytes move in bulk, as prefetching moves them; 0 where no link is known.
int64_t BulkNs(const Trace& trace, ManagedKind kind) {
  double bulk_ns = 0;
  for (const ManagedMemory& m : trace.managed_memory) {
    const uint32_t device = m.destination == kNone ? m.source : m.destination;
    if (m.kind != kind || device >= trace.devices.size()) continue;
    const double bytes_per_ns = LinkBytesPerNs(trace.devices[device].properties) * kReachablePercent / 100;
    if (bytes_per_ns > 0) bulk_ns += static_cast<double>(m.value) / bytes_per_ns;
  }
  return static_cast<int64_t>(bulk_ns);
}

// A fault of a GPU ends when its page has come, so that migrations to GPUs are part of its time where faults are known.
// Data that is prefetched still has to move.
void AddManagedFindings(const AnalysisInput& input, const ManagedTraffic& sums, std::vector<Finding>* findings) {
  const Trace& trace = input.trace();
  const Traffic& faults = sums[static_cast<size_t>(ManagedKind::kGpuPageFault)];
  Traffic moved;
  int64_t gain_ns = 0;
  for (size_t i = 0; i < kManagedKinds; ++i) {
    const auto kind = static_cast<ManagedKind>(i);
    if (!InfoOf(kind).is_migration) continue;
    const Traffic& sum = sums[i];
    moved.count += sum.count;
    moved.value += sum.value;
    moved.time_ns += sum.time_ns;
    if (kind == ManagedKind::kHostToDevice && faults.count > 0) continue;
    gain_ns += std::max<int64_t>(0, sum.time_ns - BulkNs(trace, kind));
  }
  if (moved.count > 0) {
    Finding finding = NewFinding("memory.migrations", PercentOf(moved.time_ns, input.shared().window_ns()));
    finding.message = "Managed memory: " + FormatBytes(moved.value) + " moved in " + CountOf(moved.count, "migration") +
                      ", " + FormatBytes(static_cast<double>(moved.value) / static_cast<double>(moved.count)) +
                      " each, taking " + FormatNs(moved.time_ns);
    finding.gain_ns = gain_ns;
    finding.basis = "time of migrations outside GPU page faults, minus a bulk transfer of their bytes";
    findings->push_back(std::move(finding));
  }
  if (faults.count > 0) {
    Finding finding = NewFinding("memory.page_faults", PercentOf(faults.time_ns, input.shared().window_ns()));
    finding.message = "The GPU page-faulted on " + CountOf(static_cast<int64_t>(faults.value), "page") +
                      " of managed memory, taking " + FormatNs(faults.time_ns);
    finding.gain_ns = std::max<int64_t>(0, faults.time_ns - BulkNs(trace, ManagedKind::kHostToDevice));
    finding.basis = "time the driver spent on those faults, minus a bulk transfer of their data";
    findings->push_back(std::move(finding));
  }
}

bool HasFinding(const std::vector<Finding>& findings, std::string_view id) {
  return std::ranges::any_of(findings, [&](const Finding& finding) { return finding.id == id; });
}

// What tensors of PyTorch held: at the peak, and more after each step.
void AddTensors(const AnalysisInput& input, const StepChoice* step, const AnalysisOptions& options,
                AnalysisResult* result) {
  const Trace& trace = input.trace();
  const std::vector<HeldBlock> blocks = HeldBlocks(trace);
  std::optional<BlockPlaces> places;
  if (!blocks.empty()) places.emplace(input);
  BlockPlaces* const of_blocks = places ? &*places : nullptr;
  const TensorPeaks peaks = PeaksOf(trace, blocks);
  result->tables.push_back(TensorMemoryTable(trace, step));
  AddTensorCategories(input, blocks, peaks, of_blocks, options.max_rows, result);
  for (Table& table : TensorPeakTables(trace, blocks, peaks, of_blocks, options.max_rows)) {
    result->tables.push_back(std::move(table));
  }
  result->tables.push_back(TensorBlockTable(trace, blocks, of_blocks, options.max_rows));
  const TensorGrowth growth = TensorGrowthOf(blocks, trace, step, of_blocks);
  result->tables.push_back(TensorGrowthTable(trace, growth, options.max_rows));
  AddTensorGrowthMetric(growth, result);
  AddTensorGrowthFinding(trace, growth, &result->findings);
}

}  // namespace

AnalysisResult RunMemory(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  const std::vector<uint32_t> ended = EndedBlocks(trace);
  const MemoryUse use(trace, ended);
  Churn churn = ChurnOf(input, ended);
  std::optional<StepChoice> step;
  const bool has_events = !trace.memory_events.empty() || !trace.tensor_blocks.empty() || HasTensorMemory(trace);
  if (has_events || !churn.sites.empty()) step = FindStep(input, options.step);
  if (step) CountSteps(trace, *step, &churn);
  const Growth growth = GrowthOf(trace, ended, step ? &*step : nullptr);
  const ManagedTraffic managed = SumManaged(trace);
  AddUsageMetrics(trace, use, &result);
  AddChurnMetrics(churn, &result);
  AddGrowthMetrics(growth, &result);
  AddManagedMetrics(managed, &result);
  result.tables.push_back(MemoryTable(trace, use, options.max_rows));
  result.tables.push_back(MemoryOverTimeTable(trace, ended, use, options.max_rows));
  result.tables.push_back(ChurnTable(trace, churn, options.max_rows));
  result.tables.push_back(NotFreedTable(trace, use, options.max_rows));
  result.tables.push_back(AtPeakTable(input, ended, options.max_rows));
  result.tables.push_back(PoolTable(trace, options.max_rows));
  result.tables.push_back(ManagedTable(managed));
  AddTensors(input, step ? &*step : nullptr, options, &result);
  AddChurnFindings(trace, churn, input.shared().window_ns(), &result.findings);
  // What tensors take, the driver is asked for: that is the same growth.
  if (!HasFinding(result.findings, "memory.tensor_growth")) AddGrowthFindings(trace, growth, &result.findings);
  if (growth.sites.empty()) AddLeakFinding(trace, use, &result.findings);  // which has said it already, and worse
  AddManagedFindings(input, managed, &result.findings);
  AddFirstTouchFinding(input, &result.findings);
  RankFindings(&result.findings);
  // Without a finding the table is what any program does.
  const bool has_churn = HasFinding(result.findings, "memory.churn");
  for (Table& table : result.tables) table.is_detail |= table.id == "memory_churn" && !has_churn;
  return result;
}

}  // namespace gprof
