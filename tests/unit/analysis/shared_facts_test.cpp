// Facts of operations and calls against what each of them says itself, and depths of queues against a count.

#include "analysis/facts/shared_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "analysis/facts/operations/operations.h"
#include "analysis/topics/launches/queue_depth.h"
#include "random_trace.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

constexpr uint32_t kSeeds = 100;

TEST(OpFacts, SayWhatEachOperationSays) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Trace trace = RandomTrace(seed);
    const OpFacts facts(trace);
    std::vector<int64_t> of_name(trace.strings.size(), 0);
    std::vector<uint32_t> of_stream(trace.streams.size(), 0), transfers, first_of(trace.processes.size(), kNone);
    int64_t time_ns = 0;
    for (uint32_t i = 0; i < trace.ops.size(); ++i) {
      const GpuOp op = trace.ops[i];
      const uint32_t call = OutermostCall(trace, op.api);
      ASSERT_EQ(facts.CallOf(i), call) << seed;
      ASSERT_EQ(facts.LaunchNs(i), call == kNone ? op.start_ns : trace.api_calls[call].start_ns) << seed;
      ASSERT_TRUE(call == kNone || facts.HasOp(call)) << seed;
      if (op.kind == OpKind::kKernel) ++of_name[op.name.value];
      if (op.stream != kNone) ++of_stream[op.stream];
      if (op.IsCopy() || op.kind == OpKind::kMemset) transfers.push_back(i);
      time_ns += op.DurationNs();
      if (op.process == kNone) continue;
      uint32_t& first = first_of[op.process];
      if (first == kNone || op.start_ns < trace.ops[first].start_ns) first = i;
    }
    EXPECT_EQ(facts.kernels_of_name(), of_name) << seed;
    EXPECT_EQ(facts.counts_of_streams(), of_stream) << seed;
    EXPECT_EQ(facts.transfers(), transfers) << seed;
    for (uint32_t i = 0; i < first_of.size(); ++i) EXPECT_EQ(facts.FirstOf(i), first_of[i]) << seed;
    int64_t sum_ns = 0;
    for (const OpFacts::Sum& sum : facts.sums()) sum_ns += sum.time_ns;
    EXPECT_EQ(sum_ns, time_ns) << seed;
  }
}

TEST(OpFacts, FollowInnerCallsToThoseOfTheProgram) {
  TraceMaker maker;
  const uint32_t outer = maker.AddCall(100, 200, "cudaLaunchKernel");
  const uint32_t inner = maker.AddInnerCall(120, 180, "cuLaunchKernel", outer);
  maker.Launch(300, 400, 500, 600);
  maker.Launch(10, 20, 900, 950).api = inner;
  const Trace trace = maker.Finish();
  const OpFacts facts(trace);
  ASSERT_EQ(trace.ops.size(), 2u);
  for (uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(facts.CallOf(i), OutermostCall(trace, trace.ops[i].api));
    EXPECT_EQ(trace.api_calls[facts.CallOf(i)].parent, kNone);
    EXPECT_EQ(facts.LaunchNs(i), trace.api_calls[facts.CallOf(i)].start_ns);
  }
}

TEST(CallFacts, SayWhatEachCallSays) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Trace trace = RandomTrace(seed);
    const CallFacts facts(trace);
    int64_t count = 0, total_ns = 0, last_end_ns = std::numeric_limits<int64_t>::min();
    std::vector<uint32_t> of_function(trace.strings.size(), 0), failed;
    std::vector<int64_t> starts_ns(trace.processes.size(), std::numeric_limits<int64_t>::max());
    for (uint32_t i = 0; i < trace.api_calls.size(); ++i) {
      const ApiCall call = trace.api_calls[i];
      if (call.thread != kNone) last_end_ns = std::max(last_end_ns, call.end_ns);
      if (call.process != kNone) starts_ns[call.process] = std::min(starts_ns[call.process], call.start_ns);
      if (call.parent != kNone) continue;
      ++count;
      total_ns += call.DurationNs();
      ++of_function[call.function.value];
      if (call.result != 0) failed.push_back(i);
    }
    EXPECT_EQ(facts.count(), count) << seed;
    EXPECT_EQ(facts.total_ns(), total_ns) << seed;
    EXPECT_EQ(facts.counts_of_functions(), of_function) << seed;
    EXPECT_EQ(facts.failed(), failed) << seed;
    for (uint32_t i = 0; i < starts_ns.size(); ++i) EXPECT_EQ(facts.StartOf(i), starts_ns[i]) << seed;
    const int64_t end_ns =
        facts.last_ended() == kNone ? std::numeric_limits<int64_t>::min() : trace.api_calls[facts.last_ended()].end_ns;
    EXPECT_EQ(end_ns, last_end_ns) << seed;
  }
}

TEST(RangeFacts, SayWhatEachRangeSays) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Trace trace = RandomTrace(seed);
    const RangeFacts facts(trace);
    std::vector<uint32_t> counts(trace.ranges.TraitsCount(), 0), whole(counts);
    for (const PackedRanges::Item& range : trace.ranges.items()) {
      ++counts[range.traits];
      whole[range.traits] += RangeFacts::IsWhole(range);
      if (!RangeFacts::IsWhole(range)) continue;
      EXPECT_LE(facts.sums()[range.traits].least_depth, range.depth) << seed;
      EXPECT_GE(facts.sums()[range.traits].most_depth, range.depth) << seed;
    }
    for (uint32_t i = 0; i < counts.size(); ++i) {
      EXPECT_EQ(facts.sums()[i].count, counts[i]) << seed;
      EXPECT_EQ(facts.sums()[i].whole, whole[i]) << seed;
    }
    for (uint32_t thread = 0; thread < trace.threads.size(); ++thread) {
      bool has_start_end = false;
      int64_t last_ns = std::numeric_limits<int64_t>::min();
      for (uint32_t i = trace.thread_ranges[thread].first; i < trace.thread_ranges[thread].last; ++i) {
        const NvtxRange range = trace.ranges[i];
        has_start_end |= !range.is_push_pop;
        last_ns = std::max(last_ns, range.is_push_pop ? range.end_ns : range.start_ns);
      }
      EXPECT_EQ(facts.HasStartEnd(thread), has_start_end) << seed;
      EXPECT_EQ(facts.LastOf(thread), last_ns) << seed;
    }
  }
}

// Of the outermost ones, which are few in the one trace and many in the other, there is a list or none.
TEST(RangeFacts, TellRangesOfADepth) {
  for (const int64_t inner : {0, 20}) {
    TraceMaker maker;
    maker.AddThread(0, 101);
    constexpr int64_t kSteps = 5, kStepNs = 1000;
    for (int64_t at_ns = 0; at_ns < kSteps * kStepNs; at_ns += kStepNs) {
      maker.AddRange(at_ns, at_ns + 900, "step");
      for (int64_t i = 0; i < inner; ++i) {
        maker.AddRange(at_ns + 10 * i + 1, at_ns + 10 * i + 9, "step/layer").depth = 1;
      }
      maker.AddRange(at_ns + 100, at_ns + 200, "other", 1);
    }
    const Trace trace = maker.Finish();
    const RangeFacts facts(trace);
    for (const uint32_t thread : {0u, 1u}) {
      for (const uint16_t depth : {uint16_t{0}, uint16_t{1}, uint16_t{2}}) {
        std::vector<uint32_t> expected, told;
        for (uint32_t i = trace.thread_ranges[thread].first; i < trace.thread_ranges[thread].last; ++i) {
          if (trace.ranges[i].depth == depth) expected.push_back(i);
        }
        facts.ForEachWhole(thread, depth, [&](uint32_t range) { told.push_back(range); });
        EXPECT_EQ(told, expected) << inner << " " << thread << " " << depth;
      }
    }
  }
}

// Enough operations for several pieces, which long operations reach across and which may be all copies. Some were
// launched before the gap that they ended, or while it lasted, and some in it.
Trace ManyOps(uint32_t seed) {
  TraceMaker maker;
  std::mt19937 random(seed);
  int64_t now_ns = 1000;
  for (int64_t i = 0; i < 70'000; ++i) {
    now_ns += random() % 50;
    if (random() % 20'000 == 0) now_ns += 5'000'000'000;  // longer than 4 bytes hold
    const bool is_long = random() % 10'000 == 0, is_copies_only = i > 20'000 && i < 55'000;
    const int64_t end_ns = now_ns + (is_long ? 400'000 : static_cast<int64_t>(random() % 60));
    if (is_copies_only) {
      maker.AddFill(now_ns, end_ns, 64);
    } else if (random() % 4 == 0) {
      maker.AddKernel(now_ns, end_ns);
    } else {
      const int64_t launch_ns = now_ns - static_cast<int64_t>(random() % 40);
      maker.Launch(launch_ns, launch_ns + random() % 30, now_ns, end_ns);
    }
  }
  return maker.Finish();
}

TEST(GapList, SaysWhenTheDeviceWasBusy) {
  for (uint32_t seed = 0; seed < 4; ++seed) {
    const Trace trace = ManyOps(seed);
    const RecordedTime recorded(trace);
    const GapList gaps(trace, recorded, 0);
    int64_t idle_ns = 0, ended_ns = trace.ops[0].start_ns;
    for (uint32_t i = 0; i < trace.ops.size(); ++i) {
      ASSERT_EQ(gaps.IdleBefore(i), std::max<int64_t>(trace.ops[i].start_ns - ended_ns, 0)) << seed << " " << i;
      ended_ns = std::max(ended_ns, trace.ops[i].end_ns);
      idle_ns += gaps.IdleBefore(i);
    }
    EXPECT_EQ(trace.ops[gaps.last_ended()].end_ns, ended_ns);
    EXPECT_EQ(gaps.busy().any.busy_ns() + idle_ns, gaps.window_ns());
  }
}

TEST(QueueDepth, OfLaunchesInAnyOrder) {
  for (const int64_t streams : {1, 3, 16, 40}) {
    TraceMaker maker;
    constexpr int64_t kFirstStartNs = 1'000'000, kLaunches = 50;
    std::vector<Interval> waits;
    for (int64_t i = 0; i < streams * kLaunches; ++i) {
      // The later a stream comes, the further it runs ahead: launched earlier, started later.
      const int64_t stream = i % streams, number = i / streams;
      const int64_t launch_ns = 1000 + number * 37 + (streams - stream) * 5000, start_ns = kFirstStartNs + i * 10;
      maker.Launch(launch_ns, launch_ns + 1, start_ns, start_ns + 7);
      waits.push_back({launch_ns, start_ns + 7});
    }
    const Trace trace = maker.Finish();
    int64_t most = 0;
    for (const Interval& at : waits) {
      most = std::max(most, static_cast<int64_t>(std::count_if(waits.begin(), waits.end(), [&](const Interval& other) {
                        return other.start_ns <= at.start_ns && other.end_ns > at.start_ns;
                      })));
    }
    const QueueDepth depth = QueueDepthOf(trace, 0);
    EXPECT_EQ(depth.max, most) << streams;
    EXPECT_EQ(depth.TotalNs(), trace.ops.back().end_ns - trace.ops.front().start_ns) << streams;
  }
}

}  // namespace
}  // namespace gprof::test
