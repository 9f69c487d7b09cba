// What must hold for every trace, on many random ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "analysis/result/idle_causes.h"
#include "analysis/result/metrics.h"
#include "analysis/topics/analyses.h"
#include "idle_reference.h"
#include "random_trace.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

constexpr uint32_t kTraces = 600;

std::string Scope(const Trace& trace, uint32_t device) { return "gpu" + std::to_string(trace.devices[device].ordinal); }

bool HasOps(const Trace& trace, uint32_t device) {
  return trace.device_ops[device].first != trace.device_ops[device].last;
}

TEST(RandomTraces, BusyAndIdleAreThoseOfEveryNanosecond) {
  uint32_t with_pauses = 0;
  for (uint32_t seed = 0; seed < kTraces; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace trace = RandomTrace(seed);
    const AnalysisResult result = RunDevices(trace, kAllRows);
    for (uint32_t device = 0; device < trace.devices.size(); ++device) {
      const ReferenceTimes expected = LookAtEveryNanosecond(trace, device);
      const std::string scope = Scope(trace, device);
      ASSERT_EQ(HasMetric(result, "gpu.busy_ns", scope), HasOps(trace, device));
      if (!HasOps(trace, device)) continue;
      ASSERT_EQ(MetricOf(result, "gpu.window_ns", scope), static_cast<double>(expected.window_ns));
      const Trace::Slice slice = trace.device_ops[device];
      int64_t end_ns = 0;
      for (uint32_t i = slice.first; i < slice.last; ++i) end_ns = std::max(end_ns, trace.ops[i].end_ns);
      with_pauses += expected.window_ns < end_ns - trace.ops[slice.first].start_ns;
      ASSERT_EQ(MetricOf(result, "gpu.busy_ns", scope), static_cast<double>(expected.busy_ns));
      ASSERT_EQ(MetricOf(result, "gpu.kernel_ns", scope), static_cast<double>(expected.kernel_ns));
      ASSERT_EQ(MetricOf(result, "gpu.copy_only_ns", scope),
                static_cast<double>(expected.busy_ns - expected.kernel_ns));
      ASSERT_EQ(MetricOf(result, "gpu.idle_ns", scope), static_cast<double>(expected.idle_ns));
    }
  }
  EXPECT_GT(with_pauses, 50u);
}

TEST(RandomTraces, CausesAreThoseOfEveryNanosecond) {
  std::map<std::string, int64_t> seen;
  for (uint32_t seed = 0; seed < kTraces; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace trace = RandomTrace(seed);
    const AnalysisResult result = RunIdle(trace, kAllRows);
    std::map<std::string, int64_t> paths, expected_paths;
    for (uint32_t device = 0; device < trace.devices.size(); ++device) {
      ReferenceTimes expected = LookAtEveryNanosecond(trace, device);
      for (const auto& [path, idle_ns] : expected.host_by_path) expected_paths[path] += idle_ns;
      if (!HasOps(trace, device)) continue;
      const std::string scope = Scope(trace, device);
      ASSERT_EQ(MetricOf(result, "gaps.count", scope), static_cast<double>(expected.gaps));
      ForEachCause([&](Cause cause) {
        const std::string name(InfoOf(cause).name);
        seen[name] += expected.idle_by_cause[name];
        EXPECT_EQ(MetricOf(result, InfoOf(cause).metric, scope), static_cast<double>(expected.idle_by_cause[name]))
            << name << " on " << scope;
      });
      if (!trace.switches.empty()) {
        ASSERT_EQ(MetricOf(result, "idle.preempted_ns", scope), static_cast<double>(expected.preempted_ns));
      }
      seen["preempted"] += expected.preempted_ns;
      ASSERT_FALSE(HasFailure());
    }
    const Table& by_path = TableOf(result, "idle_by_nvtx");
    for (size_t row = 0; row < by_path.rows.size(); ++row) {
      if (IntOf(by_path, row, "host_ns") == 0) continue;
      paths[TextOf(by_path, row, "path")] += IntOf(by_path, row, "host_ns");
    }
    ASSERT_EQ(paths, expected_paths);
  }
  // The traces must show every cause, or the test would say nothing about it.
  ForEachCause([&](Cause cause) { EXPECT_GT(seen[std::string(InfoOf(cause).name)], 0) << InfoOf(cause).name; });
  EXPECT_GT(seen["preempted"], 0);
}

TEST(RandomTraces, IdleAddsUpExactly) {
  for (uint32_t seed = 0; seed < kTraces; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace trace = RandomTrace(seed);
    const AnalysisResult devices = RunDevices(trace, kAllRows), idle = RunIdle(trace, kAllRows);
    if (trace.ops.empty()) continue;
    double causes = 0;
    ForEachCause([&](Cause cause) { causes += MetricOf(idle, InfoOf(cause).metric); });
    const double idle_ns = MetricOf(devices, "gpu.idle_ns");
    ASSERT_EQ(causes, idle_ns);
    ASSERT_EQ(MetricOf(devices, "gpu.busy_ns") + idle_ns, MetricOf(devices, "gpu.window_ns"));
    ASSERT_EQ(static_cast<double>(SumOf(TableOf(idle, "idle"), "idle_ns")), idle_ns);

    const Table& gaps = TableOf(idle, "gaps");
    ASSERT_EQ(static_cast<double>(SumOf(gaps, "duration_ns")), idle_ns);
    ASSERT_EQ(static_cast<double>(gaps.rows.size()), MetricOf(idle, "gaps.count"));
    for (size_t row = 0; row < gaps.rows.size(); ++row) {
      int64_t parts_ns = 0;
      ForEachCause([&](Cause cause) { parts_ns += IntOf(gaps, row, std::string(InfoOf(cause).name) + "_ns"); });
      ASSERT_EQ(parts_ns, IntOf(gaps, row, "duration_ns"));
      ASSERT_TRUE(row == 0 || IntOf(gaps, row - 1, "duration_ns") >= IntOf(gaps, row, "duration_ns"));
    }
  }
}

// Each of these tables holds every idle nanosecond once, and the causes of a row sum to it.
TEST(RandomTraces, EveryTableOfIdleTimeSumsToIt) {
  int64_t spread = 0;
  for (uint32_t seed = 0; seed < kTraces; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace trace = RandomTrace(seed);
    if (trace.ops.empty()) continue;
    const AnalysisResult idle = RunIdle(trace, kAllRows);
    const double idle_ns = MetricOf(RunDevices(trace, kAllRows), "gpu.idle_ns");
    for (const char* id : {"idle_by_nvtx", "idle_by_launch", "idle_by_next"}) {
      SCOPED_TRACE(id);
      const Table& table = TableOf(idle, id);
      ASSERT_EQ(static_cast<double>(SumOf(table, "idle_ns")), idle_ns);
      spread += table.rows.size() > 1;
      for (size_t row = 0; row < table.rows.size(); ++row) {
        int64_t parts_ns = 0;
        ForEachCause([&](Cause cause) { parts_ns += IntOf(table, row, std::string(InfoOf(cause).name) + "_ns"); });
        ASSERT_EQ(parts_ns, IntOf(table, row, "idle_ns"));
      }
    }
    ASSERT_EQ(static_cast<double>(SumOf(TableOf(idle, "idle_by_os"), "idle_ns")), MetricOf(idle, "idle.os_ns"));
    const double mpi_ns = MetricOf(idle, "idle.mpi_ns");
    ASSERT_EQ(mpi_ns > 0 ? static_cast<double>(SumOf(TableOf(idle, "idle_by_mpi"), "idle_ns")) : 0, mpi_ns);
    // A gap has one operation after it, but may be in several ranges.
    ASSERT_EQ(static_cast<double>(SumOf(TableOf(idle, "idle_by_launch"), "gaps")), MetricOf(idle, "gaps.count"));
    ASSERT_EQ(static_cast<double>(SumOf(TableOf(idle, "idle_by_next"), "gaps")), MetricOf(idle, "gaps.count"));
    ASSERT_GE(static_cast<double>(SumOf(TableOf(idle, "idle_by_nvtx"), "gaps")), MetricOf(idle, "gaps.count"));
    const Table& lengths = TableOf(idle, "gap_lengths");
    ASSERT_EQ(static_cast<double>(SumOf(lengths, "idle_ns")), idle_ns);
    ASSERT_EQ(static_cast<double>(SumOf(lengths, "gaps")), MetricOf(idle, "gaps.count"));
  }
  EXPECT_GT(spread, 500);
}

TEST(RandomTraces, ShorterGapsAreMergedAndStillCount) {
  int64_t merged = 0;
  for (uint32_t seed = 0; seed < kTraces; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace trace = RandomTrace(seed);
    if (trace.ops.empty()) continue;
    const AnalysisResult all = RunIdle(trace, kAllRows), idle = RunIdle(trace, {.max_rows = 0, .min_gap_ns = 8});
    const Table& gaps = TableOf(idle, "gaps");
    ASSERT_EQ(SumOf(gaps, "duration_ns"), SumOf(TableOf(all, "gaps"), "duration_ns"));
    ASSERT_EQ(static_cast<double>(SumOf(gaps, "gaps")), MetricOf(idle, "gaps.count"));
    for (size_t row = 0; row < gaps.rows.size(); ++row) {
      if (IntOf(gaps, row, "gaps") == 1 && TextOf(gaps, row, "path") != "(1 shorter gap)") {
        ASSERT_GE(IntOf(gaps, row, "duration_ns"), 8);
      } else {
        ++merged;
        ASSERT_EQ(row + 1, gaps.rows.size());
      }
    }
    for (const Metric& metric : all.metrics) ASSERT_EQ(metric.value, MetricOf(idle, metric.id, metric.scope));
  }
  EXPECT_GT(merged, 100);
}

TEST(RandomTraces, StartUpAndTearDownAreThoseOfEveryNanosecond) {
  int64_t seen_ns = 0;
  for (uint32_t seed = 0; seed < kTraces; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace trace = RandomTrace(seed);
    const AnalysisResult idle = RunIdle(trace, kAllRows);
    int64_t expected_ns = 0;
    for (uint32_t device = 0; device < trace.devices.size(); ++device) {
      const OutsideTimes expected = LookOutside(trace, device);
      expected_ns += expected.startup_ns + expected.teardown_ns;
      ASSERT_EQ(HasMetric(idle, "gpu.startup_ns", Scope(trace, device)), HasOps(trace, device));
      if (!HasOps(trace, device)) continue;
      ASSERT_EQ(MetricOf(idle, "gpu.startup_ns", Scope(trace, device)),
                static_cast<double>(expected.longest_startup_ns));
      ASSERT_EQ(MetricOf(idle, "gpu.teardown_ns", Scope(trace, device)),
                static_cast<double>(expected.longest_teardown_ns));
    }
    const Table& table = TableOf(idle, "outside");
    ASSERT_EQ(SumOf(table, "startup_ns") + SumOf(table, "teardown_ns"), expected_ns);
    seen_ns += expected_ns;
  }
  EXPECT_GT(seen_ns, 1000);
}

TEST(RandomTraces, ConcurrencyIsThatOfEveryNanosecond) {
  for (uint32_t seed = 0; seed < kTraces; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace trace = RandomTrace(seed);
    const AnalysisResult result = RunStreams(trace, kAllRows);
    const Table& table = TableOf(result, "concurrency");
    std::map<std::pair<std::string, int64_t>, int64_t> actual, expected;
    for (size_t row = 0; row < table.rows.size(); ++row) {
      actual[{TextOf(table, row, "device"), IntOf(table, row, "streams")}] = IntOf(table, row, "time_ns");
    }
    for (uint32_t device = 0; device < trace.devices.size(); ++device) {
      const ReferenceTimes times = LookAtEveryNanosecond(trace, device);
      for (const auto& [level, time_ns] : times.time_by_level) expected[{Scope(trace, device), level}] = time_ns;
      if (times.window_ns == 0) continue;
      ASSERT_EQ(MetricOf(result, "streams.kernel_overlap_ns", Scope(trace, device)),
                static_cast<double>(times.kernel_overlap_ns));
      ASSERT_EQ(MetricOf(result, "streams.copy_compute_ns", Scope(trace, device)),
                static_cast<double>(times.copy_compute_ns));
    }
    ASSERT_EQ(actual, expected);
  }
}

TEST(RandomTraces, TablesSumToTheirMetrics) {
  for (uint32_t seed = 0; seed < kTraces; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace trace = RandomTrace(seed);
    const AnalysisResult kernels = RunKernels(trace, kAllRows), api = RunApi(trace, kAllRows),
                         copies = RunMemcpy(trace, kAllRows), sync = RunSync(trace, kAllRows),
                         nvtx = RunNvtx(trace, kAllRows);
    ASSERT_EQ(static_cast<double>(SumOf(TableOf(kernels, "kernels"), "total_ns")),
              MetricOf(kernels, "kernels.total_ns"));
    ASSERT_EQ(static_cast<double>(SumOf(TableOf(kernels, "kernels"), "count")), MetricOf(kernels, "kernels.count"));
    ASSERT_EQ(static_cast<double>(SumOf(TableOf(api, "api"), "total_ns")), MetricOf(api, "api.total_ns"));
    ASSERT_EQ(static_cast<double>(SumOf(TableOf(api, "api"), "count")), MetricOf(api, "api.calls"));
    ASSERT_EQ(static_cast<double>(SumOf(TableOf(copies, "memcpy"), "bytes")),
              MetricOf(copies, "memcpy.bytes") + MetricOf(copies, "memset.bytes"));
    ASSERT_EQ(static_cast<double>(SumOf(TableOf(copies, "memcpy"), "count")),
              MetricOf(copies, "memcpy.count") + MetricOf(copies, "memset.count"));
    ASSERT_EQ(static_cast<double>(SumOf(TableOf(copies, "pageable"), "time_ns")),
              MetricOf(copies, "memcpy.pageable_ns"));
    ASSERT_EQ(static_cast<double>(SumOf(TableOf(sync, "sync"), "total_ns")),
              MetricOf(sync, "sync.host_blocked_ns") + MetricOf(sync, "sync.copy_blocked_ns"));
    ASSERT_EQ(static_cast<double>(SumOf(TableOf(nvtx, "nvtx"), "count")), MetricOf(nvtx, "nvtx.ranges"));
  }
}

TEST(RandomTraces, EveryAnalysisGivesTheSameTwice) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const Trace trace = RandomTrace(seed);
    for (const Analysis& analysis : AllAnalyses()) {
      const AnalysisResult first = analysis.run(trace, {}), second = analysis.run(trace, {});
      ASSERT_EQ(first.tables.size(), second.tables.size());
      for (size_t i = 0; i < first.tables.size(); ++i) ASSERT_EQ(first.tables[i].rows, second.tables[i].rows);
      ASSERT_EQ(first.metrics.size(), second.metrics.size());
      for (size_t i = 0; i < first.metrics.size(); ++i) ASSERT_EQ(first.metrics[i].value, second.metrics[i].value);
    }
  }
}

}  // namespace
}  // namespace gprof::test
