// What limits each of the 13 kernels, which show one behaviour each.
#include "analysis/causes/counters/counter_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "captured.h"
#include "import/ncu/ncu_csv.h"

namespace gprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::map<std::string, std::vector<Diagnosis>> DiagnosesByKernel(const Trace& t) {
  std::map<std::string, std::vector<Diagnosis>> all;
  static std::vector<std::vector<KernelCounters>> kept;
  kept.push_back(KernelCountersOf(t));
  for (const KernelCounters& kernel : kept.back()) {
    all[KernelWord(kernel.name)] = DiagnosesOf(kernel, &t.devices.at(0).properties);
  }
  return all;
}

TEST(CounterRules, TheFirstRuleOfEachKernelIsWhatItDoes) {
  const std::map<std::string, std::string> kExpected = {
      {"saxpy", "kernel.memory_bound"},   {"fma", "kernel.compute_bound"},    {"dfma", "kernel.fp64"},
      {"divergent", "kernel.divergence"}, {"lowocc", "kernel.low_occupancy"}, {"bank", "kernel.bank_conflicts"},
      {"uncoal", "kernel.uncoalesced"},   {"atomic", "kernel.atomics"},       {"wmma", "kernel.compute_bound"},
      {"half", "kernel.tensor_unused"},   {"spill", "kernel.local_memory"},   {"tail", "kernel.imbalance"},
      {"one", "kernel.small_grid"}};
  const auto all = DiagnosesByKernel(FullCapture());
  ASSERT_EQ(all.size(), kExpected.size());
  for (const auto& [kernel, finding] : kExpected) {
    ASSERT_FALSE(all.at(kernel).empty()) << kernel;
    EXPECT_EQ(all.at(kernel).front().finding, finding) << kernel << ": " << all.at(kernel).front().message;
    EXPECT_LE(all.at(kernel).size(), 3u);
  }
}

// Where ncu estimates the same thing, by its details page.
TEST(CounterRules, EstimatesAreThoseOfNcu) {
  const auto all = DiagnosesByKernel(FullCapture());
  EXPECT_NEAR(all.at("saxpy").front().percent, 28.5, 0.05);
  EXPECT_NEAR(all.at("dfma").front().percent, 48.73, 0.05);
  EXPECT_NEAR(all.at("divergent").front().percent, 86.53, 0.05);
  EXPECT_NEAR(all.at("lowocc").front().percent, 89.22, 0.05);
  EXPECT_NEAR(all.at("bank").front().percent, 96.86, 0.05);
  EXPECT_NEAR(all.at("one").front().percent, 99.24, 0.05);
}

TEST(CounterRules, MessagesHaveTheNumbers) {
  const auto all = DiagnosesByKernel(FullCapture());
  EXPECT_THAT(all.at("uncoal").front().message, HasSubstr("loads use 4.0 of the 32 bytes of a sector"));
  EXPECT_THAT(all.at("lowocc").front().message, HasSubstr("limited by shared memory (1 block of 64 threads per SM)"));
  EXPECT_THAT(all.at("one").front().message, HasSubstr("1 block on 132 SMs"));
  EXPECT_THAT(all.at("wmma").front().message, HasSubstr("busiest pipe tensor"));
  EXPECT_EQ(all.at("lowocc").front().evidence.front(),
            "With 115.71 kB of shared memory a block instead of 163.84 kB, 6.2% would fit");
}

// More warps do not help against atomic operations on one address, nor fewer bytes against bank conflicts.
TEST(CounterRules, ACauseOfMostOfTheTimeHasNoOtherVerdictBesideIt) {
  const auto all = DiagnosesByKernel(FullCapture());
  for (const char* const kernel : {"atomic", "bank", "divergent", "lowocc", "spill", "tail", "uncoal"}) {
    for (const Diagnosis& diagnosis : all.at(kernel)) EXPECT_TRUE(diagnosis.is_cause) << kernel << diagnosis.message;
  }
  EXPECT_EQ(all.at("dfma").at(1).finding, "kernel.compute_bound");
}

// Of a kernel with these counters and no others.
std::vector<Diagnosis> DiagnosesWith(const std::map<std::string, double>& counters) {
  std::string names = "ID,Kernel Name,Block Size,Grid Size", units = ",,,", row = "0,f,,";
  for (const auto& [name, value] : counters) {
    names += "," + name;
    units += ",";
    row += "," + std::to_string(value);
  }
  static std::vector<Trace> kept;
  kept.push_back(ReadNcuCsv(names + "\n" + units + "\n" + row + "\n", "made.csv"));
  return DiagnosesOf(KernelCountersOf(kept.back()).at(0), nullptr);
}

std::vector<std::string> FindingsOf(const std::map<std::string, double>& counters) {
  std::vector<std::string> findings;
  for (const Diagnosis& d : DiagnosesWith(counters)) findings.emplace_back(d.finding);
  return findings;
}

constexpr char kCompute[] = "sm__throughput.avg.pct_of_peak_sustained_elapsed",
               kMemory[] = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
               kFmaPipe[] = "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed",
               kTensorPipe[] = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
               kIssued[] = "sm__issue_active.avg.pct_of_peak_sustained_elapsed",
               kThreads[] = "smsp__thread_inst_executed_per_inst_executed.ratio";
std::string Rate(const std::string& op) {
  return "smsp__sass_thread_inst_executed_op_" + op + "_pred_on.sum.per_cycle_elapsed";
}

// What none of the 13 kernels shows.
TEST(CounterRules, OtherCausesAreFoundAndOnlyThese) {
  EXPECT_THAT(FindingsOf({{kCompute, 80}, {kMemory, 78}}), ElementsAre("kernel.balanced"));
  EXPECT_THAT(FindingsOf({{kCompute, 80}, {kMemory, 60}}), ElementsAre("kernel.compute_bound"));
  EXPECT_THAT(FindingsOf({{kCompute, 90}, {kMemory, 10}, {kIssued, 90}, {kFmaPipe, 30}, {kThreads, 32}}),
              ElementsAre("kernel.excess_instructions"));
  EXPECT_THAT(FindingsOf({{kCompute, 90}, {kMemory, 10}, {kIssued, 90}, {kFmaPipe, 85}, {kThreads, 32}}),
              ElementsAre("kernel.compute_bound"));
  EXPECT_THAT(FindingsOf({{kCompute, 90}, {kMemory, 10}, {kIssued, 90}, {kFmaPipe, 45}, {kThreads, 32}}),
              ElementsAre("kernel.excess_instructions", "kernel.compute_bound"));
  EXPECT_THAT(FindingsOf({{kCompute, 90}, {kMemory, 10}, {kFmaPipe, 15}, {Rate("fadd"), 50}}),
              ElementsAre("kernel.compute_bound"));
  EXPECT_THAT(
      FindingsOf(
          {{kCompute, 90}, {kMemory, 10}, {kFmaPipe, 90}, {Rate("fadd"), 50}, {Rate("fmul"), 50}, {Rate("ffma"), 20}}),
      ElementsAre("kernel.unfused", "kernel.compute_bound"));
  EXPECT_THAT(
      FindingsOf(
          {{kCompute, 90}, {kMemory, 10}, {kFmaPipe, 90}, {Rate("fadd"), 5}, {Rate("fmul"), 5}, {Rate("ffma"), 90}}),
      ElementsAre("kernel.compute_bound"));
  EXPECT_THAT(FindingsOf({{kCompute, 90}, {kMemory, 10}, {kFmaPipe, 90}, {kTensorPipe, 0}, {Rate("hfma"), 90}}),
              ElementsAre("kernel.tensor_unused", "kernel.compute_bound"));
  EXPECT_THAT(FindingsOf({{kCompute, 90}, {kMemory, 10}, {kFmaPipe, 90}, {kTensorPipe, 50}, {Rate("hfma"), 90}}),
              ElementsAre("kernel.compute_bound"));
  EXPECT_THAT(
      FindingsOf(
          {{kCompute, 90}, {kMemory, 10}, {kFmaPipe, 90}, {kTensorPipe, 0}, {Rate("fadd"), 50}, {Rate("hfma"), 1}}),
      ElementsAre("kernel.unfused", "kernel.compute_bound"));
  EXPECT_THAT(FindingsOf({{"launch__grid_size", 264}, {"launch__block_size", 256}, {kCompute, 80}, {kMemory, 5}}),
              ElementsAre("kernel.compute_bound"));
}

// 132 SMs hold 8 blocks each: the second wave is a quarter full.
TEST(CounterRules, ATailIsTheEmptyPartOfTheLastWave) {
  const std::map<std::string, double> counters = {{"launch__grid_size", 1056 + 264},
                                                  {"launch__block_size", 256},
                                                  {"launch__registers_per_thread", 32},
                                                  {"launch__sm_count", 132},
                                                  {"launch__occupancy_limit_blocks", 32},
                                                  {"launch__occupancy_limit_warps", 8},
                                                  {"launch__occupancy_limit_registers", 8},
                                                  {"launch__occupancy_limit_shared_mem", 32},
                                                  {"sm__maximum_warps_avg_per_active_cycle", 64},
                                                  {"sm__maximum_warps_per_active_cycle_pct", 100},
                                                  {kCompute, 30},
                                                  {kMemory, 30}};
  EXPECT_THAT(FindingsOf(counters), ElementsAre("kernel.tail", "kernel.latency_bound"));
}

// Either name of the bytes that are read counts. Of a kernel with little of the time in DRAM, L2 is not the matter.
TEST(CounterRules, L2ThrashesWhereMoreIsReadThanThereIs) {
  constexpr char kHeld[] = "device__memory_in_use", kRead[] = "dram__bytes_read.sum",
                 kDram[] = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
                 kL2[] = "lts__throughput.avg.pct_of_peak_sustained_elapsed";
  const std::map<std::string, double> bound = {{kCompute, 20}, {kMemory, 90}, {kDram, 90}, {kL2, 40}};
  const auto findings = [&](std::map<std::string, double> counters) {
    counters.insert(bound.begin(), bound.end());
    return FindingsOf(counters);
  };
  EXPECT_THAT(findings({{kHeld, 1e9}, {kRead, 8e9}}), ElementsAre("kernel.l2_thrash"));
  EXPECT_THAT(findings({{kHeld, 1e9}, {"dram__bytes_op_read.sum", 8e9}}), ElementsAre("kernel.l2_thrash"));
  EXPECT_THAT(findings({{kHeld, 1e9}, {kRead, 2.1e9}}), ElementsAre("kernel.l2_thrash", "kernel.memory_bound"));
  EXPECT_THAT(findings({{kHeld, 1e9}, {kRead, 1.9e9}}), ElementsAre("kernel.memory_bound"));
  EXPECT_THAT(findings({{kRead, 8e9}}), ElementsAre("kernel.memory_bound"));
  EXPECT_THAT(FindingsOf({{kHeld, 1e9}, {kRead, 8e9}, {kCompute, 90}, {kMemory, 5}, {kDram, 1}, {kL2, 5}}),
              ElementsAre("kernel.compute_bound"));
}

// 7/8 of what is read are too much, and 1/9 of the traffic is written. What L2 does itself stays.
TEST(CounterRules, WithoutThrashL2AndComputeRemain) {
  const std::map<std::string, double> counters = {{"device__memory_in_use", 1e9},
                                                  {"dram__bytes_read.sum", 8e9},
                                                  {"dram__bytes_write.sum", 1e9},
                                                  {"dram__throughput.avg.pct_of_peak_sustained_elapsed", 90}};
  EXPECT_NEAR(DiagnosesWith(counters).front().percent, 70, 0.01);
  auto busy = counters;
  busy["lts__throughput.avg.pct_of_peak_sustained_elapsed"] = 60;
  EXPECT_NEAR(DiagnosesWith(busy).front().percent, 40, 0.01);
  auto fetching = busy;
  fetching["lts__throughput.avg.pct_of_peak_sustained_elapsed"] = 96;
  fetching["lts__t_sectors.avg.pct_of_peak_sustained_elapsed"] = 45;
  EXPECT_NEAR(DiagnosesWith(fetching).front().percent, 55, 0.01);
  EXPECT_THAT(DiagnosesWith(busy).front().message,
              HasSubstr("read 8.00 GB from DRAM while the GPU held 1.00 GB: data was read 8.0 times"));
}

// The sets count instructions that reduce, captures of ncu have their requests as well.
TEST(CounterRules, AtomicsAreReductionsAndOthers) {
  constexpr char kSlice[] = "lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed";
  for (const char* const counter :
       {"smsp__inst_executed_op_global_red.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
        "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"}) {
    EXPECT_THAT(FindingsOf({{counter, 131072}, {kSlice, 99}, {kCompute, 1}, {kMemory, 1}}),
                ElementsAre("kernel.atomics"))
        << counter;
    EXPECT_THAT(FindingsOf({{counter, 1024}, {kSlice, 4}, {kCompute, 1}, {kMemory, 1}}),
                ElementsAre("kernel.latency_bound"))
        << counter;
  }
}

// The set `basic` has no stalls, no accesses: what rests on them is not claimed, and not taken for 0.
TEST(CounterRules, FewerMetricsGiveFewerRules) {
  const auto all = DiagnosesByKernel(BasicCapture());
  EXPECT_EQ(all.at("one").front().finding, "kernel.small_grid");
  EXPECT_EQ(all.at("lowocc").front().finding, "kernel.low_occupancy");
  EXPECT_EQ(all.at("uncoal").front().finding, "kernel.memory_bound");
  EXPECT_EQ(all.at("tail").front().finding, "kernel.imbalance");
  for (const auto& [kernel, diagnoses] : all) {
    for (const Diagnosis& diagnosis : diagnoses) {
      EXPECT_NE(diagnosis.finding, "kernel.divergence") << kernel;
      EXPECT_NE(diagnosis.finding, "kernel.excess_instructions") << kernel;
    }
  }
}

}  // namespace
}  // namespace gprof
