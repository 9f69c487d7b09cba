// What a partial keeps in place of records: it comes back as it was, and no text that stands for it breaks a reader.
#include "analysis/registry/results.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "fleet/partial/join_results.h"
#include "fleet/partial/join_tables.h"
#include "fleet/partial/keep_results.h"
#include "fleet/partial/partial_file.h"
#include "fleet/rank/rank_summary.h"
#include "fleet/summarize/summarize_ranks.h"
#include "gprof/error.h"
#include "report/nsys/nsys_reports.h"
#include "report/report.h"
#include "report/report_head.h"

namespace gprof {
namespace {

using Json = nlohmann::json;

constexpr const char* kTraces[] = {"../data/known_facts.trace", "../data/captures.trace", "../data/memory.trace"};

RankSummary SummaryOf(const char* path) { return SummarizeRanks(LoadTrace(path)).front(); }

std::string ReportOf(const Results& results) {
  std::vector<const Analysis*> all;
  for (const Analysis& analysis : AllAnalyses()) all.push_back(&analysis);
  const Report report = RunAnalyses(results, all, {});
  EXPECT_FALSE(HeadOf(report, 80).empty());
  for (const NsysReport& stats : NsysReports()) (void)TableOf(stats, results);
  return RenderReportJson(report);
}

// Every value of a document that is no list or object.
void CollectLeaves(Json* json, std::vector<Json*>* leaves) {
  if (!json->is_structured()) return leaves->push_back(json);
  for (Json& child : *json) CollectLeaves(&child, leaves);
}

Json Strange(std::mt19937* chance) {
  const Json values[] = {nullptr,   -1,         0,    1,     true, 4294967295u, 4294967294u,   INT64_MAX,
                         INT64_MIN, UINT64_MAX, -0.5, 1e300, "",   "gpu0#9",    Json::array(), Json::object()};
  return values[(*chance)() % std::size(values)];
}

TEST(Results, ComeBackAsTheyWere) {
  for (const char* const path : kTraces) {
    const RankSummary summary = SummaryOf(path);
    EXPECT_EQ(KeptText(ParseKept(summary.results, path)), summary.results) << path;
  }
}

TEST(Results, ArePartOfTheFile) {
  const RankSummary summary = SummaryOf(kTraces[0]);
  const std::string file = WritePartial({summary});
  size_t ranks = 0;
  ReadResults({{"file", file}}, [&](const RankSummary& read, const Results& results) {
    ++ranks;
    EXPECT_EQ(read.pid, summary.pid);
    EXPECT_EQ(KeptText(results), summary.results);
  });
  EXPECT_EQ(ranks, 1u);
}

TEST(Results, StrangeValuesAreRefusedOrReported) {
  std::mt19937 chance(27);
  size_t refused = 0, reported = 0;
  for (const char* const path : kTraces) {
    const RankSummary summary = SummaryOf(path);
    for (int round = 0; round < 24; ++round) {
      Json json = Json::parse(summary.results);
      std::vector<Json*> leaves;
      CollectLeaves(&json, &leaves);
      for (int change = 0; change < 1 + round % 4; ++change) *leaves[chance() % leaves.size()] = Strange(&chance);
      try {
        ResultsJoin alone, together;
        alone.Add(summary, ParseKept(json.dump(), path));
        together.Add(summary, ParseKept(json.dump(), path));
        together.Add(summary, ParseKept(summary.results, path));
        EXPECT_FALSE(ReportOf(alone.Finish()).empty());
        EXPECT_FALSE(ReportOf(together.Finish()).empty());
        ++reported;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::kUnreadable) << error.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 10u);
  EXPECT_GT(reported, 10u);
}

// Rows of one name, of which a table may not have a histogram.
Table CallTable(const char* histogram) {
  Table table{"api",
              "",
              {{"total_ns", "", Unit::kNs},
               {"count", "", Unit::kCount},
               {"median_ns", "", Unit::kNs, false, ColumnRole::kMedian},
               {"stddev_ns", "", Unit::kNs, false, ColumnRole::kDeviation},
               {"name", "", Unit::kText}},
              {{int64_t{30}, int64_t{3}, 10.0, 1.0, std::string("f")}},
              ""};
  if (histogram == nullptr) return table;
  table.columns.push_back({"", "", Unit::kText, true, ColumnRole::kHistogram, "", "median_ns"});
  table.rows.front().emplace_back(std::string(histogram));
  return table;
}

Cell MedianOfTwo(const char* first, const char* second) {
  TableJoin join;
  join.Add(CallTable(first));
  join.Add(CallTable(second));
  const Table joined = join.Finish(2, {});
  EXPECT_EQ(joined.columns.size(), 5u);
  EXPECT_EQ(joined.rows.size(), 1u);
  EXPECT_EQ(joined.rows.front()[1], Cell(int64_t{6}));
  return joined.rows.front()[2];
}

TEST(JoinedMedians, AreOfTheHistogramsOfAllTables) {
  EXPECT_EQ(MedianOfTwo("9 1:2", "11:3"), Cell(int64_t{10}));  // 9 10 10 11 11 11
  EXPECT_EQ(MedianOfTwo("9:3", "9:3"), Cell(int64_t{9}));
}

TEST(JoinedMedians, AreUnknownWhereOneTableHasNone) {
  EXPECT_EQ(MedianOfTwo("9:3", nullptr), Cell());
  EXPECT_EQ(MedianOfTwo(nullptr, "9:3"), Cell());
  for (const char* damaged : {"9:", "-1", "9 x", "9 99999", ":3", "9:3 "}) {
    EXPECT_EQ(MedianOfTwo("9:3", damaged), Cell()) << damaged;
  }
}

}  // namespace
}  // namespace gprof
