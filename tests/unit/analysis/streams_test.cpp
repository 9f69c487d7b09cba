#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/display_names.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/streams/concurrency.h"
#include "random_trace.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

using trace::CopyKind;

TEST(Streams, TimeAtEachLevel) {
  TraceMaker maker;
  const uint32_t a = maker.AddStream(7), b = maker.AddStream(8);
  maker.AddKernel(0, 100).stream = a;
  maker.AddKernel(50, 150).stream = b;
  maker.AddCopy(140, 160, 64, CopyKind::kHostToDevice).stream = a;
  maker.AddKernel(200, 300).stream = a;
  const AnalysisResult result = RunStreams(maker.Finish(), {});
  const Table& table = TableOf(result, "concurrency");
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(IntOf(table, 0, "streams"), 0);
  EXPECT_EQ(IntOf(table, 0, "time_ns"), 40);
  EXPECT_EQ(IntOf(table, 1, "time_ns"), 200);
  EXPECT_EQ(IntOf(table, 2, "time_ns"), 60);
  EXPECT_EQ(MetricOf(result, "streams.max_concurrency"), 2);
  EXPECT_EQ(MetricOf(result, "streams.overlap_ns"), 60);
  EXPECT_DOUBLE_EQ(MetricOf(result, "streams.overlap_percent"), 100.0 * 60 / 260);
  EXPECT_EQ(MetricOf(result, "streams.kernel_overlap_ns"), 50);
  EXPECT_EQ(MetricOf(result, "streams.copy_compute_ns", "gpu0"), 10);
  EXPECT_EQ(MetricOf(result, "streams.created"), 2);
  EXPECT_EQ(MetricOf(result, "streams.used"), 2);
  const Table& streams = TableOf(result, "streams");
  ASSERT_EQ(streams.rows.size(), 2u);
  EXPECT_EQ(TextOf(streams, 0, "name"), "stream 7");
  EXPECT_EQ(IntOf(streams, 0, "busy_ns"), 220);
  EXPECT_EQ(IntOf(streams, 0, "operations"), 3);
}

TEST(Streams, OverlapWithinAStreamIsNoConcurrency) {
  TraceMaker maker;
  const uint32_t stream = maker.AddStream(7);
  maker.AddKernel(0, 100).stream = stream;
  maker.AddKernel(50, 150).stream = stream;
  const AnalysisResult result = RunStreams(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "streams.max_concurrency"), 1);
  EXPECT_EQ(MetricOf(result, "streams.overlap_percent"), 0);
}

// What runs in each nanosecond, looked at one by one.
void ExpectAsOneByOne(const Trace& trace, const std::string& what) {
  const AnalysisInput input(trace);
  ConcurrencySweep sweep(input);
  std::vector<int64_t> busy_ns(trace.streams.size() + 1, 0), shared_ns(trace.streams.size() + 1, 0);
  for (uint32_t device = 0; device < trace.device_ops.size(); ++device) {
    const Trace::Slice slice = trace.device_ops[device];
    const Concurrency found = sweep.Run(device);
    if (slice.first == slice.last) continue;
    Concurrency expected;
    int64_t end_ns = INT64_MIN;
    for (uint32_t i = slice.first; i < slice.last; ++i) end_ns = std::max(end_ns, trace.ops[i].end_ns);
    for (int64_t ns = trace.ops[slice.first].start_ns; ns < end_ns; ++ns) {
      std::set<size_t> streams, kernel_streams;
      bool has_copy = false, has_to_device = false, has_to_host = false;
      for (uint32_t i = slice.first; i < slice.last; ++i) {
        const GpuOp& op = trace.ops[i];
        if (op.start_ns > ns || op.end_ns <= ns) continue;
        const size_t stream = std::min<size_t>(op.stream, trace.streams.size());
        streams.insert(stream);
        if (IsKernelLike(op)) kernel_streams.insert(stream);
        has_copy |= op.IsCopy();
        has_to_device |= op.IsCopy() && DirectionOf(op) == Direction::kH2d;
        has_to_host |= op.IsCopy() && DirectionOf(op) == Direction::kD2h;
      }
      const auto nothing = [](int64_t, int64_t) {};
      if (streams.empty() && input.shared().recorded().ForEachOfDevice(device, ns, ns + 1, nothing) == 0) continue;
      expected.level_ns.resize(std::max(expected.level_ns.size(), streams.size() + 1));
      ++expected.level_ns[streams.size()];
      expected.kernel_ns += !kernel_streams.empty();
      expected.kernel_overlap_ns += kernel_streams.size() > 1;
      expected.copy_ns += has_copy;
      expected.copy_compute_ns += has_copy && !kernel_streams.empty();
      expected.two_way_ns += has_to_device && has_to_host;
      for (const size_t stream : streams) ++busy_ns[stream], shared_ns[stream] += streams.size() > 1;
    }
    expected.level_ns.resize(std::max<size_t>(expected.level_ns.size(), 1));
    EXPECT_EQ(found.level_ns, expected.level_ns) << what;
    EXPECT_EQ(found.kernel_ns, expected.kernel_ns) << what;
    EXPECT_EQ(found.kernel_overlap_ns, expected.kernel_overlap_ns) << what;
    EXPECT_EQ(found.copy_ns, expected.copy_ns) << what;
    EXPECT_EQ(found.copy_compute_ns, expected.copy_compute_ns) << what;
    EXPECT_EQ(found.two_way_ns, expected.two_way_ns) << what;
  }
  EXPECT_EQ(sweep.busy_ns(), busy_ns) << what;
  EXPECT_EQ(sweep.shared_ns(), shared_ns) << what;
}

TEST(Concurrency, OfRandomTraces) {
  for (uint32_t seed = 0; seed < 200; ++seed) ExpectAsOneByOne(RandomTrace(seed), "seed " + std::to_string(seed));
}

// From operations that hardly ever meet to many at a time, in few streams and in more than pairs are counted of.
TEST(Concurrency, OfAnyDensity) {
  std::mt19937 random(3);
  const auto below = [&](uint32_t limit) { return static_cast<int64_t>(random() % limit); };
  constexpr std::pair<uint32_t, uint32_t> kPausesAndLengths[] = {{12, 4}, {30, 30}, {6, 6}, {3, 12}};
  for (const uint32_t streams : {1u, 2u, 3u, 80u}) {
    for (const auto& [pause, length] : kPausesAndLengths) {
      TraceMaker maker;
      for (uint32_t i = 0; i < streams; ++i) maker.AddStream(7 + i);
      int64_t start_ns = 0;
      for (int i = 0; i < 150; ++i) {
        start_ns += below(pause);
        const int64_t end_ns = start_ns + 1 + below(length);
        const int64_t kind = below(4);
        GpuOp& op = kind > 1 ? maker.AddKernel(start_ns, end_ns)
                             : maker.AddCopy(start_ns, end_ns, 64,
                                             kind == 0 ? CopyKind::kHostToDevice : CopyKind::kDeviceToHost);
        op.stream = static_cast<uint32_t>(below(streams));
        if (pause > length) start_ns = end_ns;
      }
      ExpectAsOneByOne(maker.Finish(), std::to_string(streams) + " " + std::to_string(pause));
    }
  }
}

// Copy in, kernel, copy out for each of four parts, one after the other.
TraceMaker FourParts(const std::vector<uint32_t>& streams, TraceMaker maker) {
  int64_t now_ns = 0;
  for (uint32_t stream : streams) {
    maker.AddCopy(now_ns, now_ns + 100, 64, CopyKind::kHostToDevice).stream = stream;
    maker.AddKernel(now_ns + 100, now_ns + 150).stream = stream;
    maker.AddCopy(now_ns + 150, now_ns + 190, 64, CopyKind::kDeviceToHost).stream = stream;
    now_ns += 200;
  }
  return maker;
}

TEST(StreamFindings, OneStreamUsedAsFour) {
  TraceMaker maker;
  const uint32_t stream = maker.AddStream(7, true, 4);
  const AnalysisResult result = RunStreams(FourParts({stream, stream, stream, stream}, maker).Finish(), {});
  const Finding* finding = FindingOf(result, "streams.one_used");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message, "4 streams requested, 1 used, no overlap");
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_EQ(finding->gain_ns, 4 * 190 - 4 * 100);
  EXPECT_EQ(MetricOf(result, "streams.named"), 4);
}

TEST(StreamFindings, FourCreatedAndOneUsed) {
  TraceMaker maker;
  const uint32_t stream = maker.AddStream(7);
  for (uint32_t id : {8, 9, 10}) maker.AddStream(id);
  const AnalysisResult result = RunStreams(FourParts({stream, stream, stream, stream}, maker).Finish(), {});
  ASSERT_NE(FindingOf(result, "streams.one_used"), nullptr);
  EXPECT_EQ(TableOf(result, "streams").rows.size(), 4u);  // unused ones are shown too
}

TEST(StreamFindings, CreatedButTheDefaultStreamUsed) {
  TraceMaker maker;
  const uint32_t stream = maker.AddStream(7, false);
  for (uint32_t id : {8, 9}) maker.AddStream(id);
  const AnalysisResult result = RunStreams(FourParts({stream, stream}, maker).Finish(), {});
  const Finding* finding = FindingOf(result, "streams.one_used");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message, "2 streams requested, none used, no overlap: the work ran in the default stream");
}

TEST(StreamFindings, SeveralUsedOneAfterTheOther) {
  TraceMaker maker;
  std::vector<uint32_t> streams;
  for (uint32_t id : {7, 8, 9, 10}) streams.push_back(maker.AddStream(id));
  TraceMaker parts = FourParts(streams, maker);
  parts.AddPageable(1000, 1100, 64).stream = streams[0];
  const AnalysisResult result = RunStreams(parts.Finish(), {});
  const Finding* finding = FindingOf(result, "streams.no_overlap");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message,
            "4 streams requested, 4 used, never two concurrently: 1 pageable copy blocked the host until done");
  EXPECT_NE(finding->advice.find("1 pageable copy"), std::string::npos);
  EXPECT_EQ(FindingOf(result, "streams.one_used"), nullptr);
}

// One stream has nearly all of the work: beside it there is a microsecond to run, whatever the others leave free.
TEST(StreamFindings, SmallKernelsWinNoMoreThanTheOtherStreamsHave) {
  TraceMaker maker;
  const uint32_t a = maker.AddStream(7), b = maker.AddStream(8);
  maker.trace().devices[0].properties.sm_count = 132;
  trace::KernelShapeRecord shape;
  shape.grid_x = shape.grid_y = shape.grid_z = 1;
  maker.trace().shapes.push_back(shape);
  for (const auto& [stream, from_us, to_us] : {std::tuple{a, 0, 160}, {b, 200, 201}}) {
    GpuOp& kernel = maker.AddKernel(from_us * kUs, to_us * kUs);
    kernel.stream = stream;
    kernel.shape = 0;
  }
  const AnalysisResult result = RunStreams(maker.Finish(), {});
  const Finding* finding = FindingOf(result, "streams.no_overlap");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gain_ns, 1 * kUs);
}

TEST(StreamFindings, RealOverlapIsInformation) {
  TraceMaker maker;
  const uint32_t a = maker.AddStream(7), b = maker.AddStream(8);
  maker.AddKernel(0, 100).stream = a;
  maker.AddCopy(50, 150, 64, CopyKind::kHostToDevice).stream = b;
  const AnalysisResult result = RunStreams(maker.Finish(), {});
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].id, "streams.overlap");
  EXPECT_EQ(result.findings[0].severity, Severity::kInfo);
  EXPECT_EQ(WordsOf(&result.findings[0]),
            "2 streams requested, 2 used, overlapping for 33.3% of busy time | Up to 2 streams concurrently: kernels "
            "with kernels 0.0%, copies with kernels 33.3%");
}

// Libraries make streams in stock: one that works beside the default stream is what was meant.
TEST(StreamFindings, OverlapWithTheDefaultStreamIsOverlap) {
  TraceMaker maker;
  const uint32_t all = maker.AddStream(7, false), side = maker.AddStream(8);
  for (uint32_t id : {9, 10, 11}) maker.AddStream(id);
  maker.AddKernel(0, 100).stream = all;
  maker.AddCopy(50, 150, 64, CopyKind::kHostToDevice).stream = side;
  const AnalysisResult result = RunStreams(maker.Finish(), {});
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].id, "streams.overlap");
  EXPECT_NE(result.findings[0].message.find("1 used in addition to the default stream"), std::string::npos)
      << result.findings[0].message;
}

TEST(StreamFindings, WhoAskedForNoStreamsUsedOne) {
  TraceMaker maker;
  const uint32_t only = maker.AddStream(7, false);
  const AnalysisResult result = RunStreams(FourParts({only, only}, maker).Finish(), {});
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].id, "streams.one_only");
  EXPECT_NE(result.findings[0].message.find("(default stream)"), std::string::npos);
}

TEST(StreamFindings, OneStreamInEachOfManyProcessesIsFine) {
  TraceMaker maker;
  std::vector<uint32_t> streams;
  for (uint32_t pid : {200u, 300u, 400u}) streams.push_back(maker.AddStream(7, true, 0, maker.AddProcess(pid)));
  EXPECT_TRUE(RunStreams(FourParts(streams, maker).Finish(), {}).findings.empty());
}

TEST(StreamFindings, SeveralProcessesThatUseOneStreamEach) {
  TraceMaker maker;
  std::vector<uint32_t> streams;
  for (uint32_t pid : {200u, 300u}) streams.push_back(maker.AddStream(7, true, 4, maker.AddProcess(pid)));
  const AnalysisResult result = RunStreams(FourParts(streams, maker).Finish(), {});
  const Finding* finding = FindingOf(result, "streams.one_used");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message, "2 processes requested 8 streams, 2 used, no overlap");
}

TEST(Streams, WhatRanAtTheSameTime) {
  TraceMaker maker;
  const uint32_t a = maker.AddStream(7), b = maker.AddStream(8), c = maker.AddStream(9), unused = maker.AddStream(10);
  maker.AddCopy(0, 100, 64, CopyKind::kHostToDevice).stream = a;
  maker.AddKernel(60, 200).stream = b;
  maker.AddCopy(90, 150, 64, CopyKind::kDeviceToHost).stream = a;
  maker.AddKernel(300, 400).stream = c;
  maker.trace().streams[c].priority = -5;
  maker.trace().streams[unused].names_given = 2;
  const AnalysisResult result = RunStreams(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "streams.two_way_ns"), 10);
  EXPECT_EQ(MetricOf(result, "streams.copy_compute_ns"), 90);
  EXPECT_EQ(MetricOf(result, "streams.created"), 4);
  EXPECT_EQ(MetricOf(result, "streams.unused"), 1);
  EXPECT_EQ(MetricOf(result, "streams.renamed"), 1);
  EXPECT_EQ(MetricOf(result, "streams.never_overlapped"), 1);
  EXPECT_EQ(MetricOf(result, "streams.priorities"), 2);
  const Table& streams = TableOf(result, "streams");
  EXPECT_EQ(IntOf(streams, 0, "shared_ns"), 90);  // stream 7
  EXPECT_EQ(IntOf(streams, 1, "shared_ns"), 90);  // stream 8
  EXPECT_EQ(IntOf(streams, 2, "shared_ns"), 0);
  EXPECT_EQ(IntOf(streams, 2, "priority"), -5);
  const Table& overlap = TableOf(result, "overlap");
  ASSERT_EQ(overlap.rows.size(), 3u);
  EXPECT_EQ(IntOf(overlap, 0, "base_ns"), 240);  // kernels
  EXPECT_EQ(IntOf(overlap, 0, "time_ns"), 0);
  EXPECT_EQ(IntOf(overlap, 1, "base_ns"), 150);  // copies
  EXPECT_DOUBLE_EQ(RealOf(overlap, 1, "percent"), 60);
  EXPECT_EQ(TextOf(overlap, 1, "base"), "copy time");
  EXPECT_EQ(IntOf(overlap, 2, "time_ns"), 10);
  EXPECT_FALSE(overlap.is_detail);
}

TEST(StreamFindings, OneStreamForEverything) {
  TraceMaker maker;
  const uint32_t only = maker.AddStream(7);
  const AnalysisResult result = RunStreams(FourParts({only, only, only}, maker).Finish(), {});
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].id, "streams.one_only");
  EXPECT_EQ(result.findings[0].severity, Severity::kWarning);
  EXPECT_EQ(result.findings[0].message,
            "3 kernels and 6 copies ran one after the other in one stream (stream 7): copies never overlapped kernels");
  EXPECT_EQ(result.findings[0].gain_ns, 3 * (50 + 40));  // what remains is 3 * 100 of copies to the device
  EXPECT_TRUE(TableOf(result, "overlap").is_detail);
}

// A warm-up in the default stream does not make a second stream that works.
TEST(StreamFindings, OneStreamForAllButNextToNothing) {
  TraceMaker maker;
  const uint32_t all = maker.AddStream(7, false), only = maker.AddStream(13);
  TraceMaker parts = FourParts({only, only, only}, maker);
  parts.AddKernel(1000, 1005).stream = all;  // 0.9 % of the work
  const AnalysisResult result = RunStreams(parts.Finish(), {});
  ASSERT_NE(FindingOf(result, "streams.one_only"), nullptr);
  EXPECT_EQ(MetricOf(result, "streams.used"), 2);  // a fact, however little it was
  parts.AddKernel(1005, 1020).stream = all;
  EXPECT_EQ(FindingOf(RunStreams(parts.Finish(), {}), "streams.one_only"), nullptr);
}

TEST(StreamFindings, WhoNamesStreamsInRangesAskedForThem) {
  TraceMaker maker;
  const uint32_t only = maker.AddStream(13), other = maker.AddStream(7, false);
  for (int64_t i = 0; i < 4; ++i) {
    maker.AddRange(1000 * i, 1000 * i + 500, "Stream " + std::to_string(i));
    const uint32_t call = maker.AddCall(1000 * i + 10, 1000 * i + 20, "cudaLaunchKernel");
    maker.AddKernel(1000 * i + 30, 1000 * i + 900, call).stream = only;
  }
  const AnalysisResult result = RunStreams(maker.Finish(), {});
  const Finding* finding = FindingOf(result, "streams.one_used");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message,
            "4 streams named in NVTX ranges (\"Stream 0\" to \"Stream 3\"), one used: all 4 operations of these ranges "
            "ran in stream 13");
  maker.ops()[2].stream = other;
  EXPECT_EQ(FindingOf(RunStreams(maker.Finish(), {}), "streams.one_used"), nullptr);
}

TEST(StreamFindings, OneRoundLeavesNothingToOverlapWith) {
  TraceMaker maker;
  const uint32_t only = maker.AddStream(7);
  EXPECT_TRUE(RunStreams(FourParts({only}, maker).Finish(), {}).findings.empty());
}

TEST(StreamFindings, PageableCopiesAndGraphsCannotJustBeMovedToOtherStreams) {
  TraceMaker maker;
  const uint32_t only = maker.AddStream(7);
  for (int64_t at : {0, 1000, 2000}) {
    maker.AddPageable(at, at + 400, 64).stream = only;
    maker.AddKernel(at + 400, at + 800).stream = only;
  }
  EXPECT_TRUE(RunStreams(maker.Finish(), {}).findings.empty());

  TraceMaker graphs;
  const uint32_t stream = graphs.AddStream(7);
  TraceMaker parts = FourParts({stream, stream}, graphs);
  parts.ops()[1].graph = 3;
  EXPECT_TRUE(RunStreams(parts.Finish(), {}).findings.empty());
}

// Two blocking streams with the default stream in between, twice.
TraceMaker SplitByTheDefaultStream() {
  TraceMaker maker;
  const uint32_t all = maker.AddStream(7, false), a = maker.AddStream(8), b = maker.AddStream(9);
  maker.AddKernel(0, 10).stream = all;  // nothing was before it
  for (int64_t at : {100, 400}) {
    maker.AddKernel(at, at + 100).stream = a;
    maker.AddKernel(at + 20, at + 100).stream = b;
    maker.AddKernel(at + 100, at + 150).stream = all;
    maker.AddFill(at + 150, at + 160, 64).stream = all;
    maker.AddKernel(at + 160, at + 200).stream = b;
  }
  maker.AddKernel(900, 910).stream = all;  // nothing comes after it
  return maker;
}

TEST(StreamFindings, DefaultStreamKeepsOthersApart) {
  const AnalysisResult result = RunStreams(SplitByTheDefaultStream().Finish(), {});
  EXPECT_EQ(MetricOf(result, "streams.default_splits"), 2);
  EXPECT_EQ(MetricOf(result, "streams.default_split_ns"), 120);
  const Finding* finding = FindingOf(result, "streams.default_splits");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message,
            "The default stream serialised other streams 2 times: 4 operations in it took 120 ns between work of "
            "blocking streams");
  EXPECT_EQ(finding->gain_ns, 120);
  EXPECT_NE(FindingOf(result, "streams.overlap"), nullptr);
}

TEST(StreamFindings, NonBlockingStreamsAreNotKeptApart) {
  TraceMaker maker = SplitByTheDefaultStream();
  for (Stream& stream : maker.trace().streams) stream.is_non_blocking = true;
  const AnalysisResult result = RunStreams(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "streams.default_splits"), 0);
  EXPECT_EQ(FindingOf(result, "streams.default_splits"), nullptr);
}

TEST(Streams, EmptyTrace) {
  TraceMaker maker;
  const AnalysisResult result = RunStreams(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "streams.used"), 0);
  EXPECT_FALSE(HasMetric(result, "streams.overlap_percent"));
}

// Two streams in turn with pageable copies, as an import has them: without records of the making of streams.
TEST(StreamFindings, WhereTheMakingOfStreamsIsUnknownThoseThatWereUsedCount) {
  TraceMaker maker;
  const uint32_t a = maker.AddStream(13, false), b = maker.AddStream(14, false);
  for (const uint32_t stream : {a, b}) maker.trace().streams[stream].is_default = false;
  for (int64_t i = 0; i < 4; ++i) {
    const uint32_t stream = i % 2 == 0 ? a : b;
    maker.AddPageable(i * 1000, i * 1000 + 400, 64).stream = stream;
    maker.AddKernel(i * 1000 + 400, i * 1000 + 800).stream = stream;
  }
  Trace trace = maker.Finish();
  trace.lacks |= Fact::kStreamsMade;
  const AnalysisResult result = RunStreams(trace, {});
  const Finding* finding = FindingOf(result, "streams.no_overlap");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message,
            "2 streams requested, 2 used, never two concurrently: 4 pageable copies blocked the host until done");
  EXPECT_EQ(finding->gain_ns, 4 * 400);  // of 1600 of copies and 1600 of kernels
}

TEST(StreamFindings, StreamsOfDifferentGpusAreNoMissingOverlap) {
  TraceMaker maker;
  const uint32_t a = maker.AddStream(13), b = maker.AddStream(14), other = maker.AddDevice(1);
  maker.trace().streams[a].device = 0;
  maker.trace().streams[b].device = other;
  maker.AddKernel(0, 100).stream = a;
  GpuOp& second = maker.AddKernel(200, 300);
  second.stream = b;
  second.device = other;
  const AnalysisResult result = RunStreams(maker.Finish(), {});
  EXPECT_EQ(FindingOf(result, "streams.no_overlap"), nullptr);
  EXPECT_EQ(FindingOf(result, "streams.one_used"), nullptr);
}

// PyTorch makes 32 streams of a priority when it is asked for one.
TEST(StreamFindings, NobodyAskedForThePoolOfAFramework) {
  TraceMaker maker;
  uint32_t first = kNone;
  for (uint32_t i = 0; i < 33; ++i) {
    const uint32_t stream = maker.AddStream(20 + i);
    if (first == kNone) first = stream;
  }
  maker.AddKernel(0, 100).stream = first;
  EXPECT_EQ(FindingOf(RunStreams(maker.Finish(), {}), "streams.one_used"), nullptr);
}

}  // namespace
}  // namespace gprof::test
