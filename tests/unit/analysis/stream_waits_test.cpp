#include <gtest/gtest.h>

#include <random>
#include <string>

#include "analysis/facts/host/event_waits.h"
#include "analysis/topics/analyses.h"
#include "idle_reference.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

constexpr uint64_t kEvent = 77;

void Record(TraceMaker* maker, int64_t time_ns, uint32_t stream, uint64_t event = kEvent) {
  maker->trace().event_records.push_back({time_ns, event, 0, 0, kNone, stream});
}

void Wait(TraceMaker* maker, int64_t time_ns, uint32_t stream, uint64_t event = kEvent) {
  maker->AddSync(time_ns, time_ns + 1, trace::SyncKind::kStreamWaitEvent, kNone, stream).event = event;
}

// A kernel in each of two streams, a filler of the third before the gap; the second stream waits for the first.
struct TwoStreams {
  TwoStreams() {
    first = maker.AddStream(13);
    second = maker.AddStream(14);
    third = maker.AddStream(15);
  }
  TraceMaker maker;
  uint32_t first = 0, second = 0, third = 0;
};

double Dependency(TraceMaker& maker) { return MetricOf(RunIdle(maker.Finish(), {}), "idle.dependency_ns"); }

TEST(EventWaits, HoldUpWorkUntilTheLastOperationBeforeTheRecord) {
  TwoStreams t;
  t.maker.Launch(0, 2, 10, 1000).stream = t.first;
  Record(&t.maker, 3, t.first);
  t.maker.Launch(4, 6, 5000, 6000).stream = t.first;  // after the record
  Wait(&t.maker, 7, t.second);
  t.maker.Launch(8, 9, 1020, 1500).stream = t.second;
  const AnalysisResult result = RunStreams(t.maker.Finish(), {});
  const Table& table = TableOf(result, "stream_waits");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(TextOf(table, 0, "stream"), "stream 14");
  EXPECT_EQ(TextOf(table, 0, "event_stream"), "stream 13");
  EXPECT_EQ(TextOf(table, 0, "operation"), "work");
  EXPECT_EQ(IntOf(table, 0, "waits"), 1);
  EXPECT_EQ(IntOf(table, 0, "held_ns"), 1000 - 9);
  EXPECT_EQ(IntOf(table, 0, "idle_ns"), 20);
  EXPECT_EQ(MetricOf(result, "streams.event_waits"), 1);
  EXPECT_EQ(MetricOf(result, "streams.event_held_ns"), 991);
  EXPECT_EQ(MetricOf(result, "streams.event_idle_ns"), 20);
  EXPECT_EQ(Dependency(t.maker), 20);
}

TEST(EventWaits, ThatWereOverLongBeforeDoNotExplainAGap) {
  TwoStreams t;
  t.maker.Launch(0, 2, 10, 100).stream = t.first;
  Record(&t.maker, 3, t.first);
  t.maker.Launch(4, 5, 100, 9000).stream = t.third;
  Wait(&t.maker, 7, t.second);
  t.maker.Launch(8, 9, 9020, 9500).stream = t.second;
  EXPECT_EQ(Dependency(t.maker), 0);
  EXPECT_EQ(MetricOf(RunIdle(t.maker.Finish(), {}), "idle.queue_ns"), 20);
}

TEST(EventWaits, OfTheOwnStreamOrBeforeItsOwnWorkWasDoneDoNotExplainAGap) {
  TwoStreams own;
  own.maker.Launch(0, 2, 10, 1000).stream = own.second;
  Record(&own.maker, 3, own.second);
  Wait(&own.maker, 7, own.second);
  own.maker.Launch(8, 9, 1020, 1500).stream = own.second;
  EXPECT_EQ(Dependency(own.maker), 0);
  TwoStreams busy;
  busy.maker.Launch(0, 2, 10, 990).stream = busy.first;
  Record(&busy.maker, 3, busy.first);
  busy.maker.Launch(4, 5, 10, 1000).stream = busy.second;  // ends later than what the event stands for
  Wait(&busy.maker, 7, busy.second);
  busy.maker.Launch(8, 9, 1020, 1500).stream = busy.second;
  EXPECT_EQ(Dependency(busy.maker), 0);
  EXPECT_EQ(MetricOf(RunStreams(busy.maker.Finish(), {}), "streams.event_held_ns"), 0);
}

TEST(EventWaits, ThatHadNothingToWaitForDoNotExplainAGap) {
  TwoStreams t;
  Record(&t.maker, 0, t.first);  // before any work of that stream
  t.maker.Launch(1, 2, 10, 1000).stream = t.first;
  Wait(&t.maker, 7, t.second);
  t.maker.Launch(8, 9, 1020, 1500).stream = t.second;
  EXPECT_EQ(Dependency(t.maker), 0);
  EXPECT_EQ(TextOf(TableOf(RunStreams(t.maker.Finish(), {}), "stream_waits"), 0, "operation"), "(nothing)");
}

TEST(EventWaits, WithoutTheirRecordMayBeTheReason) {
  TwoStreams t;
  t.maker.Launch(0, 2, 10, 1000).stream = t.first;
  Record(&t.maker, 3, t.first, 99);  // another event
  Wait(&t.maker, 7, t.second);
  t.maker.Launch(8, 9, 1020, 1500).stream = t.second;
  EXPECT_EQ(Dependency(t.maker), 20);
  const AnalysisResult result = RunStreams(t.maker.Finish(), {});
  EXPECT_EQ(TextOf(TableOf(result, "stream_waits"), 0, "operation"), "(unknown)");
  EXPECT_EQ(IntOf(TableOf(result, "stream_waits"), 0, "idle_ns"), 20);
}

TEST(EventWaits, TakeTheLastRecordBeforeTheWait) {
  TwoStreams t;
  t.maker.Launch(0, 2, 10, 1000).stream = t.first;
  Record(&t.maker, 3, t.first);
  t.maker.Launch(4, 5, 1000, 2000).stream = t.first;
  Record(&t.maker, 6, t.first);
  Wait(&t.maker, 7, t.second);
  t.maker.Launch(8, 9, 2020, 2500).stream = t.second;
  t.maker.Launch(10, 11, 2500, 2600).stream = t.first;
  Record(&t.maker, 12, t.first);  // after the wait
  EXPECT_EQ(MetricOf(RunStreams(t.maker.Finish(), {}), "streams.event_held_ns"), 2000 - 9);
}

TEST(EventSyncs, SayWhatTheHostWaitedFor) {
  TwoStreams t;
  t.maker.Launch(0, 2, 10, 1000).stream = t.first;
  Record(&t.maker, 3, t.first);
  const uint32_t early = t.maker.AddCall(100, 1040, "cudaEventSynchronize"),
                 late = t.maker.AddCall(1100, 1110, "cudaEventSynchronize");
  t.maker.AddSync(100, 1040, trace::SyncKind::kEvent, early).event = kEvent;
  t.maker.AddSync(1100, 1110, trace::SyncKind::kEvent, late).event = kEvent;
  const AnalysisResult result = RunSync(t.maker.Finish(), {});
  const Table& table = TableOf(result, "event_syncs");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(IntOf(table, 0, "blocked_ns"), 950);
  EXPECT_EQ(IntOf(table, 0, "after_ns"), 50);
  EXPECT_EQ(IntOf(table, 0, "count"), 2);
  EXPECT_EQ(IntOf(table, 0, "complete"), 1);
  EXPECT_EQ(TextOf(table, 0, "event_stream"), "stream 13");
  EXPECT_EQ(TextOf(table, 0, "operation"), "work");
}

TEST(StreamFindings, EventWaitsThatCostIdleTime) {
  TwoStreams t;
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t call_ns = 10 * i, at_ns = 1000 + 1000 * i;
    const uint32_t stream = i % 2 == 0 ? t.first : t.second;
    if (i > 0) Wait(&t.maker, call_ns, stream);
    t.maker.Launch(call_ns + 1, call_ns + 2, at_ns, at_ns + 900).stream = stream;
    Record(&t.maker, call_ns + 3, stream);
  }
  const AnalysisResult result = RunStreams(t.maker.Finish(), {});
  const Finding* finding = FindingOf(result, "streams.event_waits");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gain_ns, 9 * 100);
  EXPECT_EQ(WordsOf(finding),
            "GPU idle for 9.1% of the GPU window (900 ns) while streams waited for events of other streams | 500 ns of "
            "that in 5 waits: stream 14 waiting for work in stream 13");
  const Finding* none = FindingOf(result, "streams.no_overlap");
  ASSERT_NE(none, nullptr);
  EXPECT_NE(none->advice.find("Event waits delayed work 9 times"), std::string::npos) << none->advice;
  const Table& serialised = TableOf(result, "serialised");
  ASSERT_EQ(serialised.rows.size(), 1u);
  EXPECT_EQ(TextOf(serialised, 0, "reason"), "events of other streams");
  EXPECT_EQ(IntOf(serialised, 0, "count"), 9);
}

// Streams that run in order, as CUDA's do, with records and waits in between: long enough for waits to be over long
// ago.
Trace RandomStreams(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint32_t>(limit)); };
  TraceMaker maker;
  int64_t free_ns[4] = {}, now_ns = 0;
  for (uint32_t id = 0; id < 4; ++id) maker.AddStream(13 + id);
  for (int64_t i = 10 + below(40); i > 0; --i) {
    now_ns += 2 + below(i % 7 == 0 ? 600 : 20);
    const auto stream = static_cast<uint32_t>(below(4));
    const auto event = static_cast<uint64_t>(below(3));
    switch (below(3)) {
      case 0:
        Record(&maker, now_ns, below(9) == 0 ? kNone : stream, event);
        break;
      case 1:
        Wait(&maker, now_ns, stream, event);
        break;
      default: {
        const int64_t start_ns = std::max(free_ns[stream], now_ns) + 3 + below(400);
        free_ns[stream] = start_ns + 1 + below(below(5) == 0 ? 7000 : 500);
        maker.Launch(now_ns, now_ns + 1, start_ns, free_ns[stream]).stream = stream;
      }
    }
  }
  return maker.Finish();
}

TEST(EventWaits, OfRandomStreamsAgreeWithEveryNanosecond) {
  int64_t dependency_ns = 0, queue_ns = 0;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    const Trace trace = RandomStreams(seed);
    if (trace.ops.empty()) continue;
    const AnalysisResult idle = RunIdle(trace, {}), streams = RunStreams(trace, {});
    ReferenceTimes expected = LookAtEveryNanosecond(trace, 0);
    EXPECT_EQ(MetricOf(idle, "idle.dependency_ns"), static_cast<double>(expected.idle_by_cause["dependency"]));
    EXPECT_EQ(MetricOf(idle, "idle.queue_ns"), static_cast<double>(expected.idle_by_cause["queue"]));
    // What streams waited for has all of the idle time that waits caused.
    AnalysisOptions all;
    all.max_rows = 0;
    EXPECT_EQ(MetricOf(streams, "streams.event_idle_ns"), MetricOf(idle, "idle.dependency_ns"));
    EXPECT_EQ(SumOf(TableOf(RunStreams(trace, all), "stream_waits"), "idle_ns"),
              static_cast<int64_t>(MetricOf(idle, "idle.dependency_ns")));
    dependency_ns += expected.idle_by_cause["dependency"];
    queue_ns += expected.idle_by_cause["queue"];
  }
  EXPECT_GT(dependency_ns, 0);
  EXPECT_GT(queue_ns, 0);
}

}  // namespace
}  // namespace gprof::test
