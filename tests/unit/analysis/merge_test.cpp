// Several traces as one: where everything goes, whose clock counts, and that the parts give what the whole gives.
#include "trace/reshape/merge.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/registry/compare_traces.h"
#include "analysis/topics/analyses.h"
#include "random_trace.h"
#include "trace/text/assemble.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

Trace Load(const std::string& text, const std::string& path = "a.trace") {
  return LoadTraceFromMemory(AssembleTrace(text), path);
}

template <class... T>
Trace Merge(T... traces) {
  std::vector<Trace> all;
  (all.push_back(std::move(traces)), ...);
  return MergeTraces(std::move(all));
}

std::string ProcessText(const std::string& host, uint64_t day_ns, uint64_t start_ns = 1000) {
  return "chunk pid=1\nprocess start_ns=" + std::to_string(start_ns) + " pid=1 name=\"app\" host=\"" + host +
         "\"\nend time_ns=9000 reason=1\n" +
         (day_ns == 0 ? "" : "clock monotonic_ns=1000 realtime_ns=" + std::to_string(day_ns) + "\n");
}

std::string RichText(const std::string& uuid, const std::string& kernel) {
  return ProcessText("box", 0) + "device name=\"H200\" uuid=\"" + uuid + "\"\ncontext context=1 null_stream=7\n" +
         "thread tid=5 name=\"main\"\nnvtx_domain domain=1 name=\"lib\"\n" +
         "nvtx time_ns=1500 tid=5 event=2 domain=1 message=\"outer\"\nnvtx time_ns=1600 tid=5 event=1 "
         "message=\"mark\"\n" +
         "api start_ns=2000 duration_ns=100 tid=5 correlation=3 function=\"cudaLaunchKernel\" domain=1\n" +
         "kernel start_ns=2200 duration_ns=500 context=1 stream=7 correlation=3 name=\"" + kernel + "\"\n" +
         "nvtx time_ns=4000 tid=5 event=3 domain=1\n";
}

TEST(Merge, OneTraceIsLeftAsItIs) {
  const Trace trace = Merge(Load(RichText("GPU-1", "gemm")));
  EXPECT_EQ(trace.path, "a.trace");
  EXPECT_EQ(trace.ops.size(), 1u);
  EXPECT_TRUE(MergeTraces({}).processes.empty());
}

TEST(Merge, IndexesLeadToTheSameThings) {
  const Trace trace = Merge(Load(RichText("GPU-1", "gemm")), Load(RichText("GPU-2", "conv"), "b.trace"));
  EXPECT_EQ(trace.path, "a.trace and 1 more");
  ASSERT_EQ(trace.processes.size(), 2u);
  ASSERT_EQ(trace.ops.size(), 2u);
  ASSERT_EQ(trace.devices.size(), 2u);
  for (uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(trace.devices[i].ordinal, i);
    EXPECT_EQ(trace.Text(trace.devices[i].uuid), i == 0 ? "GPU-1" : "GPU-2");
    EXPECT_EQ(trace.device_ops[i].first, i);
    EXPECT_EQ(trace.device_ops[i].last, i + 1);
    const GpuOp& op = trace.ops[i];
    EXPECT_EQ(trace.Text(op.name), i == 0 ? "gemm" : "conv");
    EXPECT_EQ(op.device, i);
    EXPECT_EQ(op.process, i);
    ASSERT_EQ(op.api, i);
    EXPECT_EQ(trace.streams[op.stream].process, i);
    EXPECT_EQ(trace.streams[op.stream].device, i);
    const ApiCall& call = trace.api_calls[op.api];
    EXPECT_EQ(trace.Text(call.function), "cudaLaunchKernel");
    EXPECT_EQ(trace.threads[call.thread].process, i);
    ASSERT_EQ(call.range, i);
    EXPECT_EQ(trace.Text(trace.ranges[i].path), "lib/outer");
    EXPECT_EQ(trace.domains[trace.ranges[i].domain].process, i);
    EXPECT_EQ(trace.marks[i].thread, call.thread);
    EXPECT_EQ(trace.thread_api_calls[call.thread].first, i);
    EXPECT_EQ(trace.thread_ranges[call.thread].last, i + 1);
  }
  EXPECT_EQ(trace.api_calls[0].function, trace.api_calls[1].function);
  EXPECT_EQ(trace.ranges[0].path, trace.ranges[1].path);
  EXPECT_EQ(trace.start_ns, 1000);
  EXPECT_EQ(trace.end_ns, 9000);
  EXPECT_TRUE(trace.health.IsComplete());
  EXPECT_EQ(trace.record_count, 2 * Load(RichText("GPU-1", "gemm")).record_count);
}

TEST(Merge, AGpuThatTwoTracesSawIsOneDevice) {
  const Trace trace = Merge(Load(RichText("GPU-1", "gemm")), Load(RichText("GPU-1", "conv")));
  ASSERT_EQ(trace.devices.size(), 1u);
  EXPECT_EQ(trace.device_ops[0].last, 2u);
}

TEST(Merge, WithoutUuidTheHostTellsGpusApart) {
  const auto text = [](const std::string& host) {
    return ProcessText(host, 5000) +
           "device name=\"H200\"\nkernel start_ns=2200 duration_ns=5 context=1 stream=7 name=\"k\"\n";
  };
  EXPECT_EQ(Merge(Load(text("box")), Load(text("box"))).devices.size(), 1u);
  EXPECT_EQ(Merge(Load(text("box")), Load(text("other"))).devices.size(), 2u);
}

TEST(Merge, OperationsAndEventsAreInOrder) {
  TraceMaker a, b;
  a.AddKernel(100, 200), a.AddKernel(500, 600);
  b.AddKernel(50, 60), b.AddKernel(300, 400);
  a.AddSync(10, 20, trace::SyncKind::kStream), b.AddSync(5, 30, trace::SyncKind::kStream);
  const auto add_mark = [](TraceMaker& maker, int64_t time_ns, const char* name) {
    NvtxMark mark;
    mark.time_ns = time_ns;
    mark.thread = 0;
    mark.name = maker.Name(name);
    NvtxPayload payload;
    payload.time_ns = time_ns;
    payload.thread = 0;
    payload.mark = static_cast<uint32_t>(maker.trace().marks.size());
    payload.first_value = static_cast<uint32_t>(maker.trace().payload_values.size());
    payload.last_value = payload.first_value + 1;
    PayloadValue value;
    value.key = maker.Name(name);
    maker.trace().payload_values.push_back(value);
    maker.trace().marks.push_back(mark);
    maker.trace().payloads.push_back(payload);
  };
  add_mark(a, 100, "a1"), add_mark(a, 300, "a2"), add_mark(b, 200, "b1"), add_mark(b, 250, "b2");
  const Trace trace = Merge(a.Finish(), b.Finish());
  std::vector<int64_t> starts;
  for (const GpuOp& op : trace.ops) starts.push_back(op.start_ns);
  EXPECT_EQ(starts, (std::vector<int64_t>{50, 100, 300, 500}));
  EXPECT_EQ(trace.syncs.front().process, 1u);
  std::vector<std::string> marks;
  for (const NvtxPayload& p : trace.payloads) {
    ASSERT_NE(p.mark, kNone);
    marks.emplace_back(trace.Text(trace.marks[p.mark].name));
    EXPECT_EQ(trace.Text(trace.payload_values[p.first_value].key), marks.back());
    EXPECT_EQ(p.last_value, p.first_value + 1);
  }
  EXPECT_EQ(marks, (std::vector<std::string>{"a1", "b1", "b2", "a2"}));
}

TEST(Merge, HealthIsThatOfAll) {
  TraceMaker a, b;
  a.trace().health.lost_records = 3, a.trace().health.worst_early_ns = 7, a.trace().health.file_bytes = 10;
  b.trace().health.is_truncated = true, b.trace().health.worst_early_ns = 5, b.trace().health.lost_records = 4;
  const Trace trace = Merge(a.Finish(), b.Finish());
  EXPECT_EQ(trace.health.lost_records, 7u);
  EXPECT_EQ(trace.health.worst_early_ns, 7);
  EXPECT_EQ(trace.health.file_bytes, 10u);
  EXPECT_TRUE(trace.health.is_truncated);
  EXPECT_FALSE(trace.health.IsComplete());
  EXPECT_TRUE(Merge(TraceMaker().Finish(), TraceMaker().Finish()).health.IsComplete());
}

TEST(Merge, CapturesStayWithTheirProcesses) {
  TraceMaker a, b;
  a.AddKernel(100, 200), b.AddKernel(300, 400);
  b.AddCapture(250, 500), b.AddCapture(600, 700);
  const Trace trace = Merge(a.Finish(), b.Finish());
  ASSERT_EQ(trace.captures.size(), 2u);
  EXPECT_EQ(trace.captures[1].process, 1u);
  EXPECT_EQ(trace.process_captures[0].first, trace.process_captures[0].last);
  EXPECT_EQ(trace.process_captures[1].last, 2u);
}

TEST(Merge, WindowsReachFromTheFirstToTheLast) {
  TraceMaker a, b;
  a.AddKernel(100, 200), b.AddKernel(300, 400);
  Trace first = a.Finish(), second = b.Finish();
  second.device_windows.resize(1);
  second.device_windows[0].time = {250, 450};
  second.device_windows[0].has_next = true;
  second.device_windows[0].next = second.ops[0];
  const Trace trace = Merge(std::move(first), std::move(second));
  ASSERT_EQ(trace.device_windows.size(), 1u);
  EXPECT_EQ(trace.device_windows[0].time.start_ns, 100);
  EXPECT_EQ(trace.device_windows[0].time.end_ns, 450);
  EXPECT_TRUE(trace.device_windows[0].has_next);
  EXPECT_EQ(trace.device_windows[0].next.process, 1u);
}

TEST(MergeClocks, WindowsAreShiftedWithTheirOperations) {
  std::vector<Trace> traces;
  for (const uint64_t day_ns : {uint64_t{4000}, uint64_t{5000}}) {
    TraceMaker maker;
    maker.AddKernel(300, 400);
    maker.trace().processes[0].host = maker.Name("host of " + std::to_string(day_ns));
    trace::ClockRecord clock;
    clock.monotonic_ns = 1000;
    clock.realtime_ns = day_ns;
    maker.trace().clocks.push_back({0, clock});
    DeviceWindow window;
    window.time = {250, 450};
    window.has_next = window.has_next_call = true;
    window.next.start_ns = window.next_call.start_ns = 500;
    maker.trace().device_windows.push_back(window);
    traces.push_back(maker.Finish());
  }
  const Trace trace = MergeTraces(std::move(traces));
  ASSERT_EQ(trace.device_windows.size(), 2u);
  EXPECT_EQ(trace.device_windows[0].time.start_ns, 250);
  EXPECT_EQ(trace.device_windows[1].time.start_ns, 1250);
  EXPECT_EQ(trace.device_windows[1].time.end_ns, 1450);
  EXPECT_EQ(trace.device_windows[1].next.start_ns, 1500);
  EXPECT_EQ(trace.device_windows[1].next_call.start_ns, 1500);
  EXPECT_EQ(trace.ops[1].start_ns, 1300);
}

TEST(MergeClocks, OneHostHasOneClock) {
  const Trace trace = Merge(Load(ProcessText("box", 5'000'000'000)), Load(ProcessText("box", 5'900'000'000)));
  EXPECT_EQ(trace.processes[1].start_ns, 1000);
}

TEST(MergeClocks, AHostThatWasStartedAnewHasAnother) {
  const Trace trace = Merge(Load(ProcessText("box", 5'000'000'000)), Load(ProcessText("box", 7'000'000'000)));
  EXPECT_EQ(trace.processes[1].start_ns, 2'000'001'000);
  EXPECT_EQ(trace.end_ns, 2'000'009'000);
}

TEST(MergeClocks, OtherHostsAreShiftedByTheTimeOfDayAndAllAlike) {
  std::vector<Trace> traces;
  traces.push_back(Load(ProcessText("box", 5'000'000'000)));
  traces.push_back(Load(ProcessText("other", 5'000'004'000)));
  traces.push_back(Load(ProcessText("other", 5'000'004'500)));
  const std::vector<ClockShift> shifts = ClockShifts(traces);
  EXPECT_EQ(shifts[0].ns, 0);
  EXPECT_EQ(shifts[1].ns, 4000);
  EXPECT_EQ(shifts[2].ns, 4000);
  const Trace trace = MergeTraces(std::move(traces));
  EXPECT_EQ(trace.processes[2].start_ns, 5000);
  EXPECT_EQ(trace.clocks[2].anchor.monotonic_ns, 5000u);
  EXPECT_TRUE(trace.notices.empty());
}

TEST(MergeClocks, ClocksThatCannotBeComparedAreSaidAndStartTogether) {
  const Trace trace = Merge(Load(ProcessText("box", 0, 1000)), Load(ProcessText("other", 0, 4000), "b.trace"));
  EXPECT_EQ(trace.processes[1].start_ns, 1000);
  ASSERT_EQ(trace.notices.size(), 1u);
  EXPECT_EQ(trace.notices[0].process, 1u);
  EXPECT_NE(trace.Text(trace.notices[0].message).find("b.trace"), std::string_view::npos);
}

TEST(MergeClocks, HostileTimesOverflowNothing) {
  const std::string most = "18446744073709551615";
  const std::string hostile = "chunk pid=1\nprocess start_ns=" + most +
                              " pid=1 host=\"x\"\nclock monotonic_ns=1 realtime_ns=" + "4611686018427387904" +
                              "\nclock monotonic_ns=" + most + " realtime_ns=" + most + "\n";
  const Trace trace = Merge(Load(ProcessText("box", 5)), Load(hostile));
  EXPECT_EQ(trace.processes.size(), 2u);
}

// Two processes that share a GPU, and one with a GPU of its own, all of one host.
std::string PartText(uint32_t pid, const std::string& uuid, int64_t start_ns) {
  const auto time = [&](int64_t after_ns) { return std::to_string(start_ns + after_ns); };
  const std::string id = std::to_string(pid);
  return "chunk pid=" + id + "\nprocess start_ns=" + time(0) + " pid=" + id + " name=\"app\" host=\"box\"\n" +
         "device name=\"H200\" uuid=\"" + uuid + "\"\ncontext context=1 null_stream=7\n" + "nvtx time_ns=" + time(5) +
         " tid=" + id + " event=2 message=\"step\"\n" + "api start_ns=" + time(10) + " duration_ns=20 tid=" + id +
         " correlation=1 function=\"cudaLaunchKernel\" domain=1\n" + "kernel start_ns=" + time(50) +
         " duration_ns=100 context=1 stream=7 correlation=1 name=\"k" + id + "\"\n" + "api start_ns=" + time(200) +
         " duration_ns=90 tid=" + id + " correlation=2 function=\"cudaMemcpy\" domain=1\n" +
         "memcpy start_ns=" + time(220) +
         " duration_ns=60 context=1 stream=7 correlation=2 size_bytes=4096 copy_kind=1 " +
         "source_memory=1 destination_memory=3\n" + "nvtx time_ns=" + time(300) + " tid=" + id +
         " event=3\nend time_ns=" + time(400) + " reason=1\n";
}

std::map<std::pair<std::string, std::string>, double> MetricsOf(const Trace& trace) {
  std::map<std::pair<std::string, std::string>, double> metrics;
  for (const Analysis& analysis : AllAnalyses()) {
    if (analysis.name == "health") continue;  // sizes of files and counts of chunks
    for (const Metric& m : analysis.run(trace, {}).metrics) metrics[{std::string(m.id), m.scope}] = m.value;
  }
  return metrics;
}

TEST(Merge, PartsGiveTheMetricsOfTheWhole) {
  const std::string a = PartText(1, "GPU-1", 1000), b = PartText(2, "GPU-1", 1100), c = PartText(3, "GPU-2", 1030);
  const Trace whole = Load(a + b + c);
  const auto expected = MetricsOf(whole);
  EXPECT_GT(expected.size(), 50u);
  EXPECT_EQ(MetricsOf(Merge(Load(a), Load(b), Load(c))), expected);
  EXPECT_EQ(MetricsOf(Merge(Load(a + b), Load(c))), expected);
}

// Every analysis runs on merged traces, and what is counted is the sum.
TEST(Merge, RandomTracesAddUp) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Trace a = RandomTrace(seed), b = RandomTrace(seed + 1000);
    const Trace trace = Merge(a, b);
    EXPECT_EQ(trace.ops.size(), a.ops.size() + b.ops.size());
    for (const Trace::Slice& slice : trace.device_ops) {
      for (uint32_t i = slice.first; i + 1 < slice.last; ++i)
        ASSERT_LE(trace.ops[i].start_ns, trace.ops[i + 1].start_ns);
    }
    for (const Analysis& analysis : AllAnalyses()) analysis.run(trace, {});
    const AnalysisResult devices = FindAnalysis("devices")->run(trace, {});
    const double operations = MetricOf(devices, "gpu.operations");
    EXPECT_EQ(operations, static_cast<double>(a.ops.size() + b.ops.size())) << seed;
  }
}

TraceSummary Summary(const std::string& path, int64_t wall_ns, int64_t busy_ns = 100) {
  TraceSummary t;
  t.path = path;
  t.wall_ns = wall_ns;
  t.window_ns = 200;
  t.busy_ns = busy_ns;
  return t;
}

std::vector<std::string> Stragglers(std::vector<TraceSummary> traces) {
  FindStragglers(&traces);
  std::vector<std::string> names;
  for (const TraceSummary& t : traces) {
    if (t.is_wall_straggler || t.is_busy_straggler) names.push_back(t.path);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(CompareTraces, FewTracesMayDifferByTenPercent) {
  EXPECT_EQ(Stragglers({Summary("a", 1000), Summary("b", 1000), Summary("c", 1100)}), Names{});
  EXPECT_EQ(Stragglers({Summary("a", 1000), Summary("b", 1000), Summary("c", 1101)}), Names{"c"});
  EXPECT_EQ(Stragglers({Summary("a", 1000, 100), Summary("b", 1000, 130)}), Names{"b"});
  EXPECT_EQ(Stragglers({Summary("a", 1000)}), Names{});
}

TEST(CompareTraces, ManyTracesMayDifferByFiveDeviations) {
  // Median 1020, deviations 20 10 0 10 100: their median is 10, the limit 1070.
  EXPECT_EQ(
      Stragglers({Summary("a", 1000), Summary("b", 1010), Summary("c", 1020), Summary("d", 1030), Summary("e", 1070)}),
      Names{});
  EXPECT_EQ(
      Stragglers({Summary("a", 1000), Summary("b", 1010), Summary("c", 1020), Summary("d", 1030), Summary("e", 1071)}),
      Names{"e"});
  // No deviation at all: 1 % is nothing yet.
  EXPECT_EQ(
      Stragglers({Summary("a", 1000), Summary("b", 1000), Summary("c", 1000), Summary("d", 1000), Summary("e", 1010)}),
      Names{});
  EXPECT_EQ(
      Stragglers({Summary("a", 1000), Summary("b", 1000), Summary("c", 1000), Summary("d", 1000), Summary("e", 1011)}),
      Names{"e"});
}

TEST(CompareTraces, TablesAndFinding) {
  std::vector<TraceSummary> traces = {Summary("x/a.trace", 1000), Summary("x/b.trace", 1000),
                                      Summary("x/c.trace", 1500)};
  traces[2].ranks = "2";
  FindStragglers(&traces);
  const AnalysisResult result = CompareTraces(traces, {});
  EXPECT_EQ(TableOf(result, "traces").rows.size(), 3u);
  EXPECT_EQ(TextOf(TableOf(result, "traces"), 2, "trace"), "c.trace");
  const Table& spread = TableOf(result, "spread");
  EXPECT_EQ(IntOf(spread, 0, "min_ns"), 1000);
  EXPECT_EQ(IntOf(spread, 0, "median_ns"), 1000);
  EXPECT_EQ(IntOf(spread, 0, "max_ns"), 1500);
  EXPECT_EQ(RealOf(spread, 0, "spread_percent"), 50.0);
  EXPECT_EQ(TextOf(spread, 0, "max_trace"), "c.trace");
  const Finding* finding = FindingOf(result, "traces.straggler");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message, "c.trace (rank 2) is a straggler: wall time 1.50 us, 50.0% above the median of 3 traces");
  EXPECT_EQ(finding->gain_ns, 500);
}

TEST(CompareTraces, FilesOfOneNameKeepTheirFolders) {
  const AnalysisResult result = CompareTraces({Summary("0/a.trace", 1), Summary("1/a.trace", 1)}, {});
  EXPECT_EQ(TextOf(TableOf(result, "traces"), 1, "trace"), "1/a.trace");
}

TEST(CompareTraces, SummaryOfATrace) {
  TraceMaker maker;
  maker.AddKernel(100, 200, maker.AddCall(50, 60, "cudaLaunchKernel"));
  maker.AddKernel(500, 600, maker.AddCall(490, 495, "cudaLaunchKernel"));
  maker.trace().processes[0].rank = 4;
  const TraceSummary t = SummarizeTrace(maker.Finish());
  EXPECT_EQ(t.ranks, "4");
  EXPECT_EQ(t.wall_ns, 550);
  EXPECT_EQ(t.window_ns, 500);
  EXPECT_EQ(t.busy_ns, 200);
  EXPECT_EQ(t.idle_cause, "host");
  EXPECT_EQ(t.idle_cause_ns, 290);
  EXPECT_EQ(t.kernels, 2);
  EXPECT_TRUE(t.is_complete);
}

}  // namespace
}  // namespace gprof::test
