#include "analysis/topics/counters/counter_tables.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "analysis/facts/counters/counter_breakdown.h"
#include "analysis/facts/counters/counter_caches.h"
#include "analysis/facts/counters/counter_formulas.h"
#include "analysis/facts/counters/counter_occupancy.h"

namespace gprof {
namespace {

Table BreakdownTable(const Trace&, std::span<const KernelCounters> kernels) {
  constexpr std::size_t kMostParts = 4;  // of each throughput
  constexpr double kLeastShownPercent = 1;
  Table table{"counter_breakdown",
              "Breakdown of throughput",
              {{"kernel", "Kernel", Unit::kText},
               {"throughput", "Of", Unit::kText},
               {"part", "Part", Unit::kText},
               {"part_percent", "Of peak", Unit::kPercent, false, ColumnRole::kOwn}},
              {},
              "A throughput is that of its busiest component. At most 4 components each, from 1%."};
  for (const KernelCounters& kernel : kernels) {
    std::string_view throughput;
    std::size_t count = 0;
    for (const ThroughputPart& part : PartsOf(kernel)) {
      if (part.throughput != throughput) throughput = part.throughput, count = 0;
      if (part.percent < kLeastShownPercent || ++count > kMostParts) continue;
      table.rows.push_back({kernel.name, std::string(throughput), std::string(part.part), part.percent});
    }
  }
  return table;
}

Table TrafficTable(const Trace&, std::span<const KernelCounters> kernels) {
  Table table{
      "counter_traffic",
      "Memory traffic",
      {{"kernel", "Kernel", Unit::kText},
       {"from", "From", Unit::kText},
       {"to", "To", Unit::kText},
       {"what", "What", Unit::kText, true},
       {"bytes", "Bytes", Unit::kBytes},
       {"bytes_per_second", "Rate", Unit::kBytesPerSecond}},
      {},
      "Bytes between units, whole sectors of 32 bytes to and from L1; of shared memory, wavefronts of at most 128 "
      "bytes."};
  for (const KernelCounters& kernel : kernels) {
    for (const Traffic& t : TrafficOf(kernel)) {
      table.rows.push_back({kernel.name, std::string(t.from), std::string(t.to), std::string(t.what),
                            CellOf(t.bytes, Unit::kBytes), t.bytes_per_second > 0 ? Cell(t.bytes_per_second) : Cell()});
    }
  }
  return table;
}

Table CacheTable(std::string id, std::string title, std::span<const KernelCounters> kernels,
                 std::vector<CacheAccess> (*accesses_of)(const KernelCounters&), std::string note) {
  Table table{std::move(id),
              std::move(title),
              {{"kernel", "Kernel", Unit::kText},
               {"operation", "Operation", Unit::kText},
               {"requests", "Requests", Unit::kCount},
               {"sectors", "Sectors", Unit::kCount},
               {"sectors_per_request", "Sectors/request", Unit::kCount, false, ColumnRole::kOwn},
               {"hit_percent", "Hit rate", Unit::kPercent, false, ColumnRole::kOwn},
               {"bytes", "Bytes", Unit::kBytes},
               {"wavefronts", "Wavefronts", Unit::kCount, true},
               {"bank_conflicts", "Bank conflicts", Unit::kCount, true}},
              {},
              "Operations that took place, of those that were measured. A sector is 32 bytes. " + std::move(note)};
  for (const KernelCounters& kernel : kernels) {
    for (const CacheAccess& access : accesses_of(kernel)) {
      table.rows.push_back({kernel.name, std::string(access.operation), CellOf(access.requests, Unit::kCount),
                            CellOf(access.sectors, Unit::kCount), CellOf(access.SectorsPerRequest(), Unit::kCount),
                            CellOf(access.hit_percent, Unit::kPercent), CellOf(access.Bytes(), Unit::kBytes),
                            CellOf(access.wavefronts, Unit::kCount), CellOf(access.bank_conflicts, Unit::kCount)});
    }
  }
  return table;
}

Table L1Table(const Trace&, std::span<const KernelCounters> kernels) {
  return CacheTable("counter_l1", "L1 and shared memory by operation", kernels, L1AccessesOf,
                    "Requests of shared memory are its instructions.");
}

Table L2Table(const Trace&, std::span<const KernelCounters> kernels) {
  return CacheTable("counter_l2", "L2 by operation", kernels, L2AccessesOf,
                    "CAS: compare and swap. Other L2 partition: what one half of L2 asks of the other.");
}

Table WhatIfTable(const Trace& trace, std::span<const KernelCounters> kernels) {
  Table table{"counter_what_if",
              "Occupancy with other launches",
              {{"kernel", "Kernel", Unit::kText},
               {"resource", "Change", Unit::kText},
               {"now", "Now", Unit::kCount},
               {"then", "Then", Unit::kCount},
               {"blocks_per_sm", "Blocks/SM", Unit::kCount, false, ColumnRole::kCommon},
               {"theoretical_percent", "Theoretical", Unit::kPercent, false, ColumnRole::kOwn},
               {"now_percent", "Theoretical now", Unit::kPercent, true, ColumnRole::kOwn}},
              {},
              "The smallest change in registers per thread, shared memory per block or threads per block that lets "
              "more warps fit, and the one that lets the most fit, with everything else unchanged."};
  for (const KernelCounters& kernel : kernels) {
    const trace::DeviceRecord* const device = DevicePropertiesOf(trace, kernel);
    for (const WhatIf& w : WhatIfsOf(kernel, device)) {
      table.rows.push_back({kernel.name, std::string(w.resource), CellOf(w.now, Unit::kCount),
                            CellOf(w.then, Unit::kCount), CellOf(w.blocks_per_sm, Unit::kCount), w.percent,
                            LimitsOf(kernel, device)->percent});
    }
  }
  return table;
}

Table StallTable(const Trace&, std::span<const KernelCounters> kernels) {
  constexpr double kLeastShownPercent = 1;
  Table table{"counter_stalls",
              "Reasons of stalls",
              {{"kernel", "Kernel", Unit::kText},
               {"reason", "Reason", Unit::kText},
               {"share_percent", "Share", Unit::kPercent, false, ColumnRole::kOwn},
               {"warps_per_issue", "Warps/issue", Unit::kCount},
               {"meaning", "Warps wait for", Unit::kText, true, ColumnRole::kCommon}},
              {},
              "% of a warp's time between two instructions; reasons below 1% are omitted."};
  for (const KernelCounters& kernel : kernels) {
    for (const Stall& stall : StallsOf(kernel)) {
      if (stall.percent < kLeastShownPercent) continue;
      table.rows.push_back(
          {kernel.name, std::string(stall.reason), stall.percent, stall.warps, std::string(MeaningOf(stall.reason))});
    }
  }
  return table;
}

// A row for each type of operation and level of memory. Bound by memory left of the ridge, where the bandwidth gives
// less than the peak.
Table RooflineTable(const Trace&, std::span<const KernelCounters> kernels) {
  Table table{"counter_roofline",
              "Roofline",
              {{"kernel", "Kernel", Unit::kText},
               {"type", "Type", Unit::kText},
               {"gflops", "GFLOP/s", Unit::kCount},
               {"peak_gflops", "Peak", Unit::kCount},
               {"peak_percent", "Of peak", Unit::kPercent, false, ColumnRole::kRate},
               {"level", "Level", Unit::kText},
               {"bytes_per_second", "Traffic", Unit::kBytesPerSecond},
               {"peak_bytes_per_second", "Peak traffic", Unit::kBytesPerSecond, true},
               {"intensity", "FLOP/B", Unit::kCount},
               {"attainable_gflops", "Attainable", Unit::kCount, false,
                "the peak, or the intensity times the bandwidth of the level"},
               {"bound", "Bound", Unit::kText}},
              {},
              "Types above 1% of their peak."};
  constexpr double kGiga = 1e-9;
  for (const KernelCounters& kernel : kernels) {
    for (const RooflinePoint& point : RooflineOf(kernel)) {
      for (const MemoryRoof& level : MemoryRoofsOf(kernel)) {
        const double intensity = level.bytes_per_second > 0 ? point.per_second / level.bytes_per_second : 0;
        const double by_memory = intensity * level.peak_bytes_per_second;
        table.rows.push_back({kernel.name, point.type, point.per_second * kGiga, point.peak_per_second * kGiga,
                              point.Percent(), std::string(level.name), level.bytes_per_second,
                              level.peak_bytes_per_second, intensity,
                              std::min(by_memory, point.peak_per_second) * kGiga,
                              std::string(by_memory < point.peak_per_second ? "memory" : "compute")});
      }
    }
  }
  return table;
}

struct LongTable {
  std::string_view section;
  Table (*make)(const Trace& trace, std::span<const KernelCounters> kernels);
};
constexpr LongTable kLongTables[] = {{"counter_speed_of_light", BreakdownTable},
                                     {"counter_memory", TrafficTable},
                                     {"counter_caches", L1Table},
                                     {"counter_caches", L2Table},
                                     {"counter_warp_states", StallTable},
                                     {"counter_occupancy", WhatIfTable},
                                     {"counter_roofline", RooflineTable}};

bool HasValue(std::span<const DiagnosedKernel> kernels, const CounterColumn& column) {
  return std::ranges::any_of(kernels, [&](const DiagnosedKernel& k) { return ValueOf(column, *k.kernel).has_value(); });
}

// What the launch and the GPU allow, beside what was counted.
void AddLimits(std::span<const DiagnosedKernel> kernels, Table* table) {
  using Field = double OccupancyLimits::*;
  const std::pair<Column, Field> kLimits[] = {
      {{"theoretical_percent", "Theoretical", Unit::kPercent, false, ColumnRole::kOwn}, &OccupancyLimits::percent},
      {{"theoretical_warps", "Warps/SM possible", Unit::kCount, true}, &OccupancyLimits::warps_per_sm},
      {{"limit_registers", "By registers", Unit::kCount}, &OccupancyLimits::registers},
      {{"limit_shared_memory", "By shared memory", Unit::kCount}, &OccupancyLimits::shared_memory},
      {{"limit_warps", "By block size", Unit::kCount}, &OccupancyLimits::warps},
      {{"limit_blocks", "By blocks", Unit::kCount, true}, &OccupancyLimits::blocks}};
  for (const auto& [column, field] : kLimits) table->columns.push_back(column);
  table->columns.push_back({"limiter", "Limiter", Unit::kText});
  for (std::size_t i = 0; i < table->rows.size(); ++i) {
    const std::optional<OccupancyLimits>& limits = kernels[i].limits;
    for (const auto& [column, field] : kLimits) {
      table->rows[i].push_back(limits ? CellOf((*limits).*field, column.unit) : Cell());
    }
    table->rows[i].push_back(limits ? Cell(limits->limiter) : Cell());
  }
}

}  // namespace

Cell CellOf(std::optional<double> value, Unit unit) {
  if (!value) return {};
  const bool is_whole = unit != Unit::kPercent && std::floor(*value) == *value && std::abs(*value) < 1e15;
  if (unit == Unit::kNs || unit == Unit::kBytes || is_whole) return static_cast<int64_t>(std::llround(*value));
  return *value;
}

std::string DurationTitle(std::span<const DiagnosedKernel> kernels) {
  const bool includes_launch =
      std::ranges::any_of(kernels, [](const DiagnosedKernel& k) { return k.kernel->includes_launch; });
  return includes_launch ? "Duration + launch" : "Duration";
}

Table SectionTable(const CounterSection& section, std::span<const DiagnosedKernel> kernels, std::size_t rows) {
  Table table{std::string(section.id),
              std::string(section.title),
              {{"kernel", "Kernel", Unit::kText}},
              {},
              std::string(section.note)};
  std::vector<const CounterColumn*> columns;
  for (const CounterColumn& column : section.columns) {
    if (!HasValue(kernels, column)) continue;
    columns.push_back(&column);
    const bool is_duration = column.key == "duration_ns";
    table.columns.push_back({std::string(column.key), is_duration ? DurationTitle(kernels) : std::string(column.title),
                             column.unit, column.is_extra});
  }
  if (columns.empty()) return table;
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<Cell> row{kernels[i].kernel->name};
    for (const CounterColumn* column : columns)
      row.push_back(CellOf(ValueOf(*column, *kernels[i].kernel), column->unit));
    table.rows.push_back(std::move(row));
  }
  if (section.id == "counter_occupancy") AddLimits(kernels, &table);
  return table;
}

std::vector<Table> LongTablesOf(std::string_view section, const Trace& trace, std::span<const KernelCounters> kernels) {
  std::vector<Table> tables;
  for (const LongTable& table : kLongTables) {
    if (table.section == section) tables.push_back(table.make(trace, kernels));
  }
  return tables;
}

}  // namespace gprof
