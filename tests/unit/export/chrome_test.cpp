#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "../analysis/random_trace.h"
#include "../analysis/trace_maker.h"
#include "analysis/facts/recording/clock_quality.h"
#include "export/exporters.h"
#include "timeline.h"

namespace gprof::test {
namespace {

using Json = nlohmann::json;

// As readers have to do it: a double is exact to the nanosecond when its whole part is taken off first.
int64_t Nanoseconds(const Json& microseconds) {
  const double value = microseconds.get<double>(), whole = std::floor(value);
  return static_cast<int64_t>(whole) * 1000 + std::llround((value - whole) * 1000);
}

class ChromeReader {
 public:
  ChromeReader(const Trace& trace, const std::string& text) : document_(Json::parse(text)) {
    const auto clock = BestClock(trace);
    if (clock) shift_ns_ = static_cast<int64_t>(clock->realtime_ns - clock->monotonic_ns);
    if (document_.contains("baseTimeNanoseconds")) shift_ns_ -= document_["baseTimeNanoseconds"].get<int64_t>();
    for (const Json& event : document_["traceEvents"]) Add(event);
    for (const auto& [id, end_ns] : flow_ends_) {
      EXPECT_TRUE(flow_starts_.contains(id)) << "flow " << id << " ends without a start";
      timeline_.arrows.push_back({flow_starts_[id], end_ns});
    }
    timeline_.Sort();
  }
  const Timeline& timeline() const { return timeline_; }
  const Json& document() const { return document_; }

 private:
  void Add(const Json& event) {
    const std::string phase = event["ph"], category = event["cat"];
    const int64_t time_ns = Nanoseconds(event["ts"]) - shift_ns_;
    const std::string name = category == "gpu_memcpy" || category == "gpu_memset" || category == "gpu_graph"
                                 ? ""
                                 : event["name"].get<std::string>();
    if (phase == "X" && category != "gpu_user_annotation") {
      AddSlice(event, {category, name, time_ns, time_ns + Nanoseconds(event["dur"])});
    } else if (phase == "b") {
      open_[event["id"]] = {category, name, time_ns, time_ns};
    } else if (phase == "e") {
      TimelineEvent& open = open_.at(event["id"]);
      open.end_ns = time_ns;
      timeline_.events.push_back(open);
    } else if (phase == "i") {
      timeline_.events.push_back({"mark", name, time_ns, time_ns});
    } else if (phase == "s") {
      EXPECT_TRUE(flow_starts_.try_emplace(event["id"], time_ns).second) << "two flows " << event["id"];
    } else if (phase == "f") {
      EXPECT_EQ(event["bp"], "e");
      flow_ends_.emplace_back(event["id"], time_ns);
    }
  }

  // What is drawn in one row has to nest.
  void AddSlice(const Json& event, const TimelineEvent& slice) {
    timeline_.events.push_back(slice);
    std::vector<TimelineEvent>& open = rows_[{event["pid"].get<int64_t>(), event["tid"].get<int64_t>()}];
    while (!open.empty() && open.back().end_ns <= slice.start_ns) open.pop_back();
    if (!open.empty()) {
      EXPECT_GE(slice.start_ns, open.back().start_ns);
      EXPECT_LE(slice.end_ns, open.back().end_ns) << slice.name << " overlaps " << open.back().name;
    }
    open.push_back(slice);
  }

  Json document_;
  int64_t shift_ns_ = 0;
  Timeline timeline_;
  std::map<uint64_t, TimelineEvent> open_;
  std::map<uint64_t, int64_t> flow_starts_;
  std::vector<std::pair<uint64_t, int64_t>> flow_ends_;
  std::map<std::pair<int64_t, int64_t>, std::vector<TimelineEvent>> rows_;
};

void ExpectRoundTrip(const Trace& trace) {
  const ChromeReader reader(trace, Written(trace, WriteChrome));
  const Timeline expected = TimelineOf(trace);
  ASSERT_EQ(reader.timeline().events.size(), expected.events.size());
  for (std::size_t i = 0; i < expected.events.size(); ++i) {
    const TimelineEvent &a = reader.timeline().events[i], &b = expected.events[i];
    ASSERT_TRUE(a == b) << i << ": " << a.category << " " << a.name << " " << a.start_ns << " " << a.end_ns << ", not "
                        << b.category << " " << b.name << " " << b.start_ns << " " << b.end_ns;
  }
  EXPECT_TRUE(reader.timeline().arrows == expected.arrows);
}

TEST(Chrome, RecordedTracesComeBack) {
  ASSERT_GT(RecordedTraces().size(), 10u);
  for (const std::string& path : RecordedTraces()) {
    SCOPED_TRACE(path);
    ExpectRoundTrip(LoadTrace(path));
  }
}

TEST(Chrome, RandomTracesComeBack) {
  for (uint32_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    Trace trace = RandomTrace(seed);
    for (uint32_t i = 0; i < trace.api_calls.size(); ++i) {
      // Foreign traces have calls without a number of their own.
      trace.api_calls.Change(i, [&](ApiCall& call) {
        call.correlation = seed % 2 == 0 ? i + 1 : 0;
        call.op_count = 0;
      });
    }
    for (const GpuOp& op : trace.ops) {
      if (op.api != kNone) trace.api_calls.CountOp(op.api);
    }
    ExpectRoundTrip(trace);
  }
}

TEST(Chrome, HostileNamesStayValid) { ExpectRoundTrip(HostileTrace()); }

TEST(Chrome, AnEmptyTraceIsADocument) {
  const Json document = Json::parse(Written(Trace(), WriteChrome));
  EXPECT_EQ(document["schemaVersion"], 1);
  EXPECT_TRUE(document["traceEvents"].empty());
}

TEST(Chrome, NamesAndArgumentsAreThoseOfKineto) {
  TraceMaker maker;
  const uint32_t call = maker.AddCall(1'000, 2'000, "cudaMemcpyAsync");
  GpuOp& copy = maker.AddCopy(3'000, 4'024, 2'048, trace::CopyKind::kHostToDevice, call);
  copy.source_memory = trace::MemoryKind::kPageable;
  copy.destination_memory = trace::MemoryKind::kDevice;
  Trace trace = maker.Finish();
  trace.api_calls.items()[call].correlation = 77;
  const Json document = Json::parse(Written(trace, WriteChrome));
  const Json* found = nullptr;
  for (const Json& event : document["traceEvents"]) {
    if (event["cat"] == "gpu_memcpy") found = &event;
  }
  ASSERT_NE(found, nullptr);
  EXPECT_EQ((*found)["name"], "Memcpy HtoD (Pageable -> Device)");
  EXPECT_EQ((*found)["ts"], 3.0);
  EXPECT_EQ((*found)["dur"], 1.024);
  EXPECT_EQ((*found)["args"]["bytes"], 2'048);
  EXPECT_EQ((*found)["args"]["correlation"], 77);
  EXPECT_EQ((*found)["args"]["memory bandwidth (GB/s)"], 2.0);
  EXPECT_EQ((*found)["args"]["device"], 0);
}

// A reader of several files takes the rank of each, by a pattern that wants a space.
TEST(Chrome, TheRankIsWhereReadersLook) {
  TraceMaker maker;
  maker.trace().processes[0].rank = 3;
  maker.trace().processes[0].world_size = 8;
  const std::string text = Written(maker.Finish(), WriteChrome);
  EXPECT_NE(text.find("\"rank\": 3"), std::string::npos);
  EXPECT_EQ(Json::parse(text)["distributedInfo"]["world_size"], 8);
}

TEST(Chrome, TimesAreExactFarFromTheEpoch) {
  TraceMaker maker;
  constexpr int64_t kStartNs = 987'654'321'987'654'321;
  maker.AddKernel(kStartNs + 1, kStartNs + 3);
  Trace trace = maker.Finish();
  Clock clock;
  clock.anchor.monotonic_ns = static_cast<uint64_t>(kStartNs);
  clock.anchor.realtime_ns = 1'795'285'935'353'570'577;
  trace.clocks = {clock};
  ExpectRoundTrip(trace);
}

// Readers join what has the same correlation, whatever process it is of.
TEST(Chrome, CorrelationsOfTwoProcessesStayApart) {
  TraceMaker maker;
  const uint32_t thread = maker.AddThread(maker.AddProcess(77), 77);
  maker.Launch(10, 20, 100, 110);
  maker.Launch(10, 20, 200, 210, thread);
  Trace trace = maker.Finish();
  for (auto& call : trace.api_calls.items()) call.correlation = 5;
  const Json document = Json::parse(Written(trace, WriteChrome));
  std::map<uint64_t, int> seen;
  for (const Json& event : document["traceEvents"]) {
    if (event["ph"] == "X" && event["cat"] != "gpu_user_annotation")
      ++seen[event["args"]["correlation"].get<uint64_t>()];
  }
  EXPECT_EQ(seen, (std::map<uint64_t, int>{{5, 2}, {10, 2}}));
}

TEST(Chrome, ProcessesAndThreadsOfTwoHostsWithTheSameNumbersStayApart) {
  TraceMaker maker;
  const uint32_t second = maker.AddProcess(maker.trace().processes[0].pid);
  const uint32_t thread = maker.AddThread(second, maker.trace().threads[0].tid);
  maker.AddCall(10, 30, "first", 0);
  maker.AddCall(20, 40, "second", thread);
  const Json document = Json::parse(Written(maker.Finish(), WriteChrome));
  std::map<std::string, std::pair<Json, Json>> places;
  for (const Json& event : document["traceEvents"]) {
    if (event["ph"] == "X") places[event["name"]] = {event["pid"], event["tid"]};
  }
  ASSERT_EQ(places.size(), 2u);
  EXPECT_NE(places["first"].first, places["second"].first);
  EXPECT_NE(places["first"].second, places["second"].second);
}

}  // namespace
}  // namespace gprof::test
