// The registry, the metric catalogue and docs/metrics.md say the same as the code.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "analysis/metrics.h"
#include "analysis/occupancy_calculator.h"
#include "random_trace.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

const std::filesystem::path kSource = GPROF_SOURCE_DIR;

std::string TextOfFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Asks for a step that the trace has: random ranges repeat too rarely to be taken for one.
AnalysisOptions OptionsFor(const Trace& trace) {
  AnalysisOptions options;
  if (!trace.ranges.empty()) options.step = trace.Text(trace.ranges.front().path);
  return options;
}

// Random copies are too small to have a bandwidth, and random devices have no link.
Trace RandomTraceWithLink(uint32_t seed) {
  Trace trace = RandomTrace(seed);
  for (Device& device : trace.devices) device.facts.pcie_generation = 5, device.facts.pcie_lanes = 16;
  trace.ops.ChangeFacts([](PackedOps::Facts& op) {
    if (op.kind == OpKind::kMemcpy || op.kind == OpKind::kPeerCopy) op.size_bytes = 1 << 20;
  });
  return trace;
}

TEST(Registry, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const Analysis& analysis : AllAnalyses()) {
    EXPECT_TRUE(names.insert(analysis.name).second) << analysis.name;
    EXPECT_FALSE(analysis.summary.empty());
    EXPECT_EQ(FindAnalysis(analysis.name), &analysis);
  }
  EXPECT_EQ(FindAnalysis("no such analysis"), nullptr);
}

TEST(Registry, EveryFileWithAnAnalysisIsListed) {
  std::set<std::string> in_files, listed;
  const std::regex definition(R"(\nAnalysisResult Run\w+\(const AnalysisInput&)");
  for (const auto& entry : std::filesystem::directory_iterator(kSource / "src/analysis")) {
    if (entry.path().extension() != ".cpp") continue;
    if (std::regex_search(TextOfFile(entry.path()), definition)) in_files.insert(entry.path().stem().string());
  }
  for (const Analysis& analysis : AllAnalyses()) listed.insert(std::string(analysis.name));
  EXPECT_EQ(in_files, listed);
}

TEST(Metrics, IdsAreUniqueAndExplained) {
  std::set<std::string_view> ids;
  for (const MetricInfo& info : MetricCatalogue()) {
    EXPECT_TRUE(ids.insert(info.id).second) << info.id;
    EXPECT_FALSE(info.meaning.empty()) << info.id;
    EXPECT_EQ(FindMetric(info.id), &info);
  }
  EXPECT_EQ(FindMetric("no.such_metric"), nullptr);
}

TEST(Metrics, EveryMetricIsInTheCatalogueAndEveryEntryIsUsed) {
  std::set<std::string_view> emitted;
  const auto run_all = [&](const Trace& trace) {
    for (const Analysis& analysis : AllAnalyses()) {
      for (const Metric& metric : analysis.run(trace, OptionsFor(trace)).metrics) {
        EXPECT_NE(FindMetric(metric.id), nullptr) << metric.id;
        emitted.insert(metric.id);
      }
    }
  };
  for (uint32_t seed = 0; seed < 20; ++seed) run_all(RandomTraceWithLink(seed));
  // Collectives of several ranks that say what they move do not come about by chance.
  run_all(LoadTrace(kSource / "tests/data/nccl_beside.trace"));
  for (const MetricInfo& info : MetricCatalogue()) {
    if (info.id.starts_with("occupancy.") && !HasOccupancyCalculator()) continue;
    EXPECT_TRUE(emitted.count(info.id) > 0) << info.id;
  }
}

TEST(Metrics, NoneIsGivenTwice) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const Trace trace = RandomTrace(seed);
    std::set<std::pair<std::string_view, std::string>> given;
    for (const Analysis& analysis : AllAnalyses()) {
      for (const Metric& metric : analysis.run(trace, OptionsFor(trace)).metrics) {
        EXPECT_TRUE(given.emplace(metric.id, metric.scope).second) << metric.id << "@" << metric.scope;
      }
    }
  }
}

TEST(Metrics, ThePageIsWhatTheCatalogueSays) {
  EXPECT_TRUE(TextOfFile(kSource / "docs/metrics.md") == MetricsMarkdown())
      << "run: metrics_doc --update docs/metrics.md";
}

TEST(Tables, EveryRowHasACellForEachColumn) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const Trace trace = RandomTrace(seed);
    for (const Analysis& analysis : AllAnalyses()) {
      for (const Table& table : analysis.run(trace, OptionsFor(trace)).tables) {
        std::set<std::string> keys;
        for (const Column& column : table.columns) EXPECT_TRUE(keys.insert(column.key).second) << column.key;
        for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.id;
      }
    }
  }
}

TEST(EveryAnalysis, TakesTracesWithLittleInThem) {
  TraceMaker only_cpu;
  only_cpu.AddRange(0, 100, "load");
  TraceMaker nothing;
  for (const Trace& trace : {only_cpu.Finish(), nothing.Finish()}) {
    for (const Analysis& analysis : AllAnalyses()) EXPECT_NO_THROW(analysis.run(trace, OptionsFor(trace))) << analysis.name;
  }
}

TEST(EveryAnalysis, TakesATraceWithNothingAtAll) {
  Trace trace;
  trace.strings.emplace_back();
  for (const Analysis& analysis : AllAnalyses()) EXPECT_NO_THROW(analysis.run(trace, OptionsFor(trace))) << analysis.name;
}

}  // namespace
}  // namespace gprof::test
