// The raw page of ncu as a trace.
#include "import/ncu/ncu_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>

#include "captured.h"
#include "gprof/error.h"
#include "import/ncu/counter_units.h"
#include "import/ncu/csv_rows.h"
#include "import/read_trace.h"

namespace gprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::map<std::string, double> ValuesOf(const Trace& t, uint32_t range) {
  std::map<std::string, double> values;
  for (const CounterValue& value : t.CountersOf(range)) {
    if (value.text == NameId{}) values[std::string(t.Text(value.metric))] = NumberOf(value);
  }
  return values;
}

constexpr char kHeader[] =
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\","
    "\"Grid Size\",\"Device\",\"CC\",\"gpu__time_duration.sum\",\"launch__func_cache_config\"\n";
constexpr char kUnits[] = "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"us\",\"\"\n";
constexpr char kRow[] =
    "\"0\",\"12\",\"app\",\"box\",\"f(int, \"\"x\"\")\",\"1\",\"7\",\"(32, 2, 1)\",\"(5, 1, 1)\",\"0\",\"9.0\","
    "\"1,234.500000\",\"CachePreferNone\"\n";

TEST(CsvRows, QuotesCommasAndLinesWithinFields) {
  CsvRows rows("a,\"b,\"\"c\"\"\nd\",\r\n\n\"open");
  ASSERT_TRUE(rows.Next());
  EXPECT_THAT(rows.fields(), ElementsAre("a", "b,\"c\"\nd", ""));
  ASSERT_TRUE(rows.Next());
  EXPECT_THAT(rows.fields(), ElementsAre(""));
  ASSERT_TRUE(rows.Next());
  EXPECT_THAT(rows.fields(), ElementsAre("open"));
  EXPECT_FALSE(rows.Next());
}

TEST(CounterUnits, AreThoseOfATrace) {
  const std::tuple<const char*, const char*, int> kCases[] = {{"ms", "ns", 6},
                                                              {"usecond", "ns", 3},
                                                              {"ns", "ns", 0},
                                                              {"second", "ns", 9},
                                                              {"Gbyte/s", "byte/s", 9},
                                                              {"Tbyte/second", "byte/s", 12},
                                                              {"Ghz", "hz", 9},
                                                              {"cycle/nsecond", "hz", 9},
                                                              {"sector/ns", "sector/s", 9},
                                                              {"sector/us", "sector/s", 6},
                                                              {"%", "%", 0},
                                                              {"Kbyte/block", "byte/block", 3},
                                                              {"inst/cycle", "inst/cycle", 0},
                                                              {"%/Kbyte", "%/Kbyte", 0},
                                                              {"byte", "byte", 0},
                                                              {"warp", "warp", 0}};
  for (const auto& [unit, base, exponent] : kCases) {
    EXPECT_EQ(BaseUnitOf(unit).unit, base) << unit;
    EXPECT_EQ(BaseUnitOf(unit).exponent, exponent) << unit;
  }
}

TEST(CounterUnits, NumbersAreExact) {
  const auto read = [](std::string_view text) {
    const auto number = ReadCounterNumber(text);
    return number ? std::to_string(number->value) + "e" + std::to_string(number->scale) : "none";
  };
  EXPECT_EQ(read("1,234.500000"), "12345e-1");
  EXPECT_EQ(read("2,147,483,647"), "2147483647e0");
  EXPECT_EQ(read("0.000000"), "0e0");
  EXPECT_EQ(read("100"), "100e0");
  EXPECT_EQ(read("3,520,680,470,061.56"), "352068047006156e-2");
  EXPECT_EQ(read("1.25e-3"), "125e-5");
  for (const char* const none : {"nan", "", "no data", "inf", "1.5.2"}) EXPECT_EQ(read(none), "none") << none;
}

TEST(NcuCsv, ARowIsARangeWithItsValues) {
  const Trace t = ReadNcuCsv(std::string(kHeader) + kUnits + kRow, "x.csv");
  ASSERT_EQ(t.counter_ranges.size(), 1u);
  const CounterRange& range = t.counter_ranges[0];
  EXPECT_EQ(t.Text(range.name), "f(int, \"x\")");
  EXPECT_EQ(range.context, 1u);
  EXPECT_EQ(range.stream, 7u);
  EXPECT_EQ(range.device, 0u);
  EXPECT_EQ(t.devices.at(0).properties.compute_major, 9u);
  EXPECT_EQ(t.Text(t.processes.at(range.process).name), "app");
  EXPECT_EQ(t.processes[range.process].pid, 12u);
  const auto values = ValuesOf(t, 0);
  EXPECT_DOUBLE_EQ(values.at("gpu__time_duration.sum"), 1'234'500);
  EXPECT_DOUBLE_EQ(values.at("launch__block_dim_x"), 32);
  EXPECT_DOUBLE_EQ(values.at("launch__block_dim_y"), 2);
  EXPECT_DOUBLE_EQ(values.at("launch__grid_dim_x"), 5);
  EXPECT_EQ(t.recorder, "Nsight Compute");
  EXPECT_TRUE(t.Lacks(Fact::kOperations));
  EXPECT_FALSE(t.Lacks(Fact::kCounters));
  EXPECT_TRUE(t.health.IsComplete());
}

TEST(NcuCsv, OutputOfTheProgramMayStandAroundTheRows) {
  const Trace t = ReadNcuCsv(
      std::string("==PROF== Connected to process 12\nhello, world\n") + kHeader + kUnits + kRow + "done, 3\n" + kRow,
      "x.csv");
  EXPECT_EQ(t.counter_ranges.size(), 2u);
  EXPECT_EQ(t.health.lost_records, 0u);
}

TEST(NcuCsv, RowsThatAreCutAreCounted) {
  const Trace t = ReadNcuCsv(std::string(kHeader) + kUnits + kRow + "\"1\",\"12\",\"app\"\n", "x.csv");
  EXPECT_EQ(t.counter_ranges.size(), 1u);
  EXPECT_EQ(t.health.lost_records, 1u);
}

TEST(NcuCsv, DetailsPageHasARowForEachMetric) {
  const std::string lead = "\"0\",\"12\",\"app\",\"box\",\"f\",\"1\",\"7\",\"(32, 2, 1)\",\"(5, 1, 1)\",\"0\",\"9.0\",";
  const std::string details =
      "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\","
      "\"Grid Size\",\"Device\",\"CC\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n" +
      lead + "\"GPU Speed Of Light Throughput\",\"Duration\",\"us\",\"1,234.50\"\n" + lead +
      "\"Launch Statistics\",\"Registers Per Thread\",\"register/thread\",\"40\"\n" + lead +
      "\"Launch Statistics\",\"Moon Phase\",\"\",\"3\"\n" + lead + "\"SpeedOfLight\",\"\",\"\",\"\"\n";
  const Trace t = ReadNcuCsv(details, "d.csv");
  ASSERT_EQ(t.counter_ranges.size(), 1u);
  EXPECT_EQ(ValuesOf(t, 0), (std::map<std::string, double>{{"gpu__time_duration.sum", 1'234'500},
                                                           {"launch__registers_per_thread", 40},
                                                           {"launch__block_dim_x", 32},
                                                           {"launch__block_dim_y", 2},
                                                           {"launch__block_dim_z", 1},
                                                           {"launch__grid_dim_x", 5},
                                                           {"launch__grid_dim_y", 1},
                                                           {"launch__grid_dim_z", 1}}));
  ASSERT_EQ(t.notices.size(), 1u);
  EXPECT_THAT(std::string(t.Text(t.notices[0].message)), HasSubstr("1 label of it is not read"));
}

// Columns of rules follow those of metrics, and ncu may leave them out of a row that is none of a rule.
TEST(NcuCsv, RowsOfMetricsMayEndBeforeTheColumnsOfRules) {
  const std::string head =
      "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\","
      "\"Grid Size\",\"Device\",\"CC\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\",\"Rule Name\","
      "\"Rule Type\",\"Rule Description\"\n";
  const std::string lead = "\"0\",\"12\",\"app\",\"box\",\"f\",\"1\",\"7\",\"(32, 2, 1)\",\"(5, 1, 1)\",\"0\",\"9.0\",";
  const Trace t =
      ReadNcuCsv(head + lead + "\"Launch Statistics\",\"Registers Per Thread\",\"register/thread\",\"40\"\n" + lead +
                     "\"Launch Statistics\",\"Moon\"\n",
                 "d.csv");
  ASSERT_EQ(t.counter_ranges.size(), 1u);
  EXPECT_EQ(ValuesOf(t, 0).at("launch__registers_per_thread"), 40);
  EXPECT_EQ(t.health.lost_records, 1u);  // the one without a value
}

// As ncu --csv --metrics LIST prints them, without --page raw.
TEST(NcuCsv, MetricsOfTheCommandLineHaveTheirNames) {
  const std::string lead = "\"0\",\"12\",\"app\",\"box\",\"f\",\"1\",\"7\",\"(32, 1, 1)\",\"(5, 1, 1)\",\"0\",\"9.0\",";
  const std::string section = "\"Command line profiler metrics\",";
  const std::string details =
      "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\","
      "\"Grid Size\",\"Device\",\"CC\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n" +
      lead + section + "\"dram__bytes_read.sum\",\"Mbyte\",\"8.39\"\n" + lead + section +
      "\"smsp__inst_executed.sum\",\"inst\",\"131,072\"\n";
  const Trace t = ReadNcuCsv(details, "d.csv");
  ASSERT_EQ(t.counter_ranges.size(), 1u);
  EXPECT_EQ(ValuesOf(t, 0).at("dram__bytes_read.sum"), 8'390'000);
  EXPECT_EQ(ValuesOf(t, 0).at("smsp__inst_executed.sum"), 131'072);
  EXPECT_TRUE(t.notices.empty());
}

TEST(NcuCsv, WhatCannotBeReadIsRefusedWithTheCommandThatConverts) {
  const auto refusal = [](auto&& read) {
    try {
      read();
    } catch (const Error& e) {
      return std::string(e.what()) + " | " + e.hint();
    }
    return std::string("nothing");
  };
  const std::string cut = "ID,Kernel Name,Block Size,Metric Name,Metric Unit\n0,f,1,Duration,ns\n";
  EXPECT_THAT(refusal([&] { ReadNcuCsv(cut, "d.csv"); }), HasSubstr("lacks columns"));
  EXPECT_THAT(refusal([] { RefuseNcuReport("a/run.ncu-rep"); }),
              HasSubstr("ncu --csv --page raw --print-units base --import 'a/run.ncu-rep' > 'a/run.csv'"));
  EXPECT_THAT(refusal([] { ReadNcuCsv(std::string(kHeader) + kUnits, "x.csv"); }), HasSubstr("no kernels"));
}

TEST(NcuCsv, EveryNumberOfACaptureIsThere) {
  const Trace& t = FullCapture();
  ASSERT_EQ(t.counter_ranges.size(), 13u);
  const std::string text_of_all = Captured("ncu_full.raw.csv.gz");
  CsvRows rows(text_of_all);
  ASSERT_TRUE(rows.Next());
  const std::vector<std::string> names = rows.fields();
  ASSERT_TRUE(rows.Next());
  const std::vector<std::string> units = rows.fields();
  std::size_t compared = 0;
  for (uint32_t range = 0; rows.Next(); ++range) {
    const auto values = ValuesOf(t, range);
    for (std::size_t i = 11; i < names.size(); ++i) {
      std::string text = rows.fields()[i];
      std::erase(text, ',');
      char* end = nullptr;
      const double number = std::strtod(text.c_str(), &end);
      if (text.empty() || *end != '\0' || text == "nan") continue;
      ASSERT_TRUE(values.contains(names[i])) << names[i];
      const double factor = std::pow(10.0, BaseUnitOf(units[i]).exponent);
      EXPECT_NEAR(values.at(names[i]), number * factor, 1e-9 * std::abs(number * factor)) << names[i];
      ++compared;
    }
  }
  EXPECT_GT(compared, 25'000u);
  EXPECT_EQ(t.Text(t.devices.at(0).name), "NVIDIA H200");
  EXPECT_EQ(t.devices[0].properties.sm_count, 132u);
  EXPECT_EQ(t.counter_ranges[0].passes, 38u);
}

}  // namespace
}  // namespace gprof
