// The registry, the metric catalogue and docs/metrics.md say the same as the code.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "analysis/result/metrics.h"
#include "analysis/topics/kernels/occupancy_calculator.h"
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
  for (Device& device : trace.devices) device.properties.pcie_generation = 5, device.properties.pcie_lanes = 16;
  trace.ops.ChangeTraits([](PackedOps::Traits& op) {
    if (op.kind == OpKind::kMemcpy || op.kind == OpKind::kPeerCopy) op.size_bytes = 1 << 20;
  });
  return trace;
}

std::vector<const Table*> ShownTables(const AnalysisResult& result) {
  std::vector<const Table*> shown;
  for (const Table& table : result.tables) {
    if (!table.is_detail && !table.rows.empty()) shown.push_back(&table);
  }
  return shown;
}

// Metrics at the head of a report in text.
std::map<std::string_view, double> HeadMetrics(const AnalysisResult& result) {
  static const std::set<std::string_view> kIds = {"gpu.window_ns", "gpu.kernel_ns",  "gpu.copy_only_ns",
                                                  "gpu.idle_ns",   "gpu.startup_ns", "gpu.teardown_ns",
                                                  "step.count",    "step.median_ns", "step.idle_percent"};
  std::map<std::string_view, double> values;
  for (const Metric& metric : result.metrics) {
    if (metric.scope.empty() && kIds.contains(metric.id)) values[metric.id] = metric.value;
  }
  return values;
}

void ExpectTheSameInBrief(const Analysis& analysis, const Trace& trace, AnalysisOptions options) {
  const AnalysisResult full = analysis.run(trace, options);
  options.is_brief = true;
  const AnalysisResult brief = analysis.run(trace, options);
  ASSERT_EQ(brief.findings.size(), full.findings.size()) << analysis.name;
  for (size_t i = 0; i < full.findings.size(); ++i) {
    EXPECT_EQ(brief.findings[i].message, full.findings[i].message);
    EXPECT_EQ(brief.findings[i].gain_ns, full.findings[i].gain_ns);
  }
  const std::vector<const Table*> shown = ShownTables(brief), all = ShownTables(full);
  ASSERT_EQ(shown.size(), all.size()) << analysis.name;
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(shown[i]->id, all[i]->id);
    EXPECT_EQ(shown[i]->note, all[i]->note);
    EXPECT_EQ(shown[i]->rows, all[i]->rows) << all[i]->id;
  }
  EXPECT_EQ(HeadMetrics(brief), HeadMetrics(full)) << analysis.name;
}

TEST(Registry, ABriefResultHasAllThatTextShows) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const Trace trace = RandomTraceWithLink(seed);
    for (const Analysis& analysis : AllAnalyses()) ExpectTheSameInBrief(analysis, trace, OptionsFor(trace));
  }
}

// With findings the tables of launches are no details.
TEST(Registry, ABriefResultHasAllThatFindingsBring) {
  TraceMaker maker;
  for (int64_t i = 0; i < 200; ++i) maker.Launch(i * 5000, i * 5000 + 4500, i * 5000 + 4000, i * 5000 + 6000);
  const Trace trace = maker.Finish();
  ASSERT_EQ(ShownTables(FindAnalysis("launches")->run(trace, {})).size(), 2u);
  for (const Analysis& analysis : AllAnalyses()) ExpectTheSameInBrief(analysis, trace, {});
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
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kSource / "src/analysis")) {
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

// With the counters that metrics are made of.
Trace SampledTrace() {
  struct Counter {
    const char *name, *unit;
    trace::MetricScope scope;
  };
  using enum trace::MetricScope;
  TraceMaker maker;
  std::vector<MetricSource> sources;
  for (const Counter& counter : {Counter{"CPU", "%", kProcess},
                                 {"waiting for a CPU", "%", kProcess},
                                 {"CPU", "%", kHost},
                                 {"resident memory", "bytes", kProcess},
                                 {"SMs Active", "%", kDevice},
                                 {"SM Issue", "%", kDevice},
                                 {"Tensor Active", "%", kDevice},
                                 {"DRAM Read Bandwidth", "%", kDevice},
                                 {"GPC Clock Frequency", "MHz", kDevice},
                                 {"power", "W", kDevice},
                                 {"held down by power", "ns", kDevice},
                                 {"processes of the run", "", kDevice},
                                 {"other processes", "", kDevice}}) {
    MetricSource& source = sources.emplace_back();
    source.name = maker.Name(counter.name);
    source.unit = maker.Name(counter.unit);
    source.scope = counter.scope;
    if (counter.scope == kDevice) source.device = 0;
  }
  maker.AddKernel(0, 1000);
  for (int64_t i = 0; i < 5; ++i) maker.AddRange(i * 200, (i + 1) * 200, "step");
  Trace trace = maker.Finish();
  for (uint32_t i = 0; i < sources.size(); ++i) {
    trace.metric_samples.push_back({0, 0, 50, i});
    trace.metric_samples.push_back({1000, 1100, 60, i});
  }
  trace.metric_sources = std::move(sources);
  trace.frames.emplace_back();
  StackNode stack;
  stack.frame = 0;
  trace.stacks.push_back(stack);
  CpuSample sample;
  sample.weight_ns = 10;
  sample.stack = 0;
  trace.cpu_samples.push_back(sample);
  return trace;
}

Trace TraceOfRanks() {
  TraceMaker maker;
  maker.AddKernel(0, 1000);
  Trace trace = maker.Finish();
  trace.processes.resize(2);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    MpiCall call;
    call.start_ns = rank * 10, call.end_ns = 100;
    call.process = rank;
    call.function = NameId{static_cast<uint32_t>(trace.strings.size())};
    call.communicator = 1, call.communicator_size = 2;
    trace.mpi_calls.push_back(call);
  }
  trace.strings.emplace_back("MPI_Barrier");
  return trace;
}

Trace TraceOfGemm() {
  TraceMaker maker;
  maker.trace().devices[0].properties.compute_major = 9;
  maker.trace().devices[0].properties.sm_count = maker.trace().devices[0].properties.sm_clock_khz = 100;
  maker.Launch(10, 20, 30, 40);
  Trace trace = maker.Finish();
  Gemm gemm;
  gemm.start_ns = 5, gemm.end_ns = 25;
  gemm.process = gemm.thread = 0;
  gemm.m = gemm.n = gemm.k = gemm.batch = 1;
  gemm.compute_type = 68;
  trace.gemms.push_back(gemm);
  return trace;
}

// Steps with an operator whose work and type are known, on a device whose peak is known.
Trace TraceOfOperators() {
  TraceMaker maker;
  maker.trace().devices[0].properties.compute_major = 9;
  maker.trace().devices[0].properties.sm_count = maker.trace().devices[0].properties.sm_clock_khz = 100;
  const uint32_t stream = maker.AddStream(7, false);
  for (int64_t at_ns = 0; at_ns < 1000; at_ns += 200) {
    maker.AddRange(at_ns, at_ns + 200, "step");
    maker.AddRange(at_ns + 10, at_ns + 40, "step/aten::mm, sizes = [[8, 8], [8, 8]], types = [float, float]");
    maker.Launch(at_ns + 20, at_ns + 30, at_ns + 40, at_ns + 140).stream = stream;
  }
  return maker.Finish();
}

// Ten steps of an optimizer, each of which keeps a tensor.
Trace TraceOfTensors() {
  TraceMaker maker;
  for (int64_t at_ns = 0; at_ns < 1000; at_ns += 100) {
    maker.AddRange(at_ns, at_ns + 90, "step");
    maker.AddRange(at_ns + 5, at_ns + 25, "step/Optimizer.step#Adam.step");
    maker.Launch(at_ns + 10, at_ns + 20, at_ns + 30, at_ns + 80);
    maker.trace().tensor_blocks.push_back(
        {at_ns + 15, 1 << 20, static_cast<uint64_t>(at_ns + 1) << 20, 0, 0, 0, kNone, false});
  }
  return maker.Finish();
}

// Two ranks reduce once, and the host of the second is late.
Trace TraceOfCollectives() {
  TraceMaker maker;
  const uint32_t second = maker.AddDevice(1);
  const auto reduce = [&](int64_t at_ns, uint32_t thread) -> GpuOp& {
    Collective operation;
    operation.start_ns = at_ns, operation.end_ns = at_ns + 30;
    operation.communicator = 7, operation.size_bytes = 1000, operation.ranks = 2;
    operation.process = 0, operation.thread = thread;
    operation.function = maker.Name("AllReduce");
    maker.trace().collectives.push_back(operation);
    return maker.Launch(at_ns + 10, at_ns + 20, at_ns + 40, 1000, thread);
  };
  const uint32_t thread = maker.AddThread(0, 8);
  reduce(100, 0).name = maker.Name("ncclDevKernel_AllReduce");
  GpuOp& late = reduce(400, thread);
  late.name = maker.Name("ncclDevKernel_AllReduce");
  late.device = second;
  Directive region;
  region.start_ns = 10, region.end_ns = 90;
  region.process = region.thread = 0, region.region = 1, region.threads = 2;
  region.model = maker.Name("OpenMP"), region.construct = maker.Name("parallel");
  Directive launch = region;
  launch.model = maker.Name("OpenACC"), launch.construct = maker.Name("launch"), launch.region = 0;
  maker.trace().directives = {region, launch};
  return maker.Finish();
}

Trace TraceOfFileCalls() {
  TraceMaker maker;
  maker.AddKernel(0, 1000);
  maker.trace().processes[0].capture_mode = maker.Name("CUDA, OS runtime with all calls on files; from the beginning");
  OsCall call;
  call.start_ns = 10, call.end_ns = 11;
  call.process = call.thread = 0;
  call.object_kind = trace::OsObject::kFile;
  call.function = maker.Name("read"), call.path = maker.Name("/data/a.bin");
  maker.trace().os_calls.push_back(call);
  return maker.Finish();
}

Trace TraceOfRequests() {
  TraceMaker maker;
  maker.trace().request_events = {{1, 0, 0, 1, 5, {}, trace::RequestEventKind::kArrived}};
  for (uint32_t step = 1; step <= 3; ++step) {
    maker.trace().engine_steps.push_back({10 * int64_t{step}, 10 * int64_t{step} + 5, 0, 0, step, 1, 0, 0, 0});
    maker.trace().step_requests.push_back({10 * int64_t{step}, 0, step, 1, step == 1 ? 5u : 1u, 0, 1, step == 1});
  }
  return maker.Finish();
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
  run_all(SampledTrace());
  run_all(TraceOfRanks());
  run_all(TraceOfGemm());
  run_all(TraceOfOperators());
  run_all(TraceOfTensors());
  run_all(TraceOfCollectives());
  run_all(TraceOfFileCalls());
  run_all(TraceOfRequests());
  for (const MetricInfo& info : MetricCatalogue()) {
    if (info.id.starts_with("occupancy.") && !HasOccupancyCalculator()) continue;
    if (info.id.starts_with("kernel.")) continue;  // tests/unit/counters
    const bool is_rate = info.id == "gpu.rated_kernel_percent" || info.id == "kernels.energy_j" ||
                         info.id == "gpu.energy_per_token_j" ||
                         (info.id.starts_with("kernels.") && info.id.ends_with("_percent"));
    if (is_rate) continue;  // kernel_rates_test.cpp
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
    for (const Analysis& analysis : AllAnalyses())
      EXPECT_NO_THROW(analysis.run(trace, OptionsFor(trace))) << analysis.name;
  }
}

TEST(EveryAnalysis, TakesATraceWithNothingAtAll) {
  Trace trace;
  trace.strings.emplace_back();
  for (const Analysis& analysis : AllAnalyses())
    EXPECT_NO_THROW(analysis.run(trace, OptionsFor(trace))) << analysis.name;
}

}  // namespace
}  // namespace gprof::test
