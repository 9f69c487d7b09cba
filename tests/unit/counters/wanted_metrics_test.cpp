// What is asked for before the chip is known.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "counters/counter_plan.h"
#include "counters/metric_names.h"
#include "gprof/error.h"

namespace gprof::counters {
namespace {

using Names = std::vector<std::string>;

TEST(WantedMetrics, OfASetAreListsOfNames) {
  Wanted wanted;
  wanted.sets = {"light"};
  const auto light = MetricsOf(wanted);
  EXPECT_EQ(light.size(), 18u);
  EXPECT_EQ(light.front(), Names{"gpu__time_duration.sum"});
}

TEST(WantedMetrics, OfASectionHaveTheNamesOfOtherChips) {
  Wanted wanted;
  wanted.sections = {"ComputeWorkloadAnalysis"};
  const auto metrics = MetricsOf(wanted);
  const auto has_others = [](const Names& names) {
    return names.front() == "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed" && names.size() >= 3;
  };
  EXPECT_TRUE(std::any_of(metrics.begin(), metrics.end(), has_others));
}

// ncu has in one section what are two of ours, as sets need not have both.
TEST(WantedMetrics, OfASectionOfNcuAreThoseOfBoth) {
  const auto has = [](const std::string& section, const std::string& name) {
    const auto metrics = MetricsOfSection(section);
    return std::find(metrics.begin(), metrics.end(), Names{name}) != metrics.end();
  };
  const std::string cache = "lts__t_sectors_srcunit_tex_op_read.sum",
                    access = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio";
  EXPECT_TRUE(has("MemoryWorkloadAnalysis_Tables", cache) && has("MemoryWorkloadAnalysis_Tables", access));
  EXPECT_TRUE(has("access", access));
  EXPECT_FALSE(has("access", cache));
}

TEST(WantedMetrics, OfABaseNameAreItsRollups) {
  Wanted wanted;
  wanted.metrics = {"lts__t_bytes", "dram__bytes.sum"};
  const auto metrics = MetricsOf(wanted);
  const auto has = [&](const std::string& name) {
    return std::find(metrics.begin(), metrics.end(), Names{name}) != metrics.end();
  };
  EXPECT_TRUE(has("lts__t_bytes.sum"));
  EXPECT_TRUE(has("lts__t_bytes.pct"));
  EXPECT_TRUE(has("dram__bytes.sum"));
  EXPECT_FALSE(has("dram__bytes.sum.sum"));
}

TEST(WantedMetrics, OfAnExpressionNeedAChip) {
  Wanted wanted;
  for (const char* const word : {"regex:^dram", "breakdown:sm__throughput"}) {
    wanted.metrics = {word};
    EXPECT_TRUE(NeedsChip(word));
    EXPECT_THROW(MetricsOf(wanted), Error);
  }
  EXPECT_FALSE(NeedsChip("group:scheduler"));
  wanted.metrics = {};
  wanted.sets = {"nonsense"};
  EXPECT_THROW(MetricsOf(wanted), Error);
}

}  // namespace
}  // namespace gprof::counters
