#include <gtest/gtest.h>

#include "analysis/topics/analyses.h"
#include "analysis/topics/path/critical_walk.h"
#include "random_trace.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

struct Row {
  std::string kind, name;
  int64_t total_ns = 0;
  friend bool operator==(const Row&, const Row&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Row& row) {
    return out << row.kind << " " << row.name << " " << row.total_ns;
  }
};

std::vector<Row> RowsOf(const AnalysisResult& result) {
  const Table& table = TableOf(result, "critical_path");
  std::vector<Row> rows;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    rows.push_back({TextOf(table, i, "kind"), TextOf(table, i, "name"), IntOf(table, i, "total_ns")});
  }
  return rows;
}

TEST(CriticalPath, HostLaunchKernelAndWait) {
  TraceMaker maker;
  maker.AddRange(20, 100, "load");
  maker.Launch(0, 10, 15, 20);
  maker.Launch(100, 110, 115, 315);
  maker.AddCall(110, 320, "cudaDeviceSynchronize");
  const AnalysisResult result = RunCriticalPath(maker.Finish(), {});
  EXPECT_EQ(RowsOf(result), (std::vector<Row>{{"kernel", "work", 200},
                                              {"host", "load", 80},
                                              {"launch", "cudaLaunchKernel", 20},
                                              {"host", "(no range)", 10},
                                              {"sync", "cudaDeviceSynchronize", 5},
                                              {"queue", "queued, not started", 5}}));
  EXPECT_EQ(MetricOf(result, "critical.window_ns"), 320);
  EXPECT_EQ(MetricOf(result, "critical.kernel_ns"), 200);
  EXPECT_EQ(MetricOf(result, "critical.host_ns"), 90);
  const Finding* finding = FindingOf(result, "critical.kernel");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gain_ns, 100);
  const Table& what_if = TableOf(result, "what_if");
  EXPECT_EQ(TextOf(what_if, 0, "what"), "make work twice as fast");
  EXPECT_EQ(IntOf(what_if, 0, "gain_ns"), 100);
  EXPECT_EQ(RealOf(what_if, 0, "percent"), 31.25);
  EXPECT_EQ(TextOf(what_if, 1, "what"), "overlap host code in load");
}

TEST(CriticalPath, QueuedWorkHidesItsLaunch) {
  TraceMaker maker;
  const uint32_t stream = maker.AddStream(7);
  maker.Launch(0, 10, 20, 120).stream = stream;
  maker.Launch(10, 20, 122, 222).stream = stream;
  const AnalysisResult result = RunCriticalPath(maker.Finish(), {});
  EXPECT_EQ(RowsOf(result),
            (std::vector<Row>{
                {"kernel", "work", 200}, {"queue", "queued, not started", 12}, {"launch", "cudaLaunchKernel", 10}}));
}

TEST(CriticalPath, FollowsTheEventThatAStreamWaitsFor) {
  TraceMaker maker;
  const uint32_t first = maker.AddStream(7), second = maker.AddStream(8);
  maker.AddKernel(20, 9000, maker.AddCall(0, 10, "cudaLaunchKernel"), "producer").stream = first;
  EventRecord record;
  record.time_ns = 12;
  record.event = 77;
  record.process = 0;
  record.stream = first;
  maker.trace().event_records.push_back(record);
  maker.AddSync(14, 15, trace::SyncKind::kStreamWaitEvent, kNone, second).event = 77;
  maker.AddKernel(20'000, 20'100, maker.AddCall(20, 30, "cudaLaunchKernel"), "consumer").stream = second;
  const AnalysisResult result = RunCriticalPath(maker.Finish(), {});
  EXPECT_EQ(RowsOf(result), (std::vector<Row>{{"queue", "queued, not started", 11'000 + 10},
                                              {"kernel", "producer", 8980},
                                              {"kernel", "consumer", 100},
                                              {"launch", "cudaLaunchKernel", 10}}));
}

TEST(CriticalPath, ABlockingCopyWaitsForTheKernelBefore) {
  TraceMaker maker;
  const uint32_t stream = maker.AddStream(7);
  maker.Launch(0, 10, 20, 500).stream = stream;
  GpuOp& copy = maker.AddCopy(503, 603, 64, trace::CopyKind::kDeviceToHost, maker.AddCall(10, 610, "cudaMemcpy"));
  copy.stream = stream;
  copy.is_async = false;
  const AnalysisResult result = RunCriticalPath(maker.Finish(), {});
  EXPECT_EQ(RowsOf(result), (std::vector<Row>{{"kernel", "work", 480},
                                              {"copy", "copy device to host", 100},
                                              {"queue", "queued, not started", 13},
                                              {"launch", "cudaLaunchKernel", 10},
                                              {"blocking copy", "cudaMemcpy", 7}}));
}

TEST(CriticalPath, AnEventWithoutItsRecordStandsForTheLastOperation) {
  TraceMaker maker;
  maker.Launch(0, 10, 20, 500);
  maker.AddSync(15, 510, trace::SyncKind::kEvent, maker.AddCall(15, 510, "cudaEventSynchronize")).event = 77;
  const AnalysisResult result = RunCriticalPath(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "critical.kernel_ns"), 480);
  EXPECT_EQ(MetricOf(result, "critical.sync_ns"), 10);
}

TEST(CriticalPath, ANeighbourHandsOverSoonOrNotAtAll) {
  for (const int64_t pause_ns : {1000, 50'000}) {
    TraceMaker maker;
    const uint32_t first = maker.AddStream(7), second = maker.AddStream(8);
    maker.AddKernel(20, 100'000, maker.AddCall(0, 10, "cudaLaunchKernel"), "big").stream = first;
    const int64_t start_ns = 100'000 + pause_ns;
    maker.AddKernel(start_ns, start_ns + 10, maker.AddCall(10, 20, "cudaLaunchKernel"), "small").stream = second;
    const AnalysisResult result = RunCriticalPath(maker.Finish(), {});
    EXPECT_EQ(MetricOf(result, "critical.kernel_ns"), pause_ns == 1000 ? 99'990 : 10);
  }
}

TEST(CriticalPath, WithoutALaunchingCallTheRestIsUnknown) {
  TraceMaker maker;
  maker.AddCall(0, 10, "cudaMalloc");
  maker.AddKernel(50, 100);
  const AnalysisResult result = RunCriticalPath(maker.Finish(), {});
  EXPECT_EQ(MetricOf(result, "critical.unknown_ns"), 50);
  EXPECT_EQ(MetricOf(result, "critical.kernel_ns"), 50);
}

TEST(CriticalPath, PiecesCoverTheWindowOfEveryTrace) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Trace trace = RandomTrace(seed);
    const AnalysisInput input(trace);
    CriticalWalk walk(input);
    int64_t at_ns = walk.window().end_ns;
    walk.Run([&](const PathPiece& piece) {
      ASSERT_EQ(piece.end_ns, at_ns) << seed;
      ASSERT_LT(piece.start_ns, piece.end_ns) << seed;
      at_ns = piece.start_ns;
    });
    ASSERT_EQ(at_ns, walk.window().start_ns) << seed;
    AnalysisOptions all;
    all.max_rows = 0;
    const AnalysisResult result = RunCriticalPath(trace, all);
    if (result.metrics.empty()) continue;
    EXPECT_EQ(SumOf(TableOf(result, "critical_path"), "total_ns"), walk.window().DurationNs()) << seed;
    double sum_ns = 0;
    for (const Metric& metric : result.metrics) sum_ns += metric.id == "critical.window_ns" ? 0 : metric.value;
    EXPECT_EQ(sum_ns, MetricOf(result, "critical.window_ns")) << seed;
  }
}

}  // namespace
}  // namespace gprof::test
