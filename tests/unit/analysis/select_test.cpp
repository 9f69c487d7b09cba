// Parts of traces: what each selector leaves, and that the parts add up to the whole.
#include "trace/reshape/select.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "analysis/topics/analyses.h"
#include "base/expression/regular_expression.h"
#include "base/text.h"
#include "gprof/error.h"
#include "random_trace.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

Selection Time(int64_t from_ns, int64_t to_ns) {
  Selection selection;
  selection.time = Interval{from_ns, to_ns};
  return selection;
}

// Two processes, two GPUs, two streams, two threads, nested ranges.
Trace Sample() {
  TraceMaker maker;
  const uint32_t other = maker.AddProcess(200);
  const uint32_t loader = maker.AddThread(0, 101, "loader"), thread_of_other = maker.AddThread(other, 200);
  const uint32_t gpu1 = maker.AddDevice(1);
  const uint32_t stream7 = maker.AddStream(7), stream8 = maker.AddStream(8);
  maker.trace().streams[stream8].name = maker.Name("copies");
  maker.AddRange(0, 1000, "step");
  maker.AddRange(100, 300, "step/load");
  GpuOp& first = maker.AddKernel(120, 200, maker.AddCall(110, 115, "cudaLaunchKernel"), "_Z4gemmv");
  first.stream = stream7;
  GpuOp& copy = maker.AddCopy(250, 300, 64, trace::CopyKind::kHostToDevice, maker.AddCall(240, 245, "cudaMemcpyAsync"));
  copy.stream = stream8;
  GpuOp& late = maker.AddKernel(600, 700, maker.AddCall(500, 510, "cudaLaunchKernel", loader), "_Z4convv");
  late.stream = stream7;
  GpuOp& far = maker.AddKernel(650, 900, maker.AddCall(630, 640, "cudaLaunchKernel", thread_of_other), "_Z4convv");
  far.device = gpu1;
  far.process = other;
  far.stream = kNone;
  return maker.Finish();
}

std::multiset<int64_t> Starts(const Trace& trace) {
  std::multiset<int64_t> starts;
  for (const GpuOp& op : trace.ops) starts.insert(op.start_ns);
  return starts;
}

using Times = std::multiset<int64_t>;

TEST(Select, OperationsKeepTheirCorrelationWithAndWithoutACall) {
  TraceMaker maker;
  for (uint32_t i = 0; i < 6; ++i) {
    if (i % 3 == 0) {
      maker.AddKernel(i * 100, i * 100 + 50).correlation = 70 + i;
    } else {
      maker.Launch(i * 100 - 20, i * 100 - 10, i * 100, i * 100 + 50);
    }
  }
  Trace whole = maker.Finish();
  for (uint32_t i = 0; i < whole.api_calls.size(); ++i) whole.api_calls.items()[i].correlation = 80 + i;
  std::map<int64_t, uint32_t> correlations;
  for (const GpuOp& op : whole.ops) correlations[op.end_ns] = whole.CorrelationOf(op);
  const Trace trace = Select(std::move(whole), Time(220, 600));
  ASSERT_EQ(trace.ops.size(), 4u);
  for (const GpuOp& op : trace.ops) EXPECT_EQ(trace.CorrelationOf(op), correlations[op.end_ns]);
}

TEST(Select, NothingLeavesAll) {
  const Trace trace = Select(Sample(), {});
  EXPECT_EQ(Starts(trace), (Times{120, 250, 600, 650}));
  EXPECT_TRUE(trace.device_windows.empty());
}

TEST(Select, Devices) {
  Selection selection;
  selection.devices = {1};
  const Trace trace = Select(Sample(), selection);
  EXPECT_EQ(Starts(trace), Times{650});
  EXPECT_EQ(trace.api_calls.size(), 4u);  // what the host did explains the gaps
  EXPECT_EQ(trace.device_ops[0].first, trace.device_ops[0].last);
  EXPECT_EQ(trace.device_ops[1].last - trace.device_ops[1].first, 1u);
}

TEST(Select, ProcessesByPidOrName) {
  Selection selection;
  selection.processes = {"200"};
  const Trace trace = Select(Sample(), selection);
  EXPECT_EQ(Starts(trace), Times{650});
  EXPECT_EQ(trace.api_calls.size(), 1u);
  EXPECT_TRUE(trace.ranges.empty());
  EXPECT_TRUE(trace.streams.empty());
}

TEST(Select, ThreadsByTidOrName) {
  for (const char* word : {"loader", "101"}) {
    Selection selection;
    selection.threads = {word};
    const Trace trace = Select(Sample(), selection);
    EXPECT_EQ(Starts(trace), Times{600});
    EXPECT_EQ(trace.api_calls.size(), 1u);
    EXPECT_TRUE(trace.ranges.empty());
  }
}

TEST(Select, StreamsByIdOrName) {
  Selection selection;
  selection.streams = {"copies"};
  EXPECT_EQ(Starts(Select(Sample(), selection)), Times{250});
  selection.streams = {"7", "8"};
  const Trace trace = Select(Sample(), selection);
  EXPECT_EQ(Starts(trace), (Times{120, 250, 600}));
  EXPECT_EQ(trace.streams.size(), 2u);
  for (const GpuOp& op : trace.ops) EXPECT_LT(op.stream, trace.streams.size());
}

TEST(Select, KernelsByTheirDemangledName) {
  Selection selection;
  selection.kernel = {"^conv\\(", RegularExpression("^conv\\(", "")};
  EXPECT_EQ(Starts(Select(Sample(), selection)), (Times{600, 650}));
}

TEST(Select, RangesWithWhatWasDoneInThem) {
  Selection selection;
  selection.nvtx = "step/l*";
  const Trace trace = Select(Sample(), selection);
  EXPECT_EQ(Starts(trace), (Times{120, 250}));
  EXPECT_EQ(trace.api_calls.size(), 2u);
  ASSERT_EQ(trace.ranges.size(), 1u);
  EXPECT_EQ(trace.ranges[0].parent, kNone);
  EXPECT_EQ(trace.api_calls[0].range, 0u);
  const AnalysisResult idle = RunIdle(trace, kAllRows);
  EXPECT_EQ(SumOf(TableOf(idle, "idle"), "idle_ns"), 50);  // 200 to 250: within the range
  selection.nvtx = "step";                                 // what is within counts too, and is in there once
  EXPECT_EQ(Starts(Select(Sample(), selection)), (Times{120, 250}));
  EXPECT_EQ(Select(Sample(), selection).ranges.size(), 2u);
}

TEST(Select, IdleTimeCountsInsideTheRangesOnly) {
  TraceMaker maker;
  for (const int64_t at_ns : {0, 1000, 2000}) {
    maker.AddRange(at_ns, at_ns + 100, "step");
    maker.Launch(at_ns + 10, at_ns + 15, at_ns + 20, at_ns + 30);
    maker.Launch(at_ns + 50, at_ns + 55, at_ns + 60, at_ns + 80);
  }
  Selection selection;
  selection.nvtx = "step";
  const AnalysisResult idle = RunIdle(Select(maker.Finish(), selection), kAllRows);
  // 30 in each; from 80 to the end of the range and from its begin to the first kernel, but for the outermost ones.
  EXPECT_EQ(SumOf(TableOf(idle, "idle"), "idle_ns"), 3 * 30 + 2 * 20 + 2 * 20);
}

TEST(Select, Captures) {
  TraceMaker maker;
  maker.AddCapture(0, 300);
  maker.AddCapture(500, 800);
  maker.trace().captures[1].number = 2;
  maker.Launch(10, 20, 100, 200);
  maker.Launch(510, 520, 600, 900);
  Selection selection;
  selection.capture = 2;
  const Trace trace = Select(maker.Finish(), selection);
  EXPECT_EQ(Starts(trace), Times{600});
  EXPECT_EQ(trace.ops[0].end_ns, 800);
  EXPECT_EQ(trace.api_calls.size(), 1u);
  selection.capture = 3;
  EXPECT_THROW(Select(Sample(), selection), Error);
}

TEST(Select, ClipsOperationsCallsAndRanges) {
  const Trace trace = Select(Sample(), Time(112, 260));
  ASSERT_EQ(trace.ops.size(), 2u);
  EXPECT_EQ(trace.ops[1].start_ns, 250);
  EXPECT_EQ(trace.ops[1].end_ns, 260);
  ASSERT_EQ(trace.api_calls.size(), 2u);
  EXPECT_EQ(trace.api_calls[0].start_ns, 112);
  EXPECT_EQ(trace.api_calls[0].end_ns, 115);
  ASSERT_EQ(trace.ranges.size(), 2u);
  EXPECT_EQ(trace.ranges[0].start_ns, 112);
  EXPECT_EQ(trace.ranges[0].end_ns, 260);
  EXPECT_EQ(trace.ranges[1].end_ns, 260);
  EXPECT_EQ(trace.start_ns, 0);  // starts of gaps and steps keep counting from there
}

TEST(Select, KeepsTheCallThatLaunchedBeforeTheTime) {
  const Trace trace = Select(Sample(), Time(620, 690));
  const Trace::Slice slice = trace.device_ops[0];
  ASSERT_EQ(slice.last - slice.first, 1u);
  const GpuOp& op = trace.ops[slice.first];
  EXPECT_EQ(op.start_ns, 620);
  ASSERT_NE(op.api, kNone);
  EXPECT_EQ(trace.api_calls[op.api].start_ns, 620);
  EXPECT_EQ(trace.api_calls[op.api].DurationNs(), 0);
}

TEST(Select, TheWindowIsTheSelectedTime) {
  const AnalysisResult devices = RunDevices(Select(Sample(), Time(220, 400)), kAllRows);
  EXPECT_EQ(MetricOf(devices, "gpu.window_ns", "gpu0"), 180);
  EXPECT_EQ(MetricOf(devices, "gpu.idle_ns", "gpu0"), 130);
  EXPECT_FALSE(HasMetric(devices, "gpu.window_ns", "gpu1"));  // its work begins later
  const AnalysisResult idle = RunIdle(Select(Sample(), Time(220, 400)), kAllRows);
  const Table& gaps = TableOf(idle, "gaps");
  ASSERT_EQ(gaps.rows.size(), 2u);
  EXPECT_EQ(IntOf(gaps, 0, "duration_ns"), 100);  // explained by what comes after the selected time
  EXPECT_EQ(TextOf(gaps, 0, "after"), "conv()");
  EXPECT_EQ(TextOf(gaps, 0, "call"), "cudaLaunchKernel");
  EXPECT_EQ(IntOf(gaps, 0, "host_ns"), 100);
  EXPECT_EQ(TextOf(gaps, 1, "before"), "(start of the selection)");
}

// Streams get other numbers when some of them are left out.
TEST(Select, WhatEndsTheWindowIsInAStreamThatStays) {
  Selection selection = Time(20, 400);
  selection.streams = {"8"};
  TraceMaker maker;
  maker.AddStream(7);
  const uint32_t stream8 = maker.AddStream(8);
  for (const int64_t start_ns : {10, 600}) {
    const uint32_t call = maker.AddCall(start_ns - 10, start_ns - 5, "cudaLaunchKernel");
    maker.AddKernel(start_ns, start_ns + 50, call).stream = stream8;
  }
  const Trace trace = Select(maker.Finish(), selection);
  ASSERT_TRUE(trace.device_windows[0].has_next);
  ASSERT_EQ(trace.streams.size(), 1u);
  EXPECT_EQ(trace.device_windows[0].next.stream, 0u);
}

TEST(Select, ATimeWithoutOperationsIsIdle) {
  const Trace trace = Select(Sample(), Time(400, 500));
  const AnalysisResult devices = RunDevices(trace, kAllRows), idle = RunIdle(trace, kAllRows);
  EXPECT_EQ(MetricOf(devices, "gpu.idle_ns"), 100);
  EXPECT_EQ(MetricOf(idle, "idle.host_ns"), 100);
}

TEST(Select, MemoryThatWasThereBefore) {
  TraceMaker maker;
  maker.Launch(0, 10, 20, 500);
  const auto add = [&](int64_t time_ns, uint64_t address, trace::MemoryOp operation) {
    MemoryEvent m;
    m.time_ns = time_ns;
    m.address = address;
    m.size_bytes = 64;
    m.process = m.device = 0;
    m.operation = operation;
    maker.trace().memory_events.push_back(m);
  };
  add(10, 1, trace::MemoryOp::kAllocate);
  add(20, 2, trace::MemoryOp::kAllocate);
  add(30, 1, trace::MemoryOp::kFree);
  add(150, 2, trace::MemoryOp::kFree);
  add(300, 3, trace::MemoryOp::kAllocate);
  const Trace trace = Select(maker.Finish(), Time(100, 200));
  ASSERT_EQ(trace.memory_events.size(), 2u);
  EXPECT_EQ(trace.memory_events[0].time_ns, 100);
  EXPECT_EQ(trace.memory_events[0].address, 2u);
}

TEST(Select, WhatMeansNothingIsAnError) {
  Selection selection;
  const auto fails = [&](auto&& change) {
    selection = {};
    change();
    try {
      Select(Sample(), selection);
    } catch (const Error& error) {
      return error.code() == ExitCode::kUsage;
    }
    return false;
  };
  EXPECT_TRUE(fails([&] { selection.devices = {0, 7}; }));
  EXPECT_TRUE(fails([&] { selection.processes = {"nobody"}; }));
  EXPECT_TRUE(fails([&] { selection.threads = {"999"}; }));
  EXPECT_TRUE(fails([&] { selection.streams = {"99"}; }));
  EXPECT_TRUE(fails([&] { selection.kernel = {"saxpy", RegularExpression("saxpy", "")}; }));
  EXPECT_TRUE(fails([&] { selection.nvtx = "load"; }));
  EXPECT_TRUE(fails([&] { selection.capture = 1; }));
}

TEST(Select, HealthIsThatOfTheWhole) {
  Trace trace = Sample();
  trace.health.lost_records = 5;
  trace.losses.push_back({0, trace::LossReason::kCuptiDropped, 0, 5, 900});
  const Trace part = Select(std::move(trace), Time(0, 100));
  EXPECT_EQ(part.health.lost_records, 5u);
  EXPECT_EQ(part.losses.size(), 1u);
}

TEST(Glob, StarsAndQuestionMarks) {
  EXPECT_TRUE(MatchesGlob("step", "step"));
  EXPECT_FALSE(MatchesGlob("step", "steps"));
  EXPECT_TRUE(MatchesGlob("*", ""));
  EXPECT_TRUE(MatchesGlob("a*b*c", "a/x/b/b/c"));
  EXPECT_FALSE(MatchesGlob("a*b*c", "a/x/b/b"));
  EXPECT_TRUE(MatchesGlob("epoch ?/*", "epoch 3/load"));
  EXPECT_FALSE(MatchesGlob("?", ""));
}

// Everything in order, everything that is referred to there.
void CheckModel(const Trace& t) {
  const auto is_in = [](uint32_t index, const auto& all) { return index == kNone || index < all.size(); };
  for (uint32_t i = 0; i < t.api_calls.size(); ++i) {
    const ApiCall& call = t.api_calls[i];
    ASSERT_TRUE(call.parent == kNone || call.parent < i);
    ASSERT_TRUE(is_in(call.range, t.ranges));
    ASSERT_LE(call.start_ns, call.end_ns);
    ASSERT_TRUE(t.thread_api_calls[call.thread].first <= i && i < t.thread_api_calls[call.thread].last);
    ASSERT_TRUE(i == 0 || t.api_calls[i - 1].thread != call.thread || t.api_calls[i - 1].start_ns <= call.start_ns);
  }
  for (uint32_t i = 0; i < t.ranges.size(); ++i) {
    ASSERT_TRUE(t.ranges[i].parent == kNone || t.ranges[i].parent < i);
    ASSERT_TRUE(i == 0 || t.ranges[i - 1].thread != t.ranges[i].thread ||
                t.ranges[i - 1].start_ns <= t.ranges[i].start_ns);
  }
  size_t in_slices = 0;
  for (const Trace::Slice& slice : t.device_ops) in_slices += slice.last - slice.first;
  ASSERT_EQ(in_slices, t.ops.size());
  for (uint32_t i = 0; i < t.ops.size(); ++i) {
    ASSERT_TRUE(is_in(t.ops[i].api, t.api_calls) && is_in(t.ops[i].stream, t.streams));
    ASSERT_TRUE(i == 0 || t.ops[i - 1].device != t.ops[i].device || t.ops[i - 1].start_ns <= t.ops[i].start_ns);
  }
  for (const DeviceWindow& window : t.device_windows) ASSERT_TRUE(is_in(window.next.stream, t.streams));
}

TEST(RandomSelections, LeaveATraceThatEveryAnalysisTakes) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace whole = RandomTrace(seed);
    Selection selection;
    if (seed % 2 == 0) selection = Time(seed % 350, seed % 350 + 1 + seed % 97);
    if (seed % 3 == 0 && !whole.ranges.empty()) selection.nvtx = "*/load";
    if (seed % 5 == 0) selection.devices = {0};
    if (seed % 7 == 0) selection.streams = {"7", "9"};
    if (seed % 11 == 0) selection.kernel = {"first", RegularExpression("first", "")};
    if (seed % 13 == 0) selection.threads = {"100"};
    Trace part;
    try {
      part = Select(whole, selection);
    } catch (const Error&) {
      continue;  // a kernel or range that this trace does not have
    }
    CheckModel(part);
    if (HasFatalFailure()) return;
    for (const Analysis& analysis : AllAnalyses()) analysis.run(part, {});
  }
}

double SumOverParts(const Trace& whole, int64_t middle_ns, const char* id,
                    AnalysisResult (*run)(const AnalysisInput&, const AnalysisOptions&)) {
  const int64_t length_ns = whole.end_ns - whole.start_ns + 1;
  double sum = 0;
  for (const Selection& half : {Time(0, middle_ns), Time(middle_ns, length_ns)}) {
    const AnalysisResult result = run(Select(whole, half), kAllRows);
    if (HasMetric(result, id)) sum += MetricOf(result, id);
  }
  return sum;
}

TEST(RandomSelections, AdjacentTimesAddUpToTheWhole) {
  uint32_t checked = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace whole = RandomTrace(seed);
    if (whole.ops.empty()) continue;
    const int64_t middle_ns = 1 + static_cast<int64_t>(seed * 37 % 400);
    if (middle_ns > whole.end_ns - whole.start_ns) continue;
    const AnalysisResult devices = RunDevices(whole, kAllRows);
    for (const char* id : {"gpu.busy_ns", "gpu.kernel_ns", "gpu.copy_only_ns"}) {
      ASSERT_EQ(SumOverParts(whole, middle_ns, id, RunDevices), MetricOf(devices, id)) << id;
    }
    const AnalysisResult api = RunApi(whole, kAllRows), copies = RunMemcpy(whole, kAllRows);
    ASSERT_EQ(SumOverParts(whole, middle_ns, "api.total_ns", RunApi), MetricOf(api, "api.total_ns"));
    ASSERT_EQ(SumOverParts(whole, middle_ns, "memcpy.total_ns", RunMemcpy), MetricOf(copies, "memcpy.total_ns"));
    // What is recorded when depends on which processes use a GPU, and that is another question in each part.
    if (!whole.captures.empty()) continue;
    for (const char* id : {"gpu.window_ns", "gpu.idle_ns"}) {
      ASSERT_EQ(SumOverParts(whole, middle_ns, id, RunDevices), MetricOf(devices, id)) << id;
    }
    const AnalysisResult idle = RunIdle(whole, kAllRows);
    double causes = 0;
    for (const Metric& metric : idle.metrics) {
      const bool is_cause = metric.id != "idle.preempted_ns";  // that is part of one
      if (metric.id.starts_with("idle.") && is_cause && metric.scope.empty())
        causes += SumOverParts(whole, middle_ns, std::string(metric.id).c_str(), RunIdle);
    }
    ASSERT_EQ(causes, MetricOf(devices, "gpu.idle_ns"));
    ++checked;
  }
  EXPECT_GT(checked, 30u);
}

// Samples, switches and calls of the system are those of the selected threads; a counter track is of what its scope
// says.
Trace WithSamples() {
  TraceMaker maker;
  const uint32_t other = maker.AddProcess(200), thread = maker.AddThread(other, 200);
  const uint32_t gpu1 = maker.AddDevice(1);
  Trace& t = maker.trace();
  const auto source = [&](trace::MetricScope scope, uint32_t process, uint32_t device) {
    MetricSource s;
    s.scope = scope;
    s.process = process;
    s.device = device;
    t.metric_sources.push_back(s);
    t.metric_samples.push_back({100, 300, 1, static_cast<uint32_t>(t.metric_sources.size() - 1)});
    t.metric_samples.push_back({300, 500, 2, static_cast<uint32_t>(t.metric_sources.size() - 1)});
  };
  source(trace::MetricScope::kHost, kNone, kNone);
  source(trace::MetricScope::kProcess, 0, kNone);
  source(trace::MetricScope::kProcess, other, kNone);
  source(trace::MetricScope::kDevice, kNone, gpu1);
  t.metric_losses.push_back({200, 600, 4, 3, {}});
  for (const uint32_t of : {0u, thread}) {
    CpuSample sample;
    sample.time_ns = 150;
    sample.process = of == 0 ? 0 : other;
    sample.thread = of;
    t.cpu_samples.push_back(sample);
    OsCall call;
    call.start_ns = 100;
    call.end_ns = 400;
    call.process = sample.process;
    call.thread = of;
    t.os_calls.push_back(call);
  }
  maker.AddKernel(0, 1000);
  return maker.Finish();
}

std::multiset<uint32_t> Sources(const Trace& trace) {
  std::multiset<uint32_t> sources;
  for (const MetricSample& sample : trace.metric_samples) sources.insert(sample.source);
  return sources;
}

TEST(Select, SamplesAndCounterTracksAreCutToTheTime) {
  const Trace part = Select(WithSamples(), Time(200, 350));
  EXPECT_EQ(Sources(part), (std::multiset<uint32_t>{0, 0, 1, 1, 2, 2, 3, 3}));
  const int64_t begin_ns = part.metric_samples.front().start_ns;
  EXPECT_EQ(part.metric_samples[0].end_ns - begin_ns, 100);
  EXPECT_EQ(part.metric_samples[1].end_ns - begin_ns, 150);
  EXPECT_EQ(part.metric_losses.at(0).end_ns - begin_ns, 150);
  EXPECT_TRUE(part.cpu_samples.empty());
  ASSERT_EQ(part.os_calls.size(), 2u);
  EXPECT_EQ(part.os_calls[0].DurationNs(), 150);
}

TEST(Select, AProcessHasItsOwnSamplesAndTheHostIsThatOfAll) {
  Selection selection;
  selection.processes = {"200"};
  const Trace part = Select(WithSamples(), selection);
  EXPECT_EQ(Sources(part), (std::multiset<uint32_t>{0, 0, 2, 2, 3, 3}));
  ASSERT_EQ(part.cpu_samples.size(), 1u);
  EXPECT_EQ(part.threads[part.cpu_samples[0].thread].tid, 200u);
  EXPECT_EQ(part.os_calls.size(), 1u);
}

TEST(Select, ADeviceHasItsOwnCounterTracks) {
  Selection selection;
  selection.devices = {0};
  EXPECT_EQ(Sources(Select(WithSamples(), selection)), (std::multiset<uint32_t>{0, 0, 1, 1, 2, 2}));
}

}  // namespace
}  // namespace gprof::test
