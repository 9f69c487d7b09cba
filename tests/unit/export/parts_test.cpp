#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "../analysis/trace_maker.h"
#include "export/events/counter_curves.h"
#include "export/events/labels.h"
#include "export/events/lanes.h"
#include "export/events/projected_ranges.h"
#include "export/events/track_ids.h"
#include "export/export.h"
#include "export/output/json_text.h"

namespace gprof::test {
namespace {

TEST(Lanes, WhatNestsSharesALane) {
  Lanes lanes(Lanes::Nesting::kNested);
  EXPECT_EQ(lanes.Place({0, 10}), 0u);
  EXPECT_EQ(lanes.Place({0, 5}), 0u);
  EXPECT_EQ(lanes.Place({5, 10}), 0u);
  EXPECT_EQ(lanes.Place({10, 20}), 0u);
  EXPECT_EQ(lanes.Place({15, 25}), 1u);
  EXPECT_EQ(lanes.Place({16, 20}), 0u);
  EXPECT_EQ(lanes.Place({25, 25}), 0u);
}

TEST(Lanes, FlatLanesHoldOneAtATime) {
  Lanes lanes(Lanes::Nesting::kFlat);
  EXPECT_EQ(lanes.Place({0, 10}), 0u);
  EXPECT_EQ(lanes.Place({2, 5}), 1u);
  EXPECT_EQ(lanes.Place({5, 7}), 1u);
  EXPECT_EQ(lanes.Place({10, 11}), 0u);
}

TEST(Lanes, EndsAreToldInnermostFirst) {
  Lanes lanes(Lanes::Nesting::kNested);
  std::vector<int64_t> ends_ns;
  const auto note = [&](std::size_t, int64_t end_ns) { ends_ns.push_back(end_ns); };
  lanes.Place({0, 10}, note);
  lanes.Place({1, 9}, note);
  lanes.Place({2, 3}, note);
  lanes.Place({4, 5}, note);
  lanes.Place({12, 13}, note);
  lanes.Finish(note);
  EXPECT_EQ(ends_ns, (std::vector<int64_t>{3, 5, 9, 10, 13}));
}

// Two samples that follow each other, a gap, and a moment that holds for two periods.
Trace SampledTrace() {
  Trace trace = TraceMaker().Finish();
  trace.metric_sources.resize(1);
  trace.metric_sources[0].period_ns = 10;
  trace.metric_samples = {{0, 10, 5, 0}, {10, 20, 5, 0}, {20, 30, 7, 0}, {50, 60, 8, 0}, {60, 60, 9, 0}};
  return trace;
}

TEST(SampledCounter, HoldsOnlyWhatWasMeasured) {
  std::vector<std::pair<int64_t, int64_t>> points;
  for (const CounterPoint& point : SampledCounter(SampledTrace(), 0).points)
    points.emplace_back(point.time_ns, point.value);
  EXPECT_EQ(points, (std::vector<std::pair<int64_t, int64_t>>{
                        {0, 5}, {20, 7}, {30, kNotMeasured}, {50, 8}, {60, 9}, {80, kNotMeasured}}));
}

TEST(JsonText, MicrosecondsAreExact) {
  const auto text = [](int64_t ns) {
    std::string out;
    AppendMicroseconds(ns, &out);
    return out;
  };
  EXPECT_EQ(text(0), "0.000");
  EXPECT_EQ(text(1'234'567), "1234.567");
  EXPECT_EQ(text(-1), "-0.001");
  EXPECT_EQ(text(std::numeric_limits<int64_t>::min()), "-9223372036854775.808");
  EXPECT_EQ(text(std::numeric_limits<int64_t>::max()), "9223372036854775.807");
}

// Perfetto's way: a double, times a thousand, rounded. Two ranges that end together have to do so there.
TEST(JsonText, MicrosecondsAreExactForReadersOfDoubles) {
  std::mt19937_64 random(1);
  constexpr int kBitsOfWeek = 50;
  for (int bits = 30; bits < kBitsOfWeek; ++bits) {
    for (int i = 0; i < 2000; ++i) {
      const auto ns = static_cast<int64_t>((uint64_t{1} << bits) + random() % (uint64_t{1} << bits));
      std::string out;
      AppendMicroseconds(ns, &out);
      ASSERT_EQ(std::llround(std::strtod(out.c_str(), nullptr) * 1000), ns) << out;
      ASSERT_EQ(std::llround(std::strtold(out.c_str(), nullptr) * 1000), ns) << out;
    }
  }
}

TEST(JsonText, StringsAreEscapedAndNumbersThatAreNoneAreNull) {
  std::string out;
  AppendJsonString("a\"b\\c\n\t\x1f", &out);
  AppendJsonString("no quote after a \\", &out);
  AppendJsonNumber(std::numeric_limits<double>::quiet_NaN(), &out);
  EXPECT_EQ(out, R"("a\"b\\c\n\t\u001f""no quote after a \u005c"null)");
}

TEST(Labels, OneForEachName) {
  TraceMaker maker;
  maker.AddKernel(0, 1, kNone, "_Z4workPf");
  maker.AddKernel(2, 3, kNone, "_Z4workPf");
  maker.AddFill(4, 5, 16);
  const Trace trace = maker.Finish();
  Labels labels(trace);
  EXPECT_EQ(labels.Of(trace.ops[0]), labels.Of(trace.ops[1]));
  EXPECT_EQ(labels.Text(labels.Of(trace.ops[0])), "work(float*)");
  // The mangled name and the readable one are not the same.
  EXPECT_EQ(labels.Text(labels.Of(trace.ops[0].name)), "_Z4workPf");
  EXPECT_TRUE(labels.Text(labels.Of(trace.ops[2])).starts_with("Memset ("));
  EXPECT_EQ(labels.Of("ac2g"), labels.Of("ac2g"));
}

TEST(ProjectedRanges, CoverWhatWasLaunchedWithin) {
  TraceMaker maker;
  maker.AddRange(0, 100, "outer");
  maker.AddRange(10, 20, "outer/inner");
  maker.Launch(12, 14, 200, 210);
  maker.Launch(30, 32, 220, 250);
  Trace trace = maker.Finish();
  for (auto& call : trace.api_calls.items()) {
    for (uint32_t i = 0; i < trace.ranges.size(); ++i) {
      const NvtxRange& range = trace.ranges[i];
      if (range.start_ns <= call.start_ns() && call.start_ns() < range.end_ns) call.range = i;
    }
  }
  const std::vector<ProjectedRange> projected = ProjectRanges(trace);
  ASSERT_EQ(projected.size(), 2u);
  EXPECT_EQ(trace.Text(trace.ranges[projected[0].range].name), "outer");
  EXPECT_EQ(projected[0].time.start_ns, 200);
  EXPECT_EQ(projected[0].time.end_ns, 250);
  EXPECT_EQ(projected[0].op_count, 2u);
  EXPECT_EQ(trace.Text(trace.ranges[projected[1].range].name), "inner");
  EXPECT_EQ(projected[1].time.end_ns, 210);
}

TEST(TrackIds, NumbersAreGivenOutOnce) {
  TraceMaker maker;
  maker.AddProcess(maker.trace().processes[0].pid);
  maker.AddProcess(0);
  maker.AddDevice(1);
  const Trace trace = maker.Finish();
  TrackIds ids(trace);
  EXPECT_EQ(ids.Pid(0), trace.processes[0].pid);
  EXPECT_NE(ids.Pid(1), ids.Pid(0));
  EXPECT_NE(ids.Pid(2), 0u);
  EXPECT_EQ(ids.DevicePid(0), 0u);
  EXPECT_EQ(ids.DevicePid(1), 1u);
}

TEST(Exporters, FilesAreKnownByTheirNames) {
  ASSERT_NE(ExporterForPath("a/run.json.gz"), nullptr);
  EXPECT_EQ(ExporterForPath("a/run.json.gz")->name, "chrome");
  EXPECT_EQ(ExporterForPath("run.pftrace")->name, "perfetto");
  EXPECT_EQ(ExporterForPath("run.txt"), nullptr);
  for (const Exporter& exporter : AllExporters()) {
    EXPECT_EQ(FindExporter(exporter.name), &exporter);
    EXPECT_TRUE(exporter.write || exporter.write_file || exporter.write_folder) << exporter.name;
    EXPECT_FALSE(exporter.write && exporter.write_file) << exporter.name;
  }
}

}  // namespace
}  // namespace gprof::test
