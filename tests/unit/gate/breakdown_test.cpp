// Parts that sum to the whole, on traces made by hand and on many random ones.
#include "analysis/topics/breakdown/breakdown.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "../analysis/random_trace.h"
#include "../analysis/trace_maker.h"
#include "analysis/result/metrics.h"
#include "analysis/topics/analyses.h"
#include "base/expression/regular_expression.h"
#include "gate/breakdown/breakdown_json.h"
#include "gprof/error.h"
#include "trace/reshape/select.h"

namespace gprof::test {
namespace {

constexpr uint32_t kTraces = 400;

const PathTime* PathOf(const DeviceTime& device, const std::string& path) {
  for (const PathTime& time : device.paths) {
    if (time.path == path) return &time;
  }
  return nullptr;
}

Breakdown OfTwoKernelsAndACopy() {
  TraceMaker maker;
  maker.AddRange(0, 95, "step");
  maker.AddRange(5, 20, "step/load");
  const uint32_t copy = maker.AddCall(10, 12, "cudaMemcpyAsync");
  const uint32_t launch = maker.AddCall(30, 35, "cudaLaunchKernel");
  maker.AddCopy(15, 25, 64, trace::CopyKind::kHostToDevice, copy).source_memory = trace::MemoryKind::kPinned;
  maker.AddKernel(40, 60, launch, "first");
  maker.AddKernel(50, 70, launch, "second");
  return BreakDown(maker.Finish());
}

TEST(Breakdown, TakesAWindowApart) {
  const Breakdown breakdown = OfTwoKernelsAndACopy();
  ASSERT_EQ(breakdown.devices.size(), 1u);
  const DeviceTime& gpu = breakdown.devices[0];
  EXPECT_EQ(breakdown.wall_ns, 95);
  EXPECT_EQ(breakdown.launches, 1);
  EXPECT_EQ(gpu.device, "gpu0");
  EXPECT_EQ(gpu.before_ns, 15);
  EXPECT_EQ(gpu.window_ns, 55);
  EXPECT_EQ(gpu.after_ns, 25);
  EXPECT_EQ(gpu.unrecorded_ns, 0);
  EXPECT_EQ(gpu.KernelNs(), 40);
  EXPECT_EQ(gpu.CopyNs(), 10);
  EXPECT_EQ(gpu.FillNs(), 0);
  EXPECT_EQ(gpu.hidden_ns, 10);
  EXPECT_EQ(gpu.IdleNs(), 15);
  EXPECT_EQ(gpu.idle_ns[static_cast<size_t>(Cause::kHost)], 5);
  EXPECT_EQ(gpu.idle_ns[static_cast<size_t>(Cause::kLaunch)], 10);
  EXPECT_TRUE(AddsUp(breakdown));
}

TEST(Breakdown, NamesWhatRan) {
  const DeviceTime gpu = OfTwoKernelsAndACopy().devices[0];
  ASSERT_EQ(gpu.kernels.size(), 2u);
  EXPECT_EQ(gpu.kernels[0].name, "first");
  EXPECT_EQ(gpu.kernels[0].path, "step");
  EXPECT_EQ(gpu.kernels[0].place, 0);
  EXPECT_EQ(gpu.kernels[1].place, 1);
  ASSERT_EQ(gpu.transfers.size(), 1u);
  EXPECT_EQ(gpu.transfers[0].direction, "host to device");
  EXPECT_EQ(gpu.transfers[0].memory.substr(0, 10), "pinned to ");
  EXPECT_EQ(gpu.transfers[0].size_bytes, 64);
}

TEST(Breakdown, GivesAPathWhatWasLaunchedInItAlone) {
  const DeviceTime gpu = OfTwoKernelsAndACopy().devices[0];
  const PathTime* step = PathOf(gpu, "step");
  const PathTime* load = PathOf(gpu, "step/load");
  ASSERT_NE(step, nullptr);
  ASSERT_NE(load, nullptr);
  EXPECT_EQ(step->operations, 2);
  EXPECT_EQ(step->operation_ns, 40);
  EXPECT_EQ(step->hidden_ns, 10);
  EXPECT_EQ(step->idle_ns, 15);
  EXPECT_EQ(load->operation_ns, 10);
  EXPECT_EQ(step->WindowNs() + load->WindowNs(), gpu.window_ns);
}

TEST(Breakdown, CountsGraphsApart) {
  TraceMaker maker;
  maker.AddKernel(10, 20).kind = OpKind::kGraph;
  maker.AddKernel(30, 35);
  const DeviceTime gpu = BreakDown(maker.Finish()).devices[0];
  EXPECT_EQ(gpu.GraphNs(), 10);
  EXPECT_EQ(gpu.KernelNs(), 5);
}

TEST(Breakdown, FindsTheStepThatIsAskedFor) {
  TraceMaker maker;
  for (int64_t i = 0; i < 6; ++i) {
    maker.AddRange(100 * i, 100 * i + 90, "step");
    maker.AddRange(100 * i + 10, 100 * i + 40, "step/load");
    const uint32_t call = maker.AddCall(100 * i + 20, 100 * i + 25, "cudaLaunchKernel");
    maker.AddKernel(100 * i + 30, 100 * i + 80, call);
  }
  const Trace trace = maker.Finish();
  const Breakdown found = BreakDown(trace), asked = BreakDown(trace, "load");
  ASSERT_TRUE(found.steps && asked.steps);
  EXPECT_EQ(found.steps->path, "step");
  EXPECT_EQ(found.steps->count, 6);
  EXPECT_EQ(found.steps->total_ns, 540);
  EXPECT_EQ(asked.steps->path, "step/load");
  EXPECT_EQ(asked.steps->median_ns, 30);
  EXPECT_FALSE(BreakDown(trace, "nothing").steps);
}

TEST(Breakdown, OfATraceWithoutGpuWorkIsItsWallTime) {
  TraceMaker maker;
  maker.AddRange(10, 50, "step");
  const Breakdown breakdown = BreakDown(maker.Finish());
  EXPECT_TRUE(breakdown.devices.empty());
  ASSERT_EQ(breakdown.ranges.size(), 1u);
  EXPECT_EQ(breakdown.ranges[0].host_ns, 40);
}

// What a random seed selects; traces without anything like it are left out.
std::vector<Selection> Selections() {
  std::vector<Selection> all(6);
  all[1].devices = {0};
  all[2].nvtx = "step*";
  all[3].time = Interval{40, 210};
  all[4].capture = 1;
  all[5].kernel = {"first", RegularExpression("first", "")};
  return all;
}

void ExpectSums(const Trace& trace) {
  const Breakdown breakdown = BreakDown(trace);
  ASSERT_TRUE(AddsUp(breakdown));
  const AnalysisResult idle = RunIdle(trace, {}), devices = RunDevices(trace, {}), kernels = RunKernels(trace, {}),
                       copies = RunMemcpy(trace, {});
  int64_t kernel_ns = 0, copy_ns = 0, fill_ns = 0;
  for (const DeviceTime& gpu : breakdown.devices) {
    ASSERT_GE(gpu.before_ns, 0);
    ASSERT_GE(gpu.after_ns, 0);
    ASSERT_GE(gpu.unrecorded_ns, 0);
    ASSERT_EQ(static_cast<double>(gpu.window_ns), MetricOf(devices, "gpu.window_ns", gpu.device));
    ForEachCause([&](Cause cause) {
      ASSERT_EQ(static_cast<double>(gpu.idle_ns[static_cast<size_t>(cause)]),
                MetricOf(idle, InfoOf(cause).metric, gpu.device));
    });
    kernel_ns += gpu.KernelNs();
    copy_ns += gpu.CopyNs();
    fill_ns += gpu.FillNs();
    int64_t paths_ns = 0;
    for (const PathTime& path : gpu.paths) paths_ns += path.WindowNs();
    ASSERT_EQ(paths_ns, gpu.window_ns);
  }
  ASSERT_EQ(static_cast<double>(kernel_ns), MetricOf(kernels, "kernels.total_ns"));
  ASSERT_EQ(static_cast<double>(copy_ns), MetricOf(copies, "memcpy.total_ns"));
  ASSERT_EQ(static_cast<double>(fill_ns), MetricOf(copies, "memset.total_ns"));
  ASSERT_EQ(static_cast<double>(breakdown.launches), MetricOf(kernels, "launches.count"));
}

TEST(RandomBreakdowns, SumToTheWholeWhateverIsSelected) {
  std::vector<int64_t> used(Selections().size());
  for (uint32_t seed = 0; seed < kTraces; ++seed) {
    for (size_t i = 0; i < used.size(); ++i) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", selection " + std::to_string(i));
      Trace trace;
      try {
        trace = RandomTrace(seed);
        for (uint32_t c = 0; c < trace.captures.size(); ++c) trace.captures[c].number = c + 1;
        trace = Select(std::move(trace), Selections()[i]);
      } catch (const Error&) {
        continue;  // selects nothing
      }
      used[i] += !trace.ops.empty();
      ASSERT_NO_FATAL_FAILURE(ExpectSums(trace));
    }
  }
  for (size_t i = 0; i < used.size(); ++i) EXPECT_GT(used[i], 50) << "selection " << i;
}

TEST(RandomBreakdowns, StaySoInADocument) {
  for (uint32_t seed = 0; seed < kTraces; ++seed) {
    const nlohmann::ordered_json json = BreakdownJson(BreakDown(RandomTrace(seed)));
    ASSERT_EQ(BreakdownJson(BreakdownFrom(nlohmann::ordered_json::parse(json.dump()))), json) << seed;
  }
}

TEST(BreakdownDocument, RefusesWhatDoesNotAddUp) {
  nlohmann::ordered_json json = BreakdownJson(OfTwoKernelsAndACopy());
  EXPECT_NO_THROW(BreakdownFrom(json));
  for (const char* path : {"/wall_ns", "/devices/0/window_ns", "/devices/0/hidden_ns", "/devices/0/kernels/0/total_ns",
                           "/devices/0/paths/0/operation_ns", "/devices/0/idle_ns/host"}) {
    nlohmann::ordered_json changed = json;
    nlohmann::ordered_json& number = changed[nlohmann::ordered_json::json_pointer(path)];
    number = number.get<int64_t>() + 1;
    EXPECT_THROW(BreakdownFrom(changed), Error) << path;
  }
  json["devices"][0].erase("kernels");
  EXPECT_THROW(BreakdownFrom(json), nlohmann::json::exception);
  EXPECT_THROW(BreakdownFrom(nlohmann::ordered_json::array()), nlohmann::json::exception);
}

TEST(BreakdownDocument, CountsACauseOfANewerBuildAsUnknown) {
  nlohmann::ordered_json json = BreakdownJson(OfTwoKernelsAndACopy());
  json["devices"][0]["idle_ns"] = {{"host", 5}, {"brand-new", 10}};
  const Breakdown read = BreakdownFrom(json);
  EXPECT_EQ(read.devices[0].idle_ns[static_cast<size_t>(Cause::kUnknown)], 10);
}

}  // namespace
}  // namespace gprof::test
