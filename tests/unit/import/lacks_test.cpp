// What a foreign trace does not tell is no metric of zero.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/result/run_analyses.h"
#include "analysis/trust/unknown_metrics.h"
#include "database.h"
#include "import/nsight.h"
#include "trace/reshape/merge.h"
#include "trace/text/assemble.h"

namespace gprof {
namespace {

using testing::HasSubstr;

std::vector<std::string> MetricsOf(const Trace& trace) {
  std::vector<const Analysis*> all;
  for (const Analysis& analysis : AllAnalyses()) all.push_back(&analysis);
  std::vector<std::string> ids;
  for (const AnalysisResult& result : RunAll(trace, all, {})) {
    for (const Metric& metric : result.metrics) ids.emplace_back(metric.id);
  }
  return ids;
}

TEST(Lacks, MetricsThatRestOnWhatIsNotThereAreLeftOut) {
  const TestDatabase database(std::string(OldSchema()) + std::string(SmallCapture()));
  const Trace trace = ReadNsight(database.path());
  const std::vector<std::string> ids = MetricsOf(trace);
  EXPECT_THAT(ids, testing::Contains("kernels.count"));
  EXPECT_THAT(ids, testing::Contains("idle.launch_ns"));
  EXPECT_THAT(ids, testing::Contains("memcpy.count"));
  EXPECT_THAT(ids, testing::Not(testing::Contains("memcpy.pageable_count")));
  EXPECT_THAT(ids, testing::Not(testing::Contains("streams.created")));
  EXPECT_THAT(ids, testing::Not(testing::Contains("run.wall_ns")));
  EXPECT_EQ(WhyUnknown(trace, "memcpy.pageable_bytes"),
            "Nsight Systems 2020.3.1 did not record which memory is pageable");
  EXPECT_EQ(WhyUnknown(trace, "kernels.count"), "");
}

TEST(Lacks, EveryPrefixIsThatOfAMetric) {
  Trace trace;
  trace.lacks = ~0u;
  for (const UnknownMetrics& unknown : UnknownMetricsOf(trace)) {
    const auto metrics = MetricCatalogue();
    EXPECT_TRUE(std::any_of(metrics.begin(), metrics.end(), [&](const MetricInfo& info) {
      return info.id.starts_with(unknown.prefix);
    })) << unknown.prefix;
  }
}

TEST(Lacks, NothingOfOurOwnTraces) {
  const Trace trace = LoadTraceFromMemory(AssembleTrace("thread tid=1\nend time_ns=5 reason=1\n"), "t");
  EXPECT_TRUE(UnknownMetricsOf(trace).empty());
  EXPECT_TRUE(LackingFacts(trace).empty());
}

TEST(Lacks, AMergedTraceLacksWhatOneOfThemLacks) {
  const TestDatabase old(std::string(OldSchema()) + std::string(SmallCapture()));
  const TestDatabase today(std::string(NewSchema()) + std::string(SmallCapture()));
  std::vector<Trace> traces;
  traces.push_back(ReadNsight(old.path()));
  traces.push_back(ReadNsight(today.path()));
  const Trace both = MergeTraces(std::move(traces));
  EXPECT_TRUE(both.Lacks(Fact::kMemoryKinds));
  EXPECT_EQ(both.recorder, "Nsight Systems 2020.3.1 and Nsight Systems 2026.2.1.210");
}

}  // namespace
}  // namespace gprof
