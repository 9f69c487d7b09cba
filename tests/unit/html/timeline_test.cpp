#include "html/timeline/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "../analysis/random_trace.h"
#include "../analysis/trace_maker.h"
#include "analysis/causes/idle_parts.h"

namespace gprof::test {
namespace {

constexpr uint32_t kSeeds = 200;

using Found = std::map<EventSource, std::multiset<uint32_t>>;

Found ItemsOf(const TimelineData& timeline) {
  Found found;
  for (const TimelineTrack& track : timeline.tracks) {
    for (const TimelineLane& lane : track.lanes) found[track.source].insert(lane.items.begin(), lane.items.end());
  }
  return found;
}

template <class Records>
std::multiset<uint32_t> OfThreads(const Records& records) {
  std::multiset<uint32_t> all;
  for (uint32_t i = 0; i < records.size(); ++i) {
    if (records[i].thread != kNone) all.insert(i);
  }
  return all;
}

std::multiset<uint32_t> All(std::size_t size) {
  std::multiset<uint32_t> all;
  for (uint32_t i = 0; i < size; ++i) all.insert(i);
  return all;
}

TEST(Timeline, EventsOfALaneNeverOverlap) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Trace trace = RandomTrace(seed);
    const TimelineData timeline = LayOut(trace);
    for (const TimelineTrack& track : timeline.tracks) {
      for (const TimelineLane& lane : track.lanes) {
        ASSERT_FALSE(lane.items.empty());
        for (std::size_t i = 1; i < lane.items.size(); ++i) {
          const Interval before = TimeOf(trace, timeline, track.source, lane.items[i - 1]);
          const Interval after = TimeOf(trace, timeline, track.source, lane.items[i]);
          ASSERT_LE(before.end_ns, after.start_ns) << "seed " << seed << ", " << track.label;
        }
      }
    }
  }
}

TEST(Timeline, EverythingIsDrawnOnce) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Trace trace = RandomTrace(seed);
    const TimelineData timeline = LayOut(trace);
    Found found = ItemsOf(timeline);
    EXPECT_EQ(found[EventSource::kOp], All(trace.ops.size()));
    EXPECT_EQ(found[EventSource::kCall], All(trace.api_calls.size()));
    EXPECT_EQ(found[EventSource::kRange], All(trace.ranges.size()));
    EXPECT_EQ(found[EventSource::kMark], All(trace.marks.size()));
    EXPECT_EQ(found[EventSource::kOverhead], All(trace.overheads.size()));
    EXPECT_EQ(found[EventSource::kIdlePart], All(timeline.idle_parts.size()));
    EXPECT_EQ(found[EventSource::kOsCall], OfThreads(trace.os_calls));
    EXPECT_EQ(found[EventSource::kMpiCall], OfThreads(trace.mpi_calls));
    EXPECT_EQ(found[EventSource::kSample], OfThreads(trace.cpu_samples));
    EXPECT_EQ(found[EventSource::kThreadState], All(timeline.thread_states.size()));
  }
}

TEST(Timeline, IdleTimeIsThatOfTheReport) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Trace trace = RandomTrace(seed);
    const AnalysisInput input(trace);
    CauseSplit expected, drawn;
    for (uint32_t device = 0; device < trace.devices.size(); ++device) {
      ForEachIdlePart(input, device, [&](int64_t start_ns, int64_t end_ns, const Part& part) {
        expected[part.cause] += end_ns - start_ns;
      });
    }
    for (const IdlePart& part : LayOut(input).idle_parts) drawn[part.cause] += part.end_ns - part.start_ns;
    ForEachCause([&](Cause cause) { EXPECT_EQ(drawn[cause], expected[cause]) << "seed " << seed; });
  }
}

TEST(Timeline, ParentsComeBeforeTheirChildren) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Trace trace = RandomTrace(seed);
    const TimelineData timeline = LayOut(trace);
    for (std::size_t i = 0; i < timeline.tracks.size(); ++i) {
      const TimelineTrack& track = timeline.tracks[i];
      ASSERT_LT(track.parent, static_cast<int32_t>(i));
      ASSERT_TRUE(track.parent < 0 || timeline.tracks[static_cast<std::size_t>(track.parent)].lanes.empty());
    }
  }
}

TEST(Timeline, EmptyGroupsAreLeftOut) {
  const Trace trace = TraceMaker().Finish();
  EXPECT_TRUE(LayOut(trace).tracks.empty());
}

TEST(Timeline, WhatOverlapsInAStreamIsSideBySide) {
  TraceMaker maker;
  maker.AddKernel(0, 10).stream = maker.AddStream(7);
  maker.AddKernel(5, 15).stream = 0;
  maker.AddKernel(10, 12).stream = 0;
  const Trace trace = maker.Finish();
  const TimelineData timeline = LayOut(trace);
  const auto stream = std::find_if(timeline.tracks.begin(), timeline.tracks.end(),
                                   [](const TimelineTrack& track) { return track.kind == TrackKind::kStream; });
  ASSERT_NE(stream, timeline.tracks.end());
  ASSERT_EQ(stream->lanes.size(), 2u);
  EXPECT_EQ(stream->lanes[0].items, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(stream->lanes[1].items, (std::vector<uint32_t>{1}));
}

TEST(Timeline, CallsWithinCallsAreBelowThem) {
  TraceMaker maker;
  const uint32_t outer = maker.AddCall(0, 100, "cudaLaunchKernel");
  maker.AddInnerCall(10, 20, "cuLaunchKernel", outer);
  maker.AddInnerCall(30, 40, "cuLaunchKernel", outer);
  maker.AddCall(200, 300, "cudaFree");
  const Trace trace = maker.Finish();
  const TimelineData timeline = LayOut(trace);
  ASSERT_EQ(timeline.tracks.size(), 3u);
  ASSERT_EQ(timeline.tracks[2].lanes.size(), 2u);
  EXPECT_EQ(timeline.tracks[2].lanes[0].items.size(), 2u);
  EXPECT_EQ(timeline.tracks[2].lanes[1].items.size(), 2u);
  EXPECT_EQ(timeline.tracks[2].lanes[1].depth, 1u);
}

void AddSwitch(TraceMaker& maker, int64_t start_ns, int64_t end_ns, bool is_preempted, uint32_t thread = 0) {
  ThreadSwitch off;
  off.start_ns = start_ns;
  off.end_ns = end_ns;
  off.process = 0;
  off.thread = thread;
  off.cpu = 3;
  off.is_preempted = is_preempted;
  maker.trace().switches.push_back(off);
}

using State = std::tuple<int64_t, int64_t, RunState, uint32_t>;

std::vector<State> StatesOf(const TimelineData& timeline, uint32_t first, uint32_t last) {
  std::vector<State> states;
  for (uint32_t i = first; i < last; ++i) {
    const ThreadState& state = timeline.thread_states[i];
    states.emplace_back(state.start_ns, state.end_ns, state.state, state.by);
  }
  return states;
}

TEST(ThreadStates, FollowFromSwitchesAndCalls) {
  TraceMaker maker;
  const uint32_t other = maker.AddThread(0, 72, "worker");
  maker.AddCall(0, 10, "cudaLaunchKernel");
  maker.AddCall(90, 100, "cudaLaunchKernel");
  AddSwitch(maker, 10, 39, false, other);  // it has the processor from 39 on
  AddSwitch(maker, 20, 30, false);
  AddSwitch(maker, 40, 60, true);
  AddSwitch(maker, 55, 70, false);  // clocks are not exact
  AddSwitch(maker, 60, 62, false, other);
  const TimelineData timeline = LayOut(maker.Finish());
  using enum RunState;
  EXPECT_EQ(StatesOf(timeline, 0, 6), (std::vector<State>{{0, 20, kRunning, kNone},
                                                          {20, 30, kBlocked, kNone},
                                                          {30, 40, kRunning, kNone},
                                                          {40, 60, kPreempted, other},
                                                          {60, 70, kBlocked, kNone},
                                                          {70, 100, kRunning, kNone}}));
  EXPECT_EQ(StatesOf(timeline, 6, 9),
            (std::vector<State>{{10, 39, kBlocked, kNone}, {39, 60, kRunning, kNone}, {60, 62, kBlocked, kNone}}));
}

TEST(ThreadStates, ThreadsWithoutCallsAreFolded) {
  TraceMaker maker;
  const uint32_t other = maker.AddThread(0, 72, "worker");
  maker.AddCall(0, 10, "cudaLaunchKernel");
  AddSwitch(maker, 20, 30, false);
  AddSwitch(maker, 20, 30, false, other);
  const TimelineData timeline = LayOut(maker.Finish());
  std::map<std::string, bool> folded;
  for (const TimelineTrack& track : timeline.tracks) {
    if (track.kind == TrackKind::kThread) folded[track.label] = track.is_folded;
  }
  ASSERT_EQ(folded.size(), 2u);
  EXPECT_TRUE(folded["thread 72 worker"]);
  EXPECT_EQ(std::count_if(folded.begin(), folded.end(), [](const auto& thread) { return thread.second; }), 1);
}

TEST(Budget, WhatFitsIsNotChanged) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Trace trace = RandomTrace(seed);
    TimelineData timeline = LayOut(trace);
    NumberEvents(trace, timeline.trace_event_count, &timeline);
    EXPECT_EQ(timeline.merged_below_ns, 0);
    EXPECT_EQ(timeline.event_count, timeline.trace_event_count);
  }
}

// A lane with n kernels of 10 ns each, 10 ns apart.
Trace Row(int count) {
  TraceMaker maker;
  for (int i = 0; i < count; ++i) maker.AddKernel(i * 20, i * 20 + 10);
  return maker.Finish();
}

TEST(Budget, ShortNeighboursAreDrawnTogether) {
  const Trace trace = Row(1000);
  TimelineData timeline = LayOut(trace);
  NumberEvents(trace, 500, &timeline);
  EXPECT_LE(timeline.event_count, 500u);
  EXPECT_GT(timeline.event_count, 100u);
  EXPECT_EQ(timeline.trace_event_count, 1999u);  // with the gaps between
  EXPECT_GT(timeline.merged_below_ns, 10);
}

TEST(Budget, NothingIsLostAndNumbersHaveNoHoles) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Trace trace = RandomTrace(seed);
    TimelineData timeline = LayOut(trace);
    NumberEvents(trace, timeline.trace_event_count / 3 + 1, &timeline);
    uint64_t number = 0;
    for (const TimelineTrack& track : timeline.tracks) {
      for (const TimelineLane& lane : track.lanes) {
        ASSERT_EQ(lane.first, number);
        std::size_t next = 0;
        uint32_t count = 0;
        const auto time_of = [&](uint32_t item) { return TimeOf(trace, timeline, track.source, item); };
        ForEachEvent(lane.items, timeline.span.start_ns, timeline.merged_below_ns, time_of,
                     [&](std::size_t first, std::size_t last) {
                       ASSERT_EQ(first, next);
                       ASSERT_LT(first, last);
                       if (last - first > 1) {
                         ASSERT_LT(time_of(lane.items[last - 1]).end_ns - time_of(lane.items[first]).start_ns,
                                   2 * timeline.merged_below_ns);
                       }
                       next = last;
                       ++count;
                     });
        ASSERT_EQ(next, lane.items.size());
        ASSERT_EQ(count, lane.count);
        number += lane.count;
      }
    }
    ASSERT_EQ(number, timeline.event_count);
  }
}

TEST(Budget, OneEventALaneIsTheLeast) {
  const Trace trace = Row(1000);
  TimelineData timeline = LayOut(trace);
  NumberEvents(trace, 1, &timeline);
  uint64_t lanes = 0;
  for (const TimelineTrack& track : timeline.tracks) lanes += track.lanes.size();
  EXPECT_EQ(timeline.event_count, lanes);
}

}  // namespace
}  // namespace gprof::test
