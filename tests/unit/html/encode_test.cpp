#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "../analysis/random_trace.h"
#include "../analysis/trace_maker.h"
#include "base/text.h"
#include "export/events/labels.h"
#include "html/timeline/byte_columns.h"
#include "html/timeline/encode_timeline.h"
#include "html/timeline/event_names.h"
#include "html/timeline/timeline.h"
#include "page_reader.h"

namespace gprof::test {
namespace {

using Json = nlohmann::ordered_json;

Json Holder(const ColumnWriter& column, std::size_t count) {
  return {
      {"count", count},
      {"columns",
       {{{"name", "x"}, {"coding", CodingName(column.coding())}, {"offset", 0}, {"bytes", column.bytes().size()}}}}};
}

TEST(Columns, ReadBackAsTheyWere) {
  const std::vector<int64_t> values = {0,
                                       1,
                                       127,
                                       128,
                                       255,
                                       300,
                                       1 << 20,
                                       5,
                                       0,
                                       std::numeric_limits<int64_t>::max(),
                                       std::numeric_limits<int64_t>::min(),
                                       -1,
                                       7};
  for (const Coding coding : {Coding::kVarint, Coding::kDelta}) {
    ColumnWriter column("x", coding);
    for (const int64_t value : values) column.Add(static_cast<uint64_t>(value));
    EXPECT_EQ(ReadColumns(Holder(column, values.size()), column.bytes()).at("x"), values);
  }
}

TEST(Columns, BytesAreBytes) {
  ColumnWriter column("x", Coding::kByte);
  for (const uint64_t value : {0, 1, 255}) column.Add(value);
  EXPECT_EQ(column.bytes(), std::string("\0\1\xFF", 3));
}

TEST(Columns, ZerosAreToldFromValues) {
  ColumnWriter column("x", Coding::kDelta);
  column.Add(0);
  EXPECT_FALSE(column.HasValues());
  column.Add(3);
  column.Add(0);
  EXPECT_TRUE(column.HasValues());
  column.Clear();
  EXPECT_FALSE(column.HasValues());
  EXPECT_EQ(column.bytes(), "");
}

const std::vector<std::string> kColumns = {"gap",     "duration", "name",        "kind",   "call",  "bytes",
                                           "shape",   "memory",   "correlation", "result", "color", "range",
                                           "payload", "next",     "blame",       "count",  "busy"};

TEST(Encode, EventsHaveTheirTimesAndTheirCalls) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const Trace trace = RandomTrace(seed);
    const TimelineData timeline = LayOut(trace);
    const EncodedTimeline encoded = EncodeTimeline(trace, "run", timeline.trace_event_count + 1);
    ASSERT_EQ(encoded.description.at("tracks").size(), timeline.tracks.size());
    Labels labels(trace);
    std::vector<int64_t> call_starts;  // by event
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t t = 0; t < timeline.tracks.size(); ++t) {
        const TimelineTrack& track = timeline.tracks[t];
        for (std::size_t l = 0; l < track.lanes.size(); ++l) {
          const Columns columns =
              ReadColumns(encoded.description.at("tracks")[t].at("lanes")[l], encoded.blob, kColumns);
          int64_t at_ns = timeline.span.start_ns;
          for (std::size_t i = 0; i < track.lanes[l].items.size(); ++i) {
            const uint32_t item = track.lanes[l].items[i];
            const Interval time = TimeOf(trace, timeline, track.source, item);
            const int64_t start_ns = at_ns + columns.at("gap")[i];
            ASSERT_EQ(start_ns, time.start_ns) << "seed " << seed;
            ASSERT_EQ(columns.at("duration")[i], time.DurationNs());
            at_ns = time.end_ns;
            if (pass == 0) {
              call_starts.push_back(track.source == EventSource::kCall ? time.start_ns : -1);
            } else if (track.source == EventSource::kOp) {
              ASSERT_EQ(static_cast<uint64_t>(columns.at("bytes")[i]), trace.ops[item].size_bytes);
              ASSERT_EQ(static_cast<uint64_t>(columns.at("correlation")[i]), trace.CorrelationOf(trace.ops[item]));
              ASSERT_EQ(encoded.description.at("names")[static_cast<std::size_t>(columns.at("name")[i])],
                        labels.Text(labels.Of(trace.ops[item])));
              const int64_t call = columns.at("call")[i];
              ASSERT_EQ(call == 0, trace.ops[item].api == kNone);
              ASSERT_TRUE(call == 0 || call_starts[static_cast<std::size_t>(call - 1)] != -1) << "not a call";
            }
          }
        }
      }
    }
  }
}

TEST(Encode, BusyTimeIsKeptWhereEventsAreDrawnTogether) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const Trace trace = RandomTrace(seed);
    const TimelineData timeline = LayOut(trace);
    const EncodedTimeline encoded = EncodeTimeline(trace, "run", timeline.trace_event_count / 4 + 1);
    if (encoded.description.at("merged_below_ns") == 0) continue;
    for (std::size_t t = 0; t < timeline.tracks.size(); ++t) {
      const TimelineTrack& track = timeline.tracks[t];
      for (std::size_t l = 0; l < track.lanes.size(); ++l) {
        int64_t expected_ns = 0, busy_ns = 0, count = 0;
        for (const uint32_t item : track.lanes[l].items)
          expected_ns += TimeOf(trace, timeline, track.source, item).DurationNs();
        const Columns columns = ReadColumns(encoded.description.at("tracks")[t].at("lanes")[l], encoded.blob, kColumns);
        for (const int64_t busy : columns.at("busy")) busy_ns += busy;
        for (const int64_t of_event : columns.at("count")) count += of_event;
        ASSERT_EQ(busy_ns, expected_ns) << "seed " << seed;
        ASSERT_EQ(static_cast<std::size_t>(count), track.lanes[l].items.size());
      }
    }
  }
}

TEST(Encode, CountersHoldTheirValues) {
  TraceMaker maker;
  maker.AddKernel(100, 200);
  maker.AddKernel(150, 300);
  const Trace trace = maker.Finish();
  const EncodedTimeline encoded = EncodeTimeline(trace, "run", 100);
  const Json& counter = encoded.description.at("tracks")[1].at("counter");
  EXPECT_EQ(counter.at("maximum"), 2);
  EXPECT_EQ(counter.at("resolution_ns"), 0);
  const Columns columns = ReadColumns(counter, encoded.blob);
  int64_t at_ns = trace.start_ns;
  std::vector<std::pair<int64_t, int64_t>> points;
  for (std::size_t i = 0; i < columns.at("time").size(); ++i) {
    at_ns += columns.at("time")[i];
    points.emplace_back(at_ns, columns.at("value")[i]);
  }
  EXPECT_EQ(points, (std::vector<std::pair<int64_t, int64_t>>{{100, 1}, {150, 2}, {200, 1}, {300, 0}}));
}

// A counter of the machine beside one kernel, `count` samples of 10 ns, with a peak and a hole in the middle.
Trace SampledTrace(int64_t count) {
  TraceMaker maker;
  maker.AddKernel(0, count * 10);
  Trace trace = maker.Finish();
  trace.metric_sources.resize(1);
  trace.metric_sources[0].scope = trace::MetricScope::kHost;
  trace.metric_sources[0].scale = -1;
  for (int64_t i = 0; i < count; ++i) {
    if (i != count / 2 + 1) trace.metric_samples.push_back({i * 10, i * 10 + 10, i == count / 2 ? 1000 : 1 + i % 2, 0});
  }
  return trace;
}

TEST(Encode, WhatWasSampledIsThereWithItsHoles) {
  const EncodedTimeline encoded = EncodeTimeline(SampledTrace(8), "run", 100);
  const Json& counter = encoded.description.at("tracks").back().at("counter");
  EXPECT_EQ(counter.at("scale"), -1);
  EXPECT_EQ(counter.at("maximum"), 100);
  EXPECT_EQ(counter.at("resolution_ns"), 0);
  const Columns columns = ReadColumns(counter, encoded.blob);
  EXPECT_EQ(columns.at("value"), (std::vector<int64_t>{1, 2, 1, 2, 1000, 1000, 1, 2}));
  EXPECT_EQ(columns.at("missing"), (std::vector<int64_t>{0, 0, 0, 0, 0, 1, 0, 0}));
}

TEST(Encode, MuchThatWasSampledHasMeansAndExtremes) {
  const EncodedTimeline encoded = EncodeTimeline(SampledTrace(400'000), "run", 100);
  const Json& counter = encoded.description.at("tracks").back().at("counter");
  EXPECT_GT(counter.at("resolution_ns"), 10);
  EXPECT_LE(counter.at("count"), 40'001);
  EXPECT_EQ(counter.at("maximum"), 100);
  EXPECT_EQ(counter.at("scale"), -3);
  const Columns columns = ReadColumns(counter, encoded.blob);
  const std::vector<int64_t>&value = columns.at("value"), &below = columns.at("below"), &above = columns.at("above");
  EXPECT_NEAR(static_cast<double>(value[10]), 150, 10);  // hundredths of what was sampled
  EXPECT_EQ(value[10] - below[10], 100);
  EXPECT_EQ(value[10] + above[10], 200);
  int64_t most = 0;
  for (std::size_t i = 0; i < value.size(); ++i) most = std::max(most, value[i] + above[i]);
  EXPECT_EQ(most, 100'000);
}

TEST(Encode, LongCountersKeepTheirPeaks) {
  TraceMaker maker;
  for (int i = 0; i < 60'000; ++i) maker.AddKernel(i * 100, i * 100 + (i == 30'000 ? 150 : 50));
  const Trace trace = maker.Finish();
  const EncodedTimeline encoded = EncodeTimeline(trace, "run", 1'000'000);
  const Json& counter = encoded.description.at("tracks")[1].at("counter");
  EXPECT_GT(counter.at("resolution_ns"), 0);
  EXPECT_LT(counter.at("count"), 90'000);
  EXPECT_EQ(counter.at("maximum"), 2);
  const std::vector<int64_t> values = ReadColumns(counter, encoded.blob).at("value");
  EXPECT_EQ(*std::max_element(values.begin(), values.end()), 2);
  EXPECT_EQ(values.back(), 0);
}

// A function of a library that a line of Python called: two frames.
uint32_t AddStack(TraceMaker& maker) {
  Trace& trace = maker.trace();
  Module python, library;
  python.module_kind = trace::ModuleKind::kPythonCode;
  python.name = maker.Name("step");
  python.path = maker.Name("train.py");
  library.module_kind = trace::ModuleKind::kFile;
  library.path = maker.Name("/usr/lib/libwork.so");
  trace.modules = {python, library};
  trace.frames = {{0, 0}, {0x200, 1}};
  trace.stacks = {{kNone, 0, true, false}, {0, 1, false, false}};
  return 1;
}

const Json& TrackOf(const EncodedTimeline& encoded, const std::string& kind) {
  for (const Json& track : encoded.description.at("tracks")) {
    if (track.at("kind") == kind) return track;
  }
  throw std::runtime_error("no track of kind " + kind);
}

TEST(Encode, StacksAreNodesThatAreSharedByEvents) {
  TraceMaker maker;
  const uint32_t stack = AddStack(maker);
  for (int64_t i = 0; i < 3; ++i) {
    CpuSample sample;
    sample.time_ns = 10 * i;
    sample.weight_ns = 7;
    sample.thread = 0;
    sample.stack = i == 2 ? kNone : stack;
    sample.sample_kind = i == 1 ? trace::SampleKind::kPythonWaiting : trace::SampleKind::kPerf;
    maker.trace().cpu_samples.push_back(sample);
  }
  const EncodedTimeline encoded = EncodeTimeline(maker.Finish(), "run", 100);
  const Columns samples = ReadColumns(TrackOf(encoded, "samples").at("lanes")[0], encoded.blob, {"stack", "busy"});
  EXPECT_EQ(samples.at("stack"), (std::vector<int64_t>{3, 3, 0}));
  EXPECT_EQ(samples.at("busy"), (std::vector<int64_t>{7, 0, 7}));  // a thread that waits takes no time of a processor
  const Json& stacks = encoded.description.at("stacks");
  const Columns nodes = ReadColumns(stacks, encoded.blob, {"parent", "name", "kind"});
  EXPECT_EQ(nodes.at("parent"), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(nodes.at("kind"), (std::vector<int64_t>{4, 2, 1}));  // cut, Python, native
  std::vector<std::string> names;
  for (const int64_t name : nodes.at("name")) {
    names.push_back(encoded.description.at("names")[static_cast<std::size_t>(name)].get<std::string>());
  }
  EXPECT_EQ(names[1].substr(0, 6), "step (");
  EXPECT_EQ(names[2], "libwork.so+0x200");
}

TEST(Encode, CallsOfTheOperatingSystemSayWhatTheyAreAbout) {
  TraceMaker maker;
  const uint32_t holder = maker.AddThread(0, 72, "worker");
  maker.AddRange(0, 100, "load");
  OsCall call;
  call.start_ns = 10;
  call.end_ns = 40;
  call.process = 0;
  call.thread = 0;
  call.function = maker.Name("pthread_mutex_lock");
  call.object_kind = trace::OsObject::kMutex;
  call.object = 3;
  call.other_thread = holder;
  call.error = 4;
  call.size_bytes = 128;
  maker.trace().os_calls.push_back(call);
  const EncodedTimeline encoded = EncodeTimeline(maker.Finish(), "run", 100);
  const Columns columns =
      ReadColumns(TrackOf(encoded, "os").at("lanes")[0], encoded.blob, {"object", "other", "range"});
  const auto name = [&](const char* column) {
    return encoded.description.at("names")[static_cast<std::size_t>(columns.at(column)[0] - 1)];
  };
  EXPECT_EQ(name("object"), "mutex 3");
  EXPECT_EQ(name("other"), "worker (72)");
  EXPECT_EQ(columns.at("result"), std::vector<int64_t>{4});
  EXPECT_EQ(columns.at("bytes"), std::vector<int64_t>{128});
  EXPECT_NE(columns.at("range"), std::vector<int64_t>{0});
}

TEST(Names, OutOfProportionAreCutInTheMiddle) {
  EXPECT_EQ(CutMiddle("short", 10), "short");
  EXPECT_EQ(CutMiddle("0123456789abcdef", 11), "0123…cdef");
  // Never within a character.
  const std::string umlauts = "ääääääääääääääää";
  for (std::size_t limit = 5; limit < umlauts.size(); ++limit) {
    const std::string cut = CutMiddle(umlauts, limit);
    EXPECT_LE(cut.size(), limit);
    EXPECT_EQ(Utf8(cut), cut);
    EXPECT_NE(cut.find("…"), std::string::npos);
  }
}

TEST(Names, LongSymbolsAreCut) {
  TraceMaker maker;
  maker.AddKernel(0, 10, kNone, std::string(100'000, 'k'));
  const Trace trace = maker.Finish();
  const EncodedTimeline encoded = EncodeTimeline(trace, "run", 10);
  for (const auto& name : encoded.description.at("names")) EXPECT_LE(name.get<std::string>().size(), 4096u);
}

}  // namespace
}  // namespace gprof::test
