// What a trace does not tell is no metric of zero, whoever recorded it: all metrics over all readers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "analysis/facts/recording/unknown_facts.h"
#include "analysis/registry/run_analyses.h"
#include "database.h"
#include "gate/check/check.h"
#include "import/nsight/nsight.h"
#include "kineto_capture.h"
#include "trace/reshape/merge.h"
#include "trace/text/assemble.h"

namespace gprof {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

using Ids = std::set<std::string_view>;

std::vector<const Analysis*> All() {
  std::vector<const Analysis*> all;
  for (const Analysis& analysis : AllAnalyses()) all.push_back(&analysis);
  return all;
}

Ids MetricsOf(const Trace& trace) {
  Ids ids;
  for (const AnalysisResult& result : RunAll(trace, All(), {})) {
    for (const Metric& metric : result.metrics) ids.insert(metric.id);
  }
  return ids;
}

// What the analyses make of the trace, known or not.
Ids ComputedOf(const Trace& trace) {
  Ids ids;
  for (const Analysis* analysis : All()) {
    for (const Metric& metric : analysis->run(trace, {}).metrics) ids.insert(metric.id);
  }
  return ids;
}

Trace ReadSql(std::string_view schema) {
  return ReadNsight(TestDatabase(std::string(schema) + std::string(SmallCapture())).path());
}

Trace Own(std::string_view records) { return LoadTraceFromMemory(AssembleTrace(std::string(records)), "t"); }

struct Source {
  const char* name;
  Trace (*read)();
};

const Source kSources[] = {
    {"nsight_2020", [] { return ReadSql(OldSchema()); }},
    {"nsight_2026", [] { return ReadSql(NewSchema()); }},
    {"kineto", [] { return ReadKineto(Document(kCapture, kMembers), "test.json"); }},
    {"kineto_without_calls",
     [] { return ReadEvents(R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1})"); }},
    {"kineto_without_sizes",
     [] {
       return ReadEvents(R"json({"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0,
"tid": 7, "ts": 1, "dur": 1, "args": {"device": 0, "stream": 7}})json");
     }},
    {"chrome", [] { return ReadEvents(R"({"ph": "X", "name": "load", "pid": 1, "tid": 1, "ts": 1, "dur": 1})"); }},
    {"xla",
     [] {
       return ReadEvents(R"json(
{"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}},
{"ph":"M","pid":1,"tid":13,"name":"thread_name","args":{"name":"Stream #13(Compute)"}},
{"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}},
{"ph":"X","pid":701,"tid":55,"ts":8,"dur":1.5,"name":"cuLaunchKernel","args":{"correlation_id":"41","device_id":"0"}},
{"ph":"X","pid":1,"tid":13,"ts":12,"dur":3,"name":"fusion_1","args":{"correlation_id":"41","kernel_details":"regs:32"}})json");
     }},
    {"own_nothing", [] { return Own("thread tid=1\nend time_ns=5 reason=1\n"); }},
    {"own_nvtx",
     [] {
       return Own(
           "process capture_mode=\"NVTX; from the beginning\" tracer_version=\"0.2.0\"\nend time_ns=5 reason=1\n");
     }},
    {"own_all",
     [] {
       return Own(
           "process capture_mode=\"CUDA, memory usage, managed memory, NVTX; from the beginning\" "
           "tracer_version=\"0.2.0\"\n"
           "kernel start_ns=20 duration_ns=5 correlation=1\n"
           "api start_ns=10 duration_ns=5 tid=1 correlation=1 function=\"cudaLaunchKernel\"\nend time_ns=50 "
           "reason=1\n");
     }},
};

class EverySource : public testing::TestWithParam<Source> {};

TEST_P(EverySource, WhatItLacksIsNotKnownAndTheRestIs) {
  const Trace trace = GetParam().read();
  const FactSet unknown = UnknownFacts(trace);
  const Ids known = MetricsOf(trace), computed = ComputedOf(trace);
  for (const MetricInfo& info : MetricCatalogue()) {
    const bool is_known = !info.needs.HasAnyOf(unknown);
    EXPECT_EQ(known.contains(info.id), is_known && computed.contains(info.id)) << info.id;
  }
}

TEST_P(EverySource, AGateOnWhatItLacksIsInconclusiveAndSaysWhy) {
  const Trace trace = GetParam().read();
  const FactSet unknown = UnknownFacts(trace);
  RunSet runs;
  runs.runs.push_back(Measure(trace));
  for (const MetricInfo& info : MetricCatalogue()) {
    const std::string why = WhyNotRecorded(runs.runs[0], info.id);
    EXPECT_EQ(why.empty(), !info.needs.HasAnyOf(unknown)) << info.id << ": " << why;
    if (why.empty()) continue;
    Budget budget;
    budget.rules.emplace_back();
    budget.rules[0].info = &info;
    budget.rules[0].limit = 1e300;
    const CheckResult result = Check(budget, runs, nullptr);
    EXPECT_EQ(result.verdict, Verdict::kInconclusive) << info.id;
    EXPECT_THAT(result.rules[0].message, HasSubstr(why));
    bool is_of_a_fact = false;
    ForEachFact(info.needs & unknown, [&](Fact fact) { is_of_a_fact |= why == WhyUnknown(trace, fact); });
    EXPECT_TRUE(is_of_a_fact) << info.id << ": " << why;
  }
}

INSTANTIATE_TEST_SUITE_P(All, EverySource, testing::ValuesIn(kSources),
                         [](const auto& tested) { return std::string(tested.param.name); });

// No other tool tells these, whatever is in its file.
TEST(Lacks, OtherToolsDeclareWhatTheyNeverTell) {
  for (const Source& source : kSources) {
    const Trace trace = source.read();
    if (trace.recorder.empty()) continue;
    for (const Fact fact : {Fact::kProcessTimes, Fact::kRecordingCost, Fact::kStreamsMade, Fact::kManagedMemory}) {
      EXPECT_TRUE(trace.Lacks(fact)) << source.name << " " << InfoOf(fact).key;
    }
  }
}

TEST(Lacks, ACaptureThatCannotHaveCompilationsHasNoCountOfThem) {
  const Trace trace = ReadKineto(Document(kCapture, kMembers), "test.json");
  const Ids ids = MetricsOf(trace);
  EXPECT_THAT(ids, Contains("api.calls"));
  EXPECT_THAT(ids, Not(Contains("jit.compiles")));
  EXPECT_THAT(ids, Not(Contains("api.errors")));
  EXPECT_EQ(WhyUnknown(trace, Fact::kCompilations), "torch.profiler did not record JIT compilation");
}

TEST(Lacks, CopiesWithoutASizeAreOfAnUnknownNumberOfBytes) {
  const Trace trace =
      ReadEvents(R"json({"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0,
"tid": 7, "ts": 1, "dur": 1, "args": {"device": 0, "stream": 7}})json");
  const Ids ids = MetricsOf(trace);
  EXPECT_THAT(ids, Contains("memcpy.h2d_count"));
  EXPECT_THAT(ids, Not(Contains("memcpy.h2d_bytes")));
  EXPECT_THAT(ids, Not(Contains("memcpy.small_count")));
  const AnalysisResult result = FindAnalysis("memcpy")->run(trace, {});
  const Table& table = result.tables.front();
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const bool is_of_bytes = table.columns[i].unit == Unit::kBytes || table.columns[i].unit == Unit::kBytesPerSecond;
    EXPECT_EQ(std::holds_alternative<std::monostate>(table.rows[0][i]), is_of_bytes) << table.columns[i].key;
  }
}

TEST(Lacks, MetricsThatRestOnWhatIsNotThereAreLeftOut) {
  const Trace trace = ReadSql(OldSchema());
  const Ids ids = MetricsOf(trace);
  for (const char* id : {"kernels.count", "idle.launch_ns", "memcpy.count", "api.calls"})
    EXPECT_THAT(ids, Contains(id));
  for (const char* id : {"memcpy.pageable_count", "streams.created", "run.wall_ns", "jit.compiles"})
    EXPECT_THAT(ids, Not(Contains(id)));
  EXPECT_EQ(WhyUnknown(trace, Fact::kMemoryKinds), "Nsight Systems 2020.3.1 did not record memory kinds");
}

TEST(Lacks, OurOwnTracesLackWhatWasNotAskedFor) {
  const Trace nothing = Own("thread tid=1\nend time_ns=5 reason=1\n");
  for (const Fact fact :
       {Fact::kMemory, Fact::kManagedMemory, Fact::kNvtx, Fact::kOsCalls, Fact::kSwitches, Fact::kHostWaits,
        Fact::kCpuSamples, Fact::kMpiCalls, Fact::kGemms, Fact::kCollectives, Fact::kOpenMp, Fact::kOpenAcc})
    EXPECT_TRUE(nothing.Lacks(fact));
  for (const Fact fact : {Fact::kCompilations, Fact::kSyncs, Fact::kMemoryKinds}) EXPECT_FALSE(nothing.Lacks(fact));
  const Trace all =
      Own("process capture_mode=\"CUDA, memory usage, managed memory, NVTX, OS runtime, MPI, GEMM, NCCL, OpenMP, "
          "OpenACC, context "
          "switches, CPU samples; "
          "from the beginning\" tracer_version=\"0.2.0\"\n");
  EXPECT_EQ(all.lacks, FactSet(Fact::kCounters));  // which profile does not collect
  // Switches alone tell that threads waited, not in which call.
  const Trace switches = Own("switch start_ns=5 duration_ns=3 tid=1\n");
  EXPECT_TRUE(switches.Lacks(Fact::kOsCalls));
  EXPECT_FALSE(switches.Lacks(Fact::kSwitches));
  EXPECT_FALSE(switches.Lacks(Fact::kHostWaits));
  const Trace when = Own("process capture_mode=\"CUDA; within the NVTX range memory usage, once\"\n");
  EXPECT_TRUE(when.Lacks(Fact::kMemory));
  EXPECT_TRUE(when.Lacks(Fact::kNvtx));
}

TEST(Lacks, AMergedTraceLacksWhatOneOfThemLacks) {
  std::vector<Trace> traces;
  traces.push_back(ReadSql(OldSchema()));
  traces.push_back(ReadSql(NewSchema()));
  const Trace both = MergeTraces(std::move(traces));
  EXPECT_TRUE(both.Lacks(Fact::kMemoryKinds));
  EXPECT_EQ(both.recorder, "Nsight Systems 2020.3.1 and Nsight Systems 2026.2.1.210");
}

TEST(Lacks, FactsHaveNamesOfTheirOwn) {
  std::set<std::string_view> keys;
  ForEachFact(FactSet::All(), [&](Fact fact) {
    const FactInfo& info = InfoOf(fact);
    EXPECT_EQ(info.fact, fact) << info.key;
    EXPECT_EQ(FindFact(info.key), &info);
    EXPECT_TRUE(keys.insert(info.key).second) << info.key;
    EXPECT_FALSE(info.name.empty() || info.why.empty()) << info.key;
  });
  EXPECT_EQ(FindFact("weather"), nullptr);
}

// Documents name metrics that are not known by what their ids begin with.
TEST(Lacks, NoIdBeginsWithAnother) {
  for (const MetricInfo& a : MetricCatalogue()) {
    for (const MetricInfo& b : MetricCatalogue())
      EXPECT_TRUE(&a == &b || !b.id.starts_with(a.id)) << a.id << " " << b.id;
  }
}

}  // namespace
}  // namespace gprof
