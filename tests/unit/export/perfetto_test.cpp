#include <gtest/gtest.h>

#include <map>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../analysis/random_trace.h"
#include "../analysis/trace_maker.h"
#include "export/events/counter_curves.h"
#include "export/exporters.h"
#include "timeline.h"

namespace gprof::test {
namespace {

using protozero::pbf_reader;

// Reads what is written here, and nothing else: numbers of fields are those of Perfetto's protos.
class PerfettoReader {
 public:
  explicit PerfettoReader(const std::string& bytes) {
    pbf_reader file(bytes);
    while (file.next(1)) Packet(file.get_message());
    for (const auto& [track, open] : open_) EXPECT_TRUE(open.empty()) << "never ended on track " << track;
    for (const auto& [flow, from_ns] : flow_starts_) {
      EXPECT_TRUE(flow_ends_.contains(flow)) << flow;
      timeline_.arrows.push_back({from_ns, flow_ends_[flow]});
    }
    EXPECT_EQ(flow_starts_.size(), flow_ends_.size());
    timeline_.Sort();
  }
  const Timeline& timeline() const { return timeline_; }
  const std::map<std::string, std::vector<int64_t>>& counters() const { return counters_; }
  const std::map<std::string, std::string>& texts() const { return texts_; }
  uint64_t samples() const { return samples_; }
  bool has_clocks() const { return has_clocks_; }

 private:
  struct Event {
    uint64_t type = 0, track = 0, category = 0, name = 0;
    int64_t time_ns = 0, value = 0;
    std::vector<uint64_t> flows, ends;
  };
  struct Open {
    TimelineEvent event;
    int64_t order = 0;
  };

  void Packet(pbf_reader packet) {
    Event event;
    bool has_event = false;
    uint32_t flags = 0;
    std::string interned;
    pbf_reader body;
    while (packet.next()) {
      switch (packet.tag()) {
        case 6:
          has_clocks_ = true;
          EXPECT_EQ(events_, 0u) << "clocks come before what is told by them";
          packet.skip();
          break;
        case 8:
          event.time_ns = static_cast<int64_t>(packet.get_uint64());
          break;
        case 11:
          body = packet.get_message();
          has_event = true;
          break;
        case 12:
          Interned(packet.get_message());
          break;
        case 13:
          flags = packet.get_uint32();
          break;
        case 60:
          Descriptor(packet.get_message());
          break;
        default:
          packet.skip();
      }
    }
    if (!has_event) return;
    EXPECT_EQ(flags, events_ == 0 ? 3u : 2u) << "the state is cleared once, at the first event";
    ++events_;
    Body(body, &event);
    Take(event);
  }

  void Interned(pbf_reader data) {
    while (data.next()) {
      auto& names = names_[data.tag()];
      pbf_reader entry = data.get_message();
      uint64_t number = 0;
      std::string text;
      while (entry.next()) {
        if (entry.tag() == 1) number = entry.get_uint64();
        if (entry.tag() == 2) text = entry.get_string();
      }
      EXPECT_TRUE(names.emplace(number, text).second) << "told twice: " << text;
    }
  }

  void Descriptor(pbf_reader descriptor) {
    uint64_t track = 0, parent = 0;
    std::string name;
    while (descriptor.next()) {
      switch (descriptor.tag()) {
        case 1:
          track = descriptor.get_uint64();
          break;
        case 2:
          name = descriptor.get_string();
          break;
        case 5:
          parent = descriptor.get_uint64();
          break;
        default:
          descriptor.skip();
      }
    }
    if (parent != 0) {
      EXPECT_TRUE(tracks_.contains(parent)) << "parents come first";
    }
    EXPECT_TRUE(tracks_.emplace(track, name).second);
  }

  void Body(pbf_reader body, Event* event) {
    while (body.next()) {
      switch (body.tag()) {
        case 3:
          event->category = body.get_uint64();
          break;
        case 4:
          Argument(body.get_message());
          break;
        case 9:
          event->type = body.get_uint64();
          break;
        case 10:
          event->name = body.get_uint64();
          break;
        case 11:
          event->track = body.get_uint64();
          break;
        case 30:
          event->value = body.get_int64();
          break;
        case 47:
          event->flows.push_back(body.get_fixed64());
          break;
        case 48:
          event->ends.push_back(body.get_fixed64());
          break;
        default:
          body.skip();
      }
    }
  }

  void Argument(pbf_reader argument) {
    std::string key, text;
    while (argument.next()) {
      if (argument.tag() == 1) {
        const uint64_t number = argument.get_uint64();
        EXPECT_TRUE(names_[3].contains(number)) << "an argument without a name";
        key = names_[3][number];
      } else if (argument.tag() == 6) {
        text = argument.get_string();
      } else {
        argument.skip();
      }
    }
    if (!text.empty()) texts_[key] = text;
  }

  void Take(const Event& event) {
    EXPECT_TRUE(tracks_.contains(event.track)) << "an event on a track that was not told";
    if (event.type != 3) {
      EXPECT_GE(event.time_ns, last_ns_[event.track]) << "what begins and ends on a track is in order";
      last_ns_[event.track] = event.time_ns;
    }
    auto& open = open_[event.track];
    if (event.type == 1 || event.type == 3) {
      EXPECT_TRUE(names_[2].contains(event.name));
      TimelineEvent slice = {names_[1][event.category], names_[2][event.name], event.time_ns, event.time_ns};
      if (slice.category == "gpu_memcpy" || slice.category == "gpu_memset" || slice.category == "gpu_graph")
        slice.name.clear();
      if (slice.category == "cpu_sample") {
        ++samples_;
        return;
      }
      if (event.type == 3) slice.category = "mark";
      for (const uint64_t flow : event.flows) EXPECT_TRUE(flow_starts_.emplace(flow, event.time_ns).second);
      for (const uint64_t flow : event.ends) EXPECT_TRUE(flow_ends_.emplace(flow, event.time_ns).second);
      if (event.type == 1) {
        open.push_back(slice);
      } else {
        timeline_.events.push_back(slice);
      }
    } else if (event.type == 2) {
      ASSERT_FALSE(open.empty()) << "an end without a begin";
      open.back().end_ns = event.time_ns;
      if (open.back().category != "gpu_user_annotation") timeline_.events.push_back(open.back());
      open.pop_back();
    } else {
      ASSERT_EQ(event.type, 4u);
      counters_[tracks_[event.track]].push_back(event.value);
    }
  }

  Timeline timeline_;
  std::map<uint64_t, std::string> tracks_;
  std::map<uint32_t, std::map<uint64_t, std::string>> names_;  // by field of InternedData
  std::map<uint64_t, std::vector<TimelineEvent>> open_;
  std::map<uint64_t, int64_t> last_ns_, flow_starts_, flow_ends_;
  std::map<std::string, std::vector<int64_t>> counters_;
  std::map<std::string, std::string> texts_;
  uint64_t events_ = 0, samples_ = 0;
  bool has_clocks_ = false;
};

void ExpectRoundTrip(const Trace& trace) {
  const PerfettoReader reader(Written(trace, WritePerfetto));
  Timeline expected = TimelineOf(trace);
  for (const ThreadSwitch& off : trace.switches)
    expected.events.push_back({"switch", off.is_preempted ? "preempted" : "waiting", off.start_ns, off.end_ns});
  expected.Sort();
  EXPECT_EQ(reader.samples(), trace.cpu_samples.size());
  EXPECT_TRUE(reader.has_clocks());
  ASSERT_EQ(reader.timeline().events.size(), expected.events.size());
  for (std::size_t i = 0; i < expected.events.size(); ++i) {
    const TimelineEvent &a = reader.timeline().events[i], &b = expected.events[i];
    ASSERT_TRUE(a == b) << i << ": " << a.category << " " << a.name << " " << a.start_ns << " " << a.end_ns << ", not "
                        << b.category << " " << b.name << " " << b.start_ns << " " << b.end_ns;
  }
  EXPECT_TRUE(reader.timeline().arrows == expected.arrows);
  for (const auto& [name, values] : reader.counters()) {
    if (name == "memory in use") continue;
    EXPECT_EQ(values.back(), 0) << name;
    for (const int64_t value : values) EXPECT_GE(value, 0) << name;
  }
}

TEST(Perfetto, RecordedTracesComeBack) {
  for (const std::string& path : RecordedTraces()) {
    SCOPED_TRACE(path);
    ExpectRoundTrip(LoadTrace(path));
  }
}

TEST(Perfetto, RandomTracesComeBack) {
  for (uint32_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    ExpectRoundTrip(RandomTrace(seed));
  }
}

TEST(Perfetto, HostileNamesStayValid) { ExpectRoundTrip(HostileTrace()); }

TEST(Perfetto, AnEmptyTraceHasItsClock) {
  const PerfettoReader reader(Written(Trace(), WritePerfetto));
  EXPECT_TRUE(reader.has_clocks());
  EXPECT_TRUE(reader.timeline().events.empty());
}

TEST(Perfetto, RangesHaveTheirColourAndPayload) {
  TraceMaker maker;
  NvtxRange& range = maker.AddRange(100, 200, "step");
  range.color = 0xFF3366CC;
  range.category = 9;
  const PerfettoReader reader(Written(maker.Finish(), WritePerfetto));
  EXPECT_EQ(reader.texts().at("color"), "#3366cc");
  EXPECT_EQ(reader.texts().at("category"), "9");
}

TEST(Perfetto, CountersSayWhatRunsAndWhatIsQueued) {
  TraceMaker maker;
  maker.Launch(100, 110, 200, 300);
  maker.Launch(120, 130, 300, 400);
  const Trace trace = maker.Finish();
  const PerfettoReader reader(Written(trace, WritePerfetto));
  EXPECT_EQ(reader.counters().at("operations running"), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(reader.counters().at("queue depth"), (std::vector<int64_t>{1, 2, 1, 0}));
  EXPECT_FALSE(reader.counters().contains("memory in use"));
}

}  // namespace
}  // namespace gprof::test
