// Sections beside what ncu prints for the same counters.
#include "analysis/facts/counters/counter_sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "analysis/facts/counters/counter_breakdown.h"
#include "analysis/facts/counters/counter_caches.h"
#include "analysis/facts/counters/counter_formulas.h"
#include "analysis/facts/counters/counter_occupancy.h"
#include "analysis/result/metrics.h"
#include "analysis/topics/analyses.h"
#include "captured.h"
#include "import/ncu/counter_units.h"
#include "import/ncu/csv_rows.h"
#include "import/ncu/ncu_csv.h"

namespace gprof {
namespace {

struct Shared {
  const char *section, *label, *table, *key;
  double factor = 1;    // from ncu's base unit to that of the column
  double rounding = 0;  // of the raw page, which has six decimals of a unit for all kernels (Tbyte/s)
};
// Every figure of ncu's details page that the tables have.
constexpr Shared kShared[] = {
    {"GPU Speed Of Light Throughput", "DRAM Frequency", "counter_speed_of_light", "dram_clock_mhz", 1e-6},
    {"GPU Speed Of Light Throughput", "SM Frequency", "counter_speed_of_light", "sm_clock_mhz", 1e-6},
    {"GPU Speed Of Light Throughput", "Elapsed Cycles", "counter_speed_of_light", "elapsed_cycles"},
    {"GPU Speed Of Light Throughput", "Memory Throughput", "counter_speed_of_light", "memory_percent"},
    {"GPU Speed Of Light Throughput", "DRAM Throughput", "counter_speed_of_light", "dram_percent"},
    {"GPU Speed Of Light Throughput", "Duration", "counter_speed_of_light", "duration_ns"},
    {"GPU Speed Of Light Throughput", "L1/TEX Cache Throughput", "counter_speed_of_light", "l1_percent"},
    {"GPU Speed Of Light Throughput", "L2 Cache Throughput", "counter_speed_of_light", "l2_percent"},
    {"GPU Speed Of Light Throughput", "SM Active Cycles", "counter_speed_of_light", "sm_active_cycles"},
    {"GPU Speed Of Light Throughput", "Compute (SM) Throughput", "counter_speed_of_light", "compute_percent"},
    {"Compute Workload Analysis", "Executed Ipc Active", "counter_compute", "ipc"},
    {"Compute Workload Analysis", "Executed Ipc Elapsed", "counter_compute", "ipc_elapsed"},
    {"Compute Workload Analysis", "Issue Slots Busy", "counter_compute", "issued_percent"},
    {"Compute Workload Analysis", "SM Busy", "counter_compute", "busy_percent"},
    {"Memory Workload Analysis", "Memory Throughput", "counter_memory", "dram_bytes_per_second", 1, 0.5e6},
    {"Memory Workload Analysis", "Mem Busy", "counter_memory", "access_percent"},
    {"Memory Workload Analysis", "Max Bandwidth", "counter_memory", "request_percent"},
    {"Memory Workload Analysis", "L1/TEX Hit Rate", "counter_memory", "l1_hit_percent"},
    {"Memory Workload Analysis", "L2 Hit Rate", "counter_memory", "l2_hit_percent"},
    {"Memory Workload Analysis", "Mem Pipes Busy", "counter_memory", "pipes_percent"},
    {"Scheduler Statistics", "One or More Eligible", "counter_scheduler", "eligible_percent"},
    {"Scheduler Statistics", "Issued Warp Per Scheduler", "counter_scheduler", "issued_warps"},
    {"Scheduler Statistics", "No Eligible", "counter_scheduler", "no_eligible_percent"},
    {"Scheduler Statistics", "Active Warps Per Scheduler", "counter_scheduler", "active_warps"},
    {"Scheduler Statistics", "Eligible Warps Per Scheduler", "counter_scheduler", "eligible_warps"},
    {"Warp State Statistics", "Warp Cycles Per Issued Instruction", "counter_warp_states", "cycles_per_issue"},
    {"Warp State Statistics", "Warp Cycles Per Executed Instruction", "counter_warp_states", "cycles_per_instruction"},
    {"Warp State Statistics", "Avg. Active Threads Per Warp", "counter_warp_states", "threads_per_warp"},
    {"Warp State Statistics", "Avg. Not Predicated Off Threads Per Warp", "counter_warp_states",
     "predicated_threads_per_warp"},
    {"Instruction Statistics", "Avg. Executed Instructions Per Scheduler", "counter_instructions",
     "instructions_per_scheduler"},
    {"Instruction Statistics", "Executed Instructions", "counter_instructions", "instructions"},
    {"Instruction Statistics", "Avg. Issued Instructions Per Scheduler", "counter_instructions",
     "issued_per_scheduler"},
    {"Instruction Statistics", "Issued Instructions", "counter_instructions", "issued"},
    {"Launch Statistics", "Block Size", "counter_launch", "block_threads"},
    {"Launch Statistics", "Cluster Size", "counter_launch", "cluster_blocks"},
    {"Launch Statistics", "Grid Size", "counter_launch", "grid_blocks"},
    {"Launch Statistics", "Registers Per Thread", "counter_launch", "registers"},
    {"Launch Statistics", "Shared Memory Configuration Size", "counter_launch", "shared_config_bytes"},
    {"Launch Statistics", "Driver Shared Memory Per Block", "counter_launch", "driver_shared_bytes"},
    {"Launch Statistics", "Dynamic Shared Memory Per Block", "counter_launch", "dynamic_shared_bytes"},
    {"Launch Statistics", "Static Shared Memory Per Block", "counter_launch", "static_shared_bytes"},
    {"Launch Statistics", "# SMs", "counter_launch", "sms"},
    {"Launch Statistics", "Stack Size", "counter_launch", "stack_bytes"},
    {"Launch Statistics", "Threads", "counter_launch", "threads"},
    {"Launch Statistics", "# TPCs", "counter_launch", "tpcs"},
    {"Launch Statistics", "Waves Per SM", "counter_launch", "waves"},
    {"Occupancy", "Block Limit SM", "counter_occupancy", "limit_blocks"},
    {"Occupancy", "Block Limit Registers", "counter_occupancy", "limit_registers"},
    {"Occupancy", "Block Limit Shared Mem", "counter_occupancy", "limit_shared_memory"},
    {"Occupancy", "Block Limit Warps", "counter_occupancy", "limit_warps"},
    {"Occupancy", "Theoretical Active Warps per SM", "counter_occupancy", "theoretical_warps"},
    {"Occupancy", "Theoretical Occupancy", "counter_occupancy", "theoretical_percent"},
    {"Occupancy", "Achieved Occupancy", "counter_occupancy", "achieved_percent"},
    {"Occupancy", "Achieved Active Warps Per SM", "counter_occupancy", "achieved_warps"},
    {"GPU and Memory Workload Distribution", "Average DRAM Active Cycles", "counter_distribution", "dram_cycles"},
    {"GPU and Memory Workload Distribution", "Total DRAM Elapsed Cycles", "counter_distribution",
     "dram_cycles_elapsed"},
    {"GPU and Memory Workload Distribution", "Average L1 Active Cycles", "counter_distribution", "l1_cycles"},
    {"GPU and Memory Workload Distribution", "Total L1 Elapsed Cycles", "counter_distribution", "l1_cycles_elapsed"},
    {"GPU and Memory Workload Distribution", "Average L2 Active Cycles", "counter_distribution", "l2_cycles"},
    {"GPU and Memory Workload Distribution", "Total L2 Elapsed Cycles", "counter_distribution", "l2_cycles_elapsed"},
    {"GPU and Memory Workload Distribution", "Average SM Active Cycles", "counter_distribution", "sm_cycles"},
    {"GPU and Memory Workload Distribution", "Total SM Elapsed Cycles", "counter_distribution", "sm_cycles_elapsed"},
    {"GPU and Memory Workload Distribution", "Average SMSP Active Cycles", "counter_distribution", "smsp_cycles"},
    {"GPU and Memory Workload Distribution", "Total SMSP Elapsed Cycles", "counter_distribution",
     "smsp_cycles_elapsed"},
    {"Source Counters", "Branch Instructions", "counter_instructions", "branches"},
    {"Source Counters", "Branch Efficiency", "counter_instructions", "uniform_branch_percent"},
    {"Source Counters", "Avg. Divergent Branches", "counter_instructions", "divergent_branches"}};

using Figures = std::map<std::string, double>;  // by "kernel table.key"

Figures FiguresOf(const Trace& t) {
  Figures figures;
  for (const Table& table : RunCounters(t, {.max_rows = 0}).tables) {
    for (const auto& row : table.rows) {
      for (std::size_t i = 1; i < row.size(); ++i) {
        const std::string name =
            KernelWord(std::get<std::string>(row[0])) + " " + table.id + "." + table.columns[i].key;
        if (const auto* whole = std::get_if<int64_t>(&row[i])) figures[name] = static_cast<double>(*whole);
        if (const auto* real = std::get_if<double>(&row[i])) figures[name] = *real;
      }
    }
  }
  return figures;
}

// As many decimals as were printed.
double Rounding(const std::string& text) {
  const std::size_t point = text.find('.');
  return point == std::string::npos ? 0.5 : 0.5 * std::pow(10.0, -static_cast<double>(text.size() - point - 1));
}

std::size_t CompareWithDetails(const Trace& t, const std::string& details) {
  const Figures figures = FiguresOf(t);
  std::size_t compared = 0;
  CsvRows rows(details);
  while (rows.Next()) {
    const std::vector<std::string>& row = rows.fields();
    const auto* const shared = std::find_if(std::begin(kShared), std::end(kShared), [&](const Shared& s) {
      return row.size() > 11 && row[8] == s.section && row[9] == s.label;
    });
    if (shared == std::end(kShared)) continue;
    const std::string name = KernelWord(row[1]) + " " + shared->table + "." + shared->key;
    const auto at = figures.find(name);
    EXPECT_NE(at, figures.end()) << name;
    if (at == figures.end()) continue;
    std::string text = row[11];
    std::erase(text, ',');
    const double unit = std::pow(10.0, BaseUnitOf(row[10]).exponent) * shared->factor;
    // Whole numbers may be short for ones with decimals that are 0.
    EXPECT_NEAR(at->second, std::strtod(text.c_str(), nullptr) * unit,
                Rounding(text) * unit * 1.01 + 1e-9 + shared->rounding)
        << name;
    ++compared;
  }
  return compared;
}

TEST(CounterSections, ValuesEqualNcusDetailsPage) {
  EXPECT_EQ(CompareWithDetails(FullCapture(), Captured("ncu_full.details.csv.gz")), 13 * std::size(kShared));
  EXPECT_GT(CompareWithDetails(BasicCapture(), Captured("ncu_basic.details.csv.gz")), 13u * 35);
}

// The details page has the same figures, rounded: those of ncu's own computations of occupancy as well.
TEST(CounterSections, DetailsPageGivesTheSameTables) {
  const std::string details = Captured("ncu_full.details.csv.gz");
  const Trace t = ReadNcuCsv(details, "details.csv");
  EXPECT_EQ(t.counter_ranges.size(), 13u);
  EXPECT_EQ(CompareWithDetails(t, details), 13 * std::size(kShared));
  const Figures figures = FiguresOf(t), raw = FiguresOf(FullCapture());
  for (const auto& [name, value] : figures) {
    if (name.find("limit_") == std::string::npos) continue;
    EXPECT_EQ(value, raw.at(name)) << name;
  }
}

TEST(CounterSections, WhatWasNotCollectedIsLeftOut) {
  const Figures figures = FiguresOf(BasicCapture());
  for (const auto& [name, value] : figures) {
    EXPECT_EQ(name.find("counter_scheduler"), std::string::npos) << name;
    EXPECT_EQ(name.find("l1_hit_percent"), std::string::npos) << name;
  }
}

TEST(CounterSections, LimitsFollowFromTheFactsOfTheLaunch) {
  const Trace& t = FullCapture();
  for (const KernelCounters& kernel : KernelCountersOf(t)) {
    const auto limits = LimitsOf(kernel, &t.devices.at(0).properties);
    ASSERT_TRUE(limits) << kernel.name;
    EXPECT_DOUBLE_EQ(limits->percent, kernel.ValueOrZero("sm__maximum_warps_per_active_cycle_pct")) << kernel.name;
    EXPECT_NEAR(limits->waves, kernel.ValueOrZero("launch__waves_per_multiprocessor"), 0.005) << kernel.name;
  }
}

TEST(CounterSections, RooflineHasTheCeilingsOfTheChip) {
  std::map<std::string, std::map<std::string, RooflinePoint>> points;
  const Trace& t = FullCapture();
  for (const KernelCounters& kernel : KernelCountersOf(t)) {
    for (const RooflinePoint& point : RooflineOf(kernel)) points[KernelWord(kernel.name)].emplace(point.type, point);
  }
  EXPECT_NEAR(points["fma"].at("FP32").peak_per_second, 66.9e12, 0.1e12);
  EXPECT_NEAR(points["fma"].at("FP32").Percent(), 78.1, 0.1);
  EXPECT_NEAR(points["dfma"].at("FP64").Percent(), 97.5, 0.1);
  EXPECT_NEAR(points["wmma"].at("tensor hmma fp16 fp32").Percent(), 99.8, 0.1);
  EXPECT_NEAR(points["half"].at("FP16").Percent(), 49.9, 0.2);  // the counter's peak is twice what the pipe issues
  EXPECT_FALSE(points["saxpy"].contains("FP64"));
}

// A throughput is that of its busiest part, so that we know all parts of those of this chip.
TEST(CounterSections, ThroughputsAreTheirBusiestParts) {
  for (const KernelCounters& kernel : KernelCountersOf(FullCapture())) {
    std::map<std::string_view, double> most;
    for (const ThroughputPart& part : PartsOf(kernel)) {
      most[part.throughput] = std::max(most[part.throughput], part.percent);
    }
    EXPECT_DOUBLE_EQ(most["compute"], kernel.ValueOrZero("sm__throughput.avg.pct_of_peak_sustained_elapsed"))
        << kernel.name;
    EXPECT_DOUBLE_EQ(most["memory"],
                     kernel.ValueOrZero("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"))
        << kernel.name;
  }
}

// saxpy reads two arrays of 67,108,864 floats and writes one.
TEST(CounterSections, TrafficOfSaxpyIsThatOfItsArrays) {
  constexpr double kArray = 67'108'864 * 4.0;
  for (const KernelCounters& kernel : KernelCountersOf(FullCapture())) {
    if (KernelWord(kernel.name) != "saxpy") continue;
    std::map<std::string, double> bytes;
    for (const Traffic& t : TrafficOf(kernel)) bytes[std::string(t.from) + ">" + std::string(t.to)] += t.bytes;
    EXPECT_DOUBLE_EQ(bytes["L1>SM"], 2 * kArray);
    EXPECT_DOUBLE_EQ(bytes["L2>L1"], 2 * kArray);
    EXPECT_DOUBLE_EQ(bytes["L1>L2"], kArray);
    EXPECT_NEAR(bytes["DRAM>L2"], 2 * kArray, 1e5);
    EXPECT_FALSE(bytes.contains("system memory>L2"));
  }
}

using Accesses = std::map<std::string, std::map<std::string, CacheAccess>>;  // by kernel and operation

Accesses AccessesOfAll(std::vector<CacheAccess> (*accesses_of)(const KernelCounters&)) {
  Accesses all;
  for (const KernelCounters& kernel : KernelCountersOf(FullCapture())) {
    for (const CacheAccess& access : accesses_of(kernel))
      all[KernelWord(kernel.name)].emplace(std::string(access.operation), access);
  }
  return all;
}

std::set<std::string> OperationsOf(const Accesses& all, const std::string& kernel) {
  std::set<std::string> operations;
  for (const auto& [operation, access] : all.at(kernel)) operations.insert(operation);
  return operations;
}

TEST(CounterSections, L1HasTheOperationsOfAKernel) {
  const Accesses all = AccessesOfAll(L1AccessesOf);
  EXPECT_THAT(OperationsOf(all, "saxpy"), testing::ElementsAre("global loads", "global stores"));
  const CacheAccess loads = all.at("saxpy").at("global loads");
  EXPECT_EQ(loads.requests, 4'194'304);
  EXPECT_EQ(loads.SectorsPerRequest(), 4);  // 32 floats of 4 bytes
  EXPECT_EQ(loads.Bytes(), 2 * 67'108'864 * 4.0);
  EXPECT_EQ(loads.hit_percent, 0);
  EXPECT_FALSE(loads.wavefronts);
  EXPECT_EQ(all.at("uncoal").at("global loads").SectorsPerRequest(), 32);
  EXPECT_THAT(OperationsOf(all, "atomic"), testing::ElementsAre("global reductions"));
  EXPECT_NEAR(*all.at("spill").at("local loads").hit_percent, 96.443, 0.001);
  const CacheAccess shared = all.at("bank").at("shared loads");
  EXPECT_EQ(shared.requests, 33'792'000);
  EXPECT_EQ(shared.bank_conflicts, 1'047'553'241);
  EXPECT_FALSE(shared.sectors || shared.Bytes() || shared.hit_percent || shared.SectorsPerRequest());
}

TEST(CounterSections, L2HasWhoAskedForWhat) {
  const Accesses all = AccessesOfAll(L2AccessesOf);
  EXPECT_THAT(OperationsOf(all, "saxpy"),
              testing::ElementsAre("L1 reads", "L1 writes", "all", "instructions, constants", "other L2 partition"));
  EXPECT_EQ(all.at("saxpy").at("L1 reads").sectors, 16'777'216);
  EXPECT_EQ(all.at("saxpy").at("L1 reads").hit_percent, 0);
  EXPECT_NEAR(*all.at("atomic").at("L1 reductions").hit_percent, 100 * 524'280 / 524'288.0, 1e-9);
  for (const KernelCounters& kernel : KernelCountersOf(FullCapture())) {
    EXPECT_NEAR(*all.at(KernelWord(kernel.name)).at("all").hit_percent,
                kernel.ValueOrZero("lts__t_sector_hit_rate.pct"), 1e-4);
  }
}

// In the set basic nobody looked at them.
TEST(CounterSections, OperationsThatWereNotMeasuredAreLeftOut) {
  for (const KernelCounters& kernel : KernelCountersOf(BasicCapture()))
    EXPECT_TRUE(L1AccessesOf(kernel).empty() && L2AccessesOf(kernel).empty()) << kernel.name;
}

TEST(CounterSections, WhatIfsAreTheLeastAndTheBestChange) {
  const Trace& t = FullCapture();
  std::map<std::string, std::vector<WhatIf>> all;
  for (const KernelCounters& kernel : KernelCountersOf(t)) {
    all[KernelWord(kernel.name)] = WhatIfsOf(kernel, &t.devices.at(0).properties);
  }
  EXPECT_TRUE(all["saxpy"].empty());
  // 48 registers of 256 threads: 5 blocks of 8 warps fit, 6 with 40 registers, and 8 with 32.
  ASSERT_GE(all["wmma"].size(), 2u);
  EXPECT_EQ(all["wmma"][0].resource, "registers");
  EXPECT_EQ(all["wmma"][0].then, 40);
  EXPECT_EQ(all["wmma"][0].blocks_per_sm, 6);
  EXPECT_EQ(all["wmma"][0].percent, 75);
  EXPECT_EQ(all["wmma"][1].then, 32);
  EXPECT_EQ(all["wmma"][1].percent, 100);
  // Of 228 KiB, a block takes 160 KiB and 1 KiB of the driver.
  const auto shared = std::find_if(all["lowocc"].begin(), all["lowocc"].end(),
                                   [](const WhatIf& w) { return w.resource == "shared memory"; });
  ASSERT_NE(shared, all["lowocc"].end());
  EXPECT_EQ(shared->then, 113 * 1024);
  EXPECT_EQ(shared->blocks_per_sm, 2);
}

TEST(CounterSections, EveryMetricOfTheCatalogueIsMade) {
  std::set<std::string> made;
  for (const Metric& metric : RunCounters(FullCapture(), {}).metrics) {
    EXPECT_TRUE(metric.scope.starts_with("kernel:")) << metric.id;
    made.insert(std::string(metric.id));
  }
  for (const MetricInfo& info : MetricCatalogue()) {
    if (!info.id.starts_with("kernel.")) continue;
    EXPECT_TRUE(made.contains(std::string(info.id))) << info.id;
  }
}

// The stalls of a warp add up to its time.
TEST(CounterSections, StallsAddUp) {
  const Trace& t = FullCapture();
  for (const KernelCounters& kernel : KernelCountersOf(t)) {
    double percent = 0;
    for (const Stall& stall : StallsOf(kernel)) percent += stall.percent;
    if (KernelWord(kernel.name) == "one") continue;  // 10 instructions are too few
    EXPECT_NEAR(percent, 100, 3) << kernel.name;
  }
}

TEST(CounterSections, SetsNameSectionsThatThereAre) {
  std::set<std::string_view> ids;
  for (const CounterSection& section : CounterSections()) {
    EXPECT_TRUE(ids.insert(section.id).second);
    EXPECT_EQ(FindCounterSection(section.id), &section);
    EXPECT_EQ(FindCounterSection(section.ncu_name)->ncu_name, section.ncu_name);
  }
  for (const CounterSet& set : CounterSets()) {
    for (const std::string_view section : set.sections) EXPECT_TRUE(ids.contains(section)) << section;
  }
  EXPECT_EQ(FindCounterSection("speed_of_light"), FindCounterSection("SpeedOfLight"));
  EXPECT_EQ(FindCounterSection("MemoryWorkloadAnalysis_Chart"), FindCounterSection("memory"));
  EXPECT_EQ(FindCounterSection("SpeedOfLight_HierarchicalTensorRooflineChart"), FindCounterSection("roofline"));
  EXPECT_EQ(FindCounterSection("MemoryWorkloadAnalysis_Tables"), FindCounterSection("caches"));
  EXPECT_EQ(FindCounterSection("nonsense"), nullptr);
}

}  // namespace
}  // namespace gprof
