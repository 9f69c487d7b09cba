// The parts of a comparison sum to the whole, and what is said of them is what is the case.
#include "gate/diff/diff.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../analysis/random_trace.h"
#include "../analysis/trace_maker.h"
#include "base/expression/regular_expression.h"
#include "gate/diff/diff_words.h"
#include "gprof/error.h"
#include "trace/reshape/select.h"

namespace gprof::test {
namespace {

RunSet SetOf(std::vector<Trace> traces) {
  RunSet set;
  set.name = "set";
  for (Trace& trace : traces) {
    trace.health.unfinished_processes = 0;
    set.runs.push_back(Measure(trace));
    set.runs.back().source = "run " + std::to_string(set.runs.size());
  }
  return set;
}

// A kernel of this length after a copy, in a range.
Trace CopyAndKernel(int64_t kernel_ns) {
  TraceMaker maker;
  maker.AddRange(0, 2000 + kernel_ns, "step");
  const uint32_t copy = maker.AddCall(100, 120, "cudaMemcpyAsync"),
                 launch = maker.AddCall(130, 150, "cudaLaunchKernel");
  maker.AddCopy(200, 1200, 64, trace::CopyKind::kHostToDevice, copy);
  maker.AddKernel(1300, 1300 + kernel_ns, launch, "work");
  return maker.Finish();
}

RunSet Runs(const std::vector<int64_t>& kernel_ns) {
  std::vector<Trace> traces;
  for (const int64_t ns : kernel_ns) traces.push_back(CopyAndKernel(ns));
  return SetOf(std::move(traces));
}

template <class Rows, class F>
int64_t SumOf(const Rows& rows, F&& value) {
  int64_t sum = 0;
  for (const auto& row : rows) sum += value(row);
  return sum;
}

const PartChange& PartOf(const Diff& diff, const std::string& key) {
  static const PartChange none;
  for (const PartChange& part : diff.parts) {
    if (part.key == key) return part;
  }
  ADD_FAILURE() << "no part " << key;
  return none;
}

int64_t KernelsAndGraphs(const std::vector<PartChange>& parts) {
  return SumOf(parts, [](const PartChange& part) {
    return part.key == "kernels" || part.key == "graphs" ? part.time.ChangeNs() : 0;
  });
}

void ExpectSums(const Diff& diff) {
  const auto change = [](const auto& row) { return row.time.ChangeNs(); };
  const auto in_window = [](const PartChange& part) { return part.is_in_window ? part.time.ChangeNs() : 0; };
  ASSERT_EQ(SumOf(diff.parts, in_window), diff.window.ChangeNs());
  ASSERT_EQ(SumOf(diff.parts, change), diff.gpu_wall.ChangeNs());
  ASSERT_EQ(SumOf(diff.parts, [](const PartChange& part) { return part.time.base_ns; }), diff.gpu_wall.base_ns);
  ASSERT_EQ(SumOf(diff.parts, [](const PartChange& part) { return part.time.new_ns; }), diff.gpu_wall.new_ns);
  ASSERT_EQ(SumOf(diff.paths, [](const PathChange& path) { return path.window.ChangeNs(); }), diff.window.ChangeNs());
  for (const PathChange& path : diff.paths) {
    ASSERT_EQ(path.busy.ChangeNs() + path.idle.ChangeNs(), path.window.ChangeNs());
  }
  ASSERT_EQ(SumOf(diff.kernels, change), KernelsAndGraphs(diff.parts));
  ASSERT_EQ(SumOf(diff.transfers, change), SumOf(diff.parts, [](const PartChange& part) {
              return part.key == "copies" || part.key == "fills" ? part.time.ChangeNs() : 0;
            }));
  ASSERT_EQ(SumOf(diff.devices, [](const DeviceChange& device) { return device.window.ChangeNs(); }),
            diff.window.ChangeNs());
  for (const DeviceChange& device : diff.devices) {
    ASSERT_EQ(SumOf(device.parts, in_window), device.window.ChangeNs());
    ASSERT_EQ(SumOf(device.parts, change), device.wall.ChangeNs());
  }
  if (!diff.steps) return;
  ASSERT_EQ(SumOf(diff.steps->parts, [](const StepPartChange& part) { return part.base_total_ns; }),
            diff.steps->base_total_ns);
  ASSERT_EQ(SumOf(diff.steps->parts, [](const StepPartChange& part) { return part.new_total_ns; }),
            diff.steps->new_total_ns);
}

TEST(RandomDiffs, PartsSumToTheWhole) {
  int64_t several_gpus = 0, captures = 0, renamed = 0, steps = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Trace base = RandomTrace(seed), now = RandomTrace(seed + 1000);
    captures += !base.captures.empty();
    const Diff diff = CompareRuns(SetOf({std::move(base)}), SetOf({std::move(now)}));
    ASSERT_NO_FATAL_FAILURE(ExpectSums(diff));
    several_gpus += diff.devices.size() > 1;
    steps += diff.steps.has_value();
    for (const KernelChange& kernel : diff.kernels) renamed += kernel.presence == Presence::kRenamed;
  }
  EXPECT_GT(several_gpus, 50);
  EXPECT_GT(captures, 50);
}

TEST(RandomDiffs, PartsOfSelectionsSumToTheWhole) {
  std::vector<Selection> selections(3);
  selections[0].nvtx = "step*";
  selections[1].time = Interval{40, 210};
  selections[2].kernel = {"second", RegularExpression("second", "")};
  int64_t compared = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    for (const Selection& selection : selections) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      try {
        const Diff diff = CompareRuns(SetOf({Select(RandomTrace(seed), selection)}),
                                      SetOf({Select(RandomTrace(seed + 1000), selection)}));
        ASSERT_NO_FATAL_FAILURE(ExpectSums(diff));
        ++compared;
      } catch (const Error&) {  // selects nothing
      }
    }
  }
  EXPECT_GT(compared, 100);
}

TEST(RandomDiffs, OfATraceWithItselfAreNone) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const Diff diff = CompareRuns(SetOf({RandomTrace(seed)}), SetOf({RandomTrace(seed)}));
    ASSERT_TRUE(diff.metrics.empty()) << seed;
    for (const PartChange& part : diff.parts) ASSERT_EQ(part.time.ChangeNs(), 0);
    for (const KernelChange& kernel : diff.kernels) ASSERT_EQ(kernel.presence, Presence::kBoth);
    ASSERT_EQ(diff.worse_counters + diff.better_counters, 0);
  }
}

// The change has the other sign, and nothing else is different.
TEST(RandomDiffs, TurnedAroundAreTheSameWithTheOtherSign) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const RunSet a = SetOf({RandomTrace(seed)}), b = SetOf({RandomTrace(seed + 1000)});
    const Diff there = CompareRuns(a, b), back = CompareRuns(b, a);
    ASSERT_EQ(there.window.ChangeNs(), -back.window.ChangeNs());
    ASSERT_EQ(there.parts.size(), back.parts.size());
    for (size_t i = 0; i < there.parts.size(); ++i) {
      ASSERT_EQ(there.parts[i].key, back.parts[i].key);
      ASSERT_EQ(there.parts[i].time.ChangeNs(), -back.parts[i].time.ChangeNs());
    }
    ASSERT_EQ(there.worse_counters, back.better_counters) << seed;
  }
}

TEST(Diff, OneRunEachIsNotJudged) {
  const Diff diff = CompareRuns(Runs({1000}), Runs({2000}));
  EXPECT_FALSE(diff.is_judged);
  EXPECT_EQ(diff.verdict, Change::kInconclusive);
  EXPECT_FALSE(PartOf(diff, "kernels").time.judged);
  EXPECT_EQ(PartOf(diff, "kernels").time.ChangeNs(), 1000);
  EXPECT_EQ(VerdictText(diff),
            "not judged: one run per side cannot tell a change from noise. For a verdict record >= 5 runs per side "
            "(gprof-cli profile --repeat 5 APP), or mark >= 20 steps with an NVTX range");
}

// Steps that differ by up to 4 ns of 1,000.
Trace ManySteps(int64_t count, int64_t kernel_ns) {
  TraceMaker maker;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at_ns = 4000 * i, length_ns = kernel_ns + i * 7 % 5;
    maker.AddRange(at_ns, at_ns + 100 + length_ns, "step");
    maker.AddKernel(at_ns + 50, at_ns + 50 + length_ns, maker.AddCall(at_ns + 10, at_ns + 20, "cudaLaunchKernel"));
  }
  return maker.Finish();
}

TEST(Diff, OneRunEachIsJudgedByItsStepsWhereThereAreEnough) {
  const Diff slower = CompareRuns(SetOf({ManySteps(40, 1000)}), SetOf({ManySteps(40, 1300)}));
  EXPECT_TRUE(slower.is_judged);
  EXPECT_EQ(slower.figure, "step time");
  EXPECT_EQ(slower.verdict, Change::kRegressed);
  EXPECT_NE(VerdictText(slower).find("judged by the steps within one run per side"), std::string::npos)
      << VerdictText(slower);
  EXPECT_FALSE(PartOf(slower, "kernels").time.judged);  // of runs there is one each
  EXPECT_EQ(CompareRuns(SetOf({ManySteps(40, 1000)}), SetOf({ManySteps(40, 1001)})).verdict, Change::kSame);
  EXPECT_FALSE(CompareRuns(SetOf({ManySteps(19, 1000)}), SetOf({ManySteps(40, 1300)})).is_judged);
}

// Runs differ by more than their steps do: 4 % between one run and another is no change yet.
TEST(Diff, StepsOfOneRunDoNotMakeASmallDifferenceAChange) {
  const Diff diff = CompareRuns(SetOf({ManySteps(40, 1000)}), SetOf({ManySteps(40, 1040)}));
  EXPECT_TRUE(diff.is_judged);
  EXPECT_NE(diff.verdict, Change::kRegressed);
}

const std::vector<int64_t> kOld = {1000, 1010, 990, 1005, 995, 1002}, kSlow = {1500, 1510, 1490, 1505, 1495, 1502};

TEST(Diff, SetsAreJudgedByAllRunsAndShownByTheMedianOne) {
  const Diff diff = CompareRuns(Runs(kOld), Runs(kSlow));
  EXPECT_TRUE(diff.is_judged);
  EXPECT_EQ(diff.figure, "GPU window");
  EXPECT_EQ(diff.verdict, Change::kRegressed);
  EXPECT_EQ(diff.base.shown, 0u);  // 1000 is the lower one in the middle
  EXPECT_EQ(PartOf(diff, "kernels").time.ChangeNs(), 500);
  ASSERT_TRUE(PartOf(diff, "kernels").time.judged);
  EXPECT_EQ(PartOf(diff, "kernels").time.judged->change, Change::kRegressed);
  EXPECT_EQ(PartOf(diff, "copies").time.judged->change, Change::kSame);
  ASSERT_NO_FATAL_FAILURE(ExpectSums(diff));
  EXPECT_EQ(CompareRuns(Runs(kSlow), Runs(kOld)).verdict, Change::kImproved);
  EXPECT_EQ(CompareRuns(Runs(kOld), Runs(kOld)).verdict, Change::kSame);
}

TEST(Diff, SmallChangesAreWhatTheRulesSay) {
  DiffOptions options;
  options.min_relative = 0.5;
  EXPECT_NE(CompareRuns(Runs(kOld), Runs(kSlow), options).verdict, Change::kRegressed);
  options = {};
  options.min_absolute_ns = 600;
  EXPECT_NE(CompareRuns(Runs(kOld), Runs(kSlow), options).verdict, Change::kRegressed);
  options.min_absolute_ns = 400;
  EXPECT_EQ(CompareRuns(Runs(kOld), Runs(kSlow), options).verdict, Change::kRegressed);
}

// Whatever says that two runs cannot be compared keeps times from being judged, and counters are still judged.
TEST(Diff, TimesOfOtherMachinesOrIncompleteRunsAreNotJudged) {
  const auto changed = [](RunSet set, const std::function<void(Measurement*)>& change) {
    for (Measurement& run : set.runs) change(&run);
    return set;
  };
  const RunSet old = changed(Runs(kOld), [](Measurement* run) { run->fingerprint.driver_version = "12.4"; });
  const RunSet other = changed(Runs(kSlow), [](Measurement* run) { run->fingerprint.driver_version = "13.0"; });
  const Diff of_others = CompareRuns(old, other);
  EXPECT_FALSE(of_others.is_judged);
  EXPECT_EQ(of_others.differences.size(), 1u);
  const Diff incomplete =
      CompareRuns(Runs(kOld), changed(Runs(kSlow), [](Measurement* run) { run->is_complete = false; }));
  EXPECT_FALSE(incomplete.is_judged);
  RunSet mixed = Runs(kOld);
  mixed.runs.front().fingerprint.gpus = {"NVIDIA A100"};
  mixed.runs.back().fingerprint.gpus = {"NVIDIA H100"};
  EXPECT_FALSE(CompareRuns(mixed, Runs(kSlow)).is_judged);
}

TEST(Diff, ASetWithoutGpuWorkIsNoImprovement) {
  TraceMaker maker;
  maker.AddRange(0, 500, "step");
  const Trace idle = maker.Finish();
  const Diff diff = CompareRuns(Runs(kOld), SetOf({idle, idle, idle, idle, idle, idle}));
  EXPECT_FALSE(diff.is_judged);
  EXPECT_EQ(GpuText(diff).substr(0, 23), "NEW has no GPU work, BA");
}

TEST(Diff, CountersAreExactWithOneRunEach) {
  Diff diff = CompareRuns(Runs({1000}), Runs({1000}));
  EXPECT_EQ(diff.worse_counters, 0);
  TraceMaker maker;
  const uint32_t call = maker.AddCall(130, 150, "cudaLaunchKernel"), next = maker.AddCall(160, 170, "cudaLaunchKernel");
  maker.AddKernel(1300, 1400, call, "work");
  maker.AddKernel(1400, 1500, next, "work");
  diff = CompareRuns(SetOf({CopyAndKernel(1000)}), SetOf({maker.Finish()}));
  EXPECT_EQ(diff.base_launches, 1);
  EXPECT_EQ(diff.new_launches, 2);
  EXPECT_GT(diff.worse_counters, 0);   // launches.count
  EXPECT_GT(diff.better_counters, 0);  // memcpy.count
  EXPECT_NE(CounterText(diff).find("launches.count 1 -> 2"), std::string::npos);
}

TEST(Diff, RunsOfDifferentLengthAreComparedByTheStep) {
  const auto steps = [](int64_t count, int64_t kernel_ns) {
    TraceMaker maker;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at_ns = 2000 * i;
      maker.AddRange(at_ns, at_ns + 100 + kernel_ns, "step");
      maker.AddKernel(at_ns + 50, at_ns + 50 + kernel_ns, maker.AddCall(at_ns + 10, at_ns + 20, "cudaLaunchKernel"));
    }
    return maker.Finish();
  };
  const Diff diff = CompareRuns(SetOf({steps(10, 1000)}), SetOf({steps(6, 1200)}));
  ASSERT_TRUE(diff.steps);
  EXPECT_EQ(diff.figure, "step time");
  EXPECT_LT(diff.window.ChangeNs(), 0);
  EXPECT_EQ(diff.steps->base_median_ns, 1100);
  EXPECT_EQ(diff.steps->new_median_ns, 1300);
  EXPECT_EQ(diff.steps->base_count, 10);
  EXPECT_EQ(diff.steps->new_count, 6);
  EXPECT_NE(StepText(diff).find("NEW 200 ns (18.2%) slower"), std::string::npos) << StepText(diff);
  EXPECT_NE(WorkText(diff).find("10 -> 6 steps"), std::string::npos);
}

// A machine that gets slower all the time hides a small change from sets, and not from pairs.
TEST(Diff, PairsSeeThroughDrift) {
  std::vector<int64_t> base, now;
  for (int64_t i = 0; i < 10; ++i) {
    base.push_back(10'000 + 1000 * i + 7 * (i % 3));
    now.push_back(10'700 + 1000 * i + 7 * (i % 2));
  }
  DiffOptions options;
  EXPECT_NE(CompareRuns(Runs(base), Runs(now), options).verdict, Change::kRegressed);
  options.are_pairs = true;
  EXPECT_EQ(CompareRuns(Runs(base), Runs(now), options).verdict, Change::kRegressed);
}

TEST(Diff, NeedsRunsOnBothSides) { EXPECT_THROW(CompareRuns(Runs({1000}), RunSet{}), Error); }

}  // namespace
}  // namespace gprof::test
