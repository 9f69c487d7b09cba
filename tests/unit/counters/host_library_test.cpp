// Which metrics chips have and how many passes sets take, asked of the libcupti of this machine. It needs no GPU. Where
// there is none, or one of a version whose figures nobody wrote down, tests are skipped.
#include "counters/host_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "analysis/facts/counters/counter_sections.h"
#include "counters/counter_plan.h"
#include "counters/host_api.h"
#include "counters/metric_names.h"
#include "counters/throughput_parts.h"
#include "gprof/error.h"

#if __has_include(<cupti_profiler_host.h>)
#include <cupti_profiler_host.h>
#endif

namespace gprof::counters {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

#if __has_include(<cupti_profiler_host.h>)
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
#define SAME_SIZE(ours, theirs) static_assert(SizeOf<ours>() == theirs##_STRUCT_SIZE)
#define SAME_PLACE(ours, our_field, theirs, their_field) \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field))
SAME_SIZE(ChipsParams, CUpti_Profiler_Host_GetSupportedChips_Params);
SAME_PLACE(ChipsParams, names, CUpti_Profiler_Host_GetSupportedChips_Params, ppChipNames);
SAME_SIZE(BaseMetricsParams, CUpti_Profiler_Host_GetBaseMetrics_Params);
SAME_PLACE(BaseMetricsParams, names, CUpti_Profiler_Host_GetBaseMetrics_Params, ppMetricNames);
SAME_SIZE(SubMetricsParams, CUpti_Profiler_Host_GetSubMetrics_Params);
SAME_PLACE(SubMetricsParams, names, CUpti_Profiler_Host_GetSubMetrics_Params, ppSubMetrics);
SAME_SIZE(PropertiesParams, CUpti_Profiler_Host_GetMetricProperties_Params);
SAME_PLACE(PropertiesParams, description, CUpti_Profiler_Host_GetMetricProperties_Params, pDescription);
SAME_PLACE(PropertiesParams, unit, CUpti_Profiler_Host_GetMetricProperties_Params, pDimUnit);
#endif

// GPROF_TEST_CUPTI names another one than that of the toolkit.
const HostLibrary* Library() {
  static const std::optional<HostLibrary> kLibrary = []() -> std::optional<HostLibrary> {
    const char* const chosen = std::getenv("GPROF_TEST_CUPTI");
    try {
      return HostLibrary(chosen == nullptr ? "" : chosen);
    } catch (const Error&) {
      return {};
    }
  }();
  return kLibrary ? &*kLibrary : nullptr;
}

#define NEEDS_LIBRARY() \
  if (Library() == nullptr) GTEST_SKIP() << "no libcupti of CUDA 12.8 or later"

// Of this version: the passes of each set, by chip.
std::map<std::string, std::vector<std::string>> GoldenPasses(const std::string& version) {
  std::ifstream file(std::string(GPROF_TEST_DATA) + "/passes.tsv");
  std::map<std::string, std::vector<std::string>> passes;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string of_version, chip;
    std::getline(words, of_version, '\t');
    std::getline(words, chip, '\t');
    if (of_version != version) continue;
    for (std::string word; std::getline(words, word, '\t');) passes[chip].push_back(word);
  }
  return passes;
}

std::string PassesOf(const std::string& chip, std::string_view set) {
  try {
    Wanted wanted;
    wanted.sets.emplace_back(set);
    return std::to_string(PlanOf(Library()->Find(chip), wanted).passes);
  } catch (const Error&) {
    return "-";
  }
}

// One of each generation takes a fifth of the time that all chips take; GPROF_TEST_ALL_CHIPS=1 looks at all.
bool IsLookedAt(const std::string& chip) {
  static const std::set<std::string> kOneOfEachGeneration = {"GV100", "TU102", "GA100", "AD102", "GH100", "GB202"};
  return std::getenv("GPROF_TEST_ALL_CHIPS") != nullptr || kOneOfEachGeneration.contains(chip);
}

TEST(HostLibrary, PassesOfSetsAreThoseWrittenDownForItsVersion) {
  NEEDS_LIBRARY();
  const auto golden = GoldenPasses(Library()->Version());
  if (golden.empty()) GTEST_SKIP() << "no figures of " << Library()->Version();
  const std::vector<std::string> chips = Library()->Chips();
  EXPECT_EQ(chips.size(), golden.size());
  for (const auto& [chip, passes] : golden) {
    if (!IsLookedAt(chip)) continue;
    std::vector<std::string> ours;
    for (const CounterSet& set : CounterSets()) ours.push_back(PassesOf(chip, set.name));
    EXPECT_EQ(ours, passes) << chip;
  }
}

TEST(HostLibrary, EveryMetricOfTheSectionsIsOneOfSomeChip) {
  NEEDS_LIBRARY();
  std::set<std::string> open;
  for (const CounterSection& section : CounterSections()) {
    for (const auto names : MetricsOf(section)) open.insert(names.begin(), names.end());
  }
  for (const char* const name : {"GH100", "GB202", "AD102", "GB100", "GA100"}) {
    const std::vector<std::string> left(open.begin(), open.end());
    for (const std::string& metric : Library()->Find(name).KnownOf(left)) open.erase(metric);
  }
  EXPECT_THAT(open, ElementsAre());
}

// One unknown name does not take the others with it.
TEST(HostLibrary, KnownMetricsAreFoundAmongUnknownOnes) {
  NEEDS_LIBRARY();
  const std::vector<std::string> names = {"dram__bytes.sum", "no__such.sum", "gpu__time_duration.sum",
                                          "smsp__inst_executed.sum", "nor__this"};
  EXPECT_THAT(Library()->Find("gh100").KnownOf(names),
              ElementsAre("dram__bytes.sum", "gpu__time_duration.sum", "smsp__inst_executed.sum"));
}

TEST(HostLibrary, WordsNameMetrics) {
  NEEDS_LIBRARY();
  const Chip chip = Library()->Find("GH100");
  const auto names = [&](const std::string& word) {
    std::vector<std::string> all;
    for (const auto& candidates : MetricsOfWord(chip, word)) all.push_back(candidates.front());
    return all;
  };
  EXPECT_THAT(names("dram__bytes.sum"), ElementsAre("dram__bytes.sum"));
  EXPECT_THAT(names("dram__bytes"),
              ElementsAre("dram__bytes.sum", "dram__bytes.avg", "dram__bytes.min", "dram__bytes.max"));
  EXPECT_THAT(names("regex:^l1tex__t_sector_hit_rate$"), Contains("l1tex__t_sector_hit_rate.pct"));
  EXPECT_THAT(names("group:scheduler"), Contains("smsp__warps_eligible.avg.per_cycle_active"));
  EXPECT_THROW(names("group:nonsense"), Error);
  EXPECT_THROW(names("regex:["), Error);
  Wanted wanted;
  wanted.metrics = {"dram__bytes.sum", "no__such.sum", "dram__bytes.sum"};
  const Plan plan = PlanOf(chip, wanted);
  EXPECT_THAT(plan.metrics, ElementsAre("dram__bytes.sum"));
  EXPECT_THAT(plan.unavailable, ElementsAre("no__such.sum"));
  EXPECT_EQ(plan.passes, 1u);
}

// The numbers of parts are those that were written down of libcupti 13.0.
TEST(HostLibrary, ThroughputsHaveParts) {
  NEEDS_LIBRARY();
  const Chip chip = Library()->Find("GH100");
  if (ThroughputParts("GH100", "sm__throughput").empty()) GTEST_SKIP() << "this libnvperf_host breaks nothing down";
  const Metrics compute = MetricsOfWord(chip, "breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed");
  EXPECT_EQ(compute.front().front(), "sm__throughput.avg.pct_of_peak_sustained_elapsed");
  EXPECT_THAT(compute, Contains(ElementsAre("sm__issue_active.avg.pct_of_peak_sustained_elapsed")));
  if (Library()->Version() == "libcupti 13.0") {
    EXPECT_EQ(compute.size(), 24u);
    EXPECT_EQ(MetricsOfWord(chip, "breakdown:gpu__compute_memory_throughput").size(), 25u);
  }
  std::vector<std::string> names;
  for (const auto& metric : compute) names.push_back(metric.front());
  EXPECT_EQ(chip.KnownOf(names), names);
  EXPECT_THROW(MetricsOfWord(chip, "breakdown:dram__bytes"), Error);
}

TEST(HostLibrary, MetricsHaveUnitsAndDescriptions) {
  NEEDS_LIBRARY();
  const Chip chip = Library()->Find("GH100");
  EXPECT_THAT(chip.BaseMetrics(MetricType::kCounter), Contains("dram__bytes"));
  EXPECT_THAT(chip.BaseMetrics(MetricType::kThroughput), Contains("sm__throughput"));
  EXPECT_EQ(chip.PropertiesOf("dram__bytes").unit, "byte");
  EXPECT_THAT(chip.PropertiesOf("dram__bytes").description, HasSubstr("DRAM"));
  EXPECT_THAT(chip.PropertiesOf("l1tex__t_sector_hit_rate").description, HasSubstr("sector"));
  EXPECT_EQ(chip.PropertiesOf("sm__throughput").unit, "percent");
}

// What is said of names is what happens where they are tried, so that trying is left out.
TEST(HostLibrary, ItIsSaidWhichMetricsChipsHave) {
  NEEDS_LIBRARY();
  std::set<std::string> metrics = {"dram__bytes", "dram__bytes.nonsense", "no__such.sum", "sm__throughput.sum"};
  for (const CounterSection& section : CounterSections()) {
    for (const auto names : MetricsOf(section)) metrics.insert(names.begin(), names.end());
  }
  for (const char* const name : {"GH100", "GB202", "GA100"}) {
    const Chip chip = Library()->Find(name);
    const std::vector<std::string> all(metrics.begin(), metrics.end());
    std::vector<std::string> said;
    std::copy_if(all.begin(), all.end(), std::back_inserter(said), [&](const auto& m) { return chip.MayHave(m); });
    std::erase(said, "dram__bytes");  // a base is described, and cannot be collected
    EXPECT_TRUE(chip.CostOf(said)) << name;
    for (const std::string& metric : all) {
      const bool is_there = chip.MayHave(metric);
      EXPECT_TRUE(is_there || !chip.CostOf({metric})) << name << ": " << metric;
    }
  }
}

TEST(HostLibrary, SlipsHaveANearMetric) {
  NEEDS_LIBRARY();
  Wanted wanted;
  const std::string base = "sm__troughput.avg.pct_of_peak_sustained_elapsed", rollup = "dram__bytes.smu",
                    other = "nothing_like_it.sum";
  wanted.metrics = {base, rollup, other};
  const Plan plan = PlanOf(Library()->Find("GH100"), wanted);
  EXPECT_EQ(plan.meant.at(base), "sm__throughput.avg.pct_of_peak_sustained_elapsed");
  EXPECT_EQ(plan.meant.at(rollup), "dram__bytes.sum");
  EXPECT_EQ(plan.meant.at(other), "");
}

TEST(HostLibrary, WhatIsNotThereIsRefusedWithAWayOut) {
  try {
    const HostLibrary library("/nowhere/libcupti.so");
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("'/nowhere/libcupti.so'"));
    EXPECT_THAT(e.hint(), HasSubstr("--cupti FILE"));
  }
  NEEDS_LIBRARY();
  try {
    Library()->Find("GX999");
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("does not support chip 'GX999'"));
    EXPECT_THAT(e.hint(), HasSubstr("GH100"));
  }
}

}  // namespace
}  // namespace gprof::counters
