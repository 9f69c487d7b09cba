#include "html/timeline/encode_timeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/facts/judged_time.h"
#include "base/text.h"
#include "export/stacks/sampled_frames.h"
#include "html/timeline/byte_columns.h"
#include "html/timeline/event_details.h"
#include "html/timeline/timeline.h"

namespace gprof {
namespace {

constexpr std::size_t kMostCounterPoints = 40'000;  // of a counter; more are as many slices of time

std::string_view TrackKindName(TrackKind kind) {
  constexpr std::string_view kNames[] = {"process", "thread",  "nvtx",    "api",      "device",  "gaps",
                                         "stream",  "counter", "marks",   "overhead", "metrics", "mpi",
                                         "os",      "states",  "samples", "requests"};
  return kNames[static_cast<std::size_t>(kind)];
}

// Each slice of time has the largest value in it: peaks stay. Returns the length of a slice, 0 where nothing was
// changed.
int64_t Thin(std::vector<CounterPoint>* points) {
  if (points->size() <= kMostCounterPoints) return 0;
  const int64_t begin_ns = points->front().time_ns;
  const int64_t slice_ns = (points->back().time_ns - begin_ns) / static_cast<int64_t>(kMostCounterPoints) + 1;
  std::vector<CounterPoint> thinned;
  int64_t held = 0;  // the level at the beginning of the slice
  for (std::size_t i = 0; i < points->size();) {
    const int64_t slice = ((*points)[i].time_ns - begin_ns) / slice_ns;
    int64_t largest = (*points)[i].time_ns == begin_ns + slice * slice_ns ? (*points)[i].value : held;
    for (; i < points->size() && ((*points)[i].time_ns - begin_ns) / slice_ns == slice; ++i) {
      held = (*points)[i].value;
      largest = std::max(largest, held);
    }
    thinned.push_back({begin_ns + slice * slice_ns, largest});
    // What holds until the next change, where that is not in the next slice.
    const bool is_next = i < points->size() && ((*points)[i].time_ns - begin_ns) / slice_ns == slice + 1;
    if (!is_next && largest != held) thinned.push_back({begin_ns + (slice + 1) * slice_ns, held});
  }
  *points = std::move(thinned);
  return slice_ns;
}

// What was sampled, as a page carries it: each point with the least and the largest value, where many became one.
struct SampledPoint {
  int64_t time_ns = 0;
  double mean = 0, low = 0, high = 0;
  bool is_measured = true;
};

// Points from the beginning of the span to its end; of more than `most`, slices of time. `slice_ns` is 0 where every
// point is there.
std::vector<SampledPoint> SampledPoints(const std::vector<CounterPoint>& points, const Interval& span, std::size_t most,
                                        int64_t* slice_ns) {
  std::vector<SampledPoint> out;
  *slice_ns = points.size() <= most ? 0 : span.DurationNs() / static_cast<int64_t>(most) + 1;
  double weight = 0, sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const int64_t end_ns = std::min(i + 1 < points.size() ? points[i + 1].time_ns : INT64_MAX, span.end_ns);
    int64_t at_ns = std::max(points[i].time_ns, span.start_ns);
    const auto value = static_cast<double>(points[i].value);
    const bool is_measured = points[i].value != kNotMeasured;
    while (at_ns < end_ns) {
      const int64_t slice_start_ns = *slice_ns == 0 ? at_ns : at_ns - (at_ns - span.start_ns) % *slice_ns;
      const int64_t until_ns = *slice_ns == 0 ? end_ns : std::min(end_ns, slice_start_ns + *slice_ns);
      const bool is_new = out.empty() || *slice_ns == 0 || out.back().time_ns < slice_start_ns;
      if (is_new) {
        out.push_back({slice_start_ns, 0, 0, 0, false});
        weight = sum = 0;
      }
      SampledPoint& point = out.back();
      if (is_measured) {
        if (!point.is_measured) point.low = point.high = value;
        point.is_measured = true;
        point.low = std::min(point.low, value);
        point.high = std::max(point.high, value);
        sum += value * static_cast<double>(until_ns - at_ns);
        weight += static_cast<double>(until_ns - at_ns);
        point.mean = sum / weight;
      }
      // A value that holds for many slices is one point.
      const bool holds = until_ns < end_ns && until_ns == slice_start_ns + *slice_ns && at_ns == slice_start_ns;
      at_ns = holds ? end_ns - (end_ns - span.start_ns) % *slice_ns : until_ns;
    }
  }
  return out;
}

class Encoder {
 public:
  Encoder(const AnalysisInput& input, uint64_t budget, const std::string& step)
      : trace_(input.trace()),
        timeline_(LayOut(input)),
        reader_(trace_, timeline_),
        steady_(JudgedBy(input, step).steady) {
    NumberEvents(trace_, budget, &timeline_);
    Number(EventSource::kOp, trace_.ops.size(), &op_events_);
    Number(EventSource::kCall, trace_.api_calls.size(), &call_events_);
    Number(EventSource::kRange, trace_.ranges.size(), &range_events_);
  }

  EncodedTimeline Encode(const std::string& label) {
    Json tracks = Json::array();
    for (const TimelineTrack& track : timeline_.tracks) tracks.push_back(TrackJson(track));
    Json json;
    json["label"] = Utf8(label);
    json["start_ns"] = std::to_string(timeline_.span.start_ns);
    json["duration_ns"] = timeline_.span.DurationNs();
    json["steady"] = SteadyJson();
    json["merged_below_ns"] = timeline_.merged_below_ns;
    json["event_count"] = timeline_.event_count;
    json["trace_event_count"] = timeline_.trace_event_count;
    json["names"] = reader_.names().texts();
    json["shapes"] = ShapesJson();
    json["stacks"] = StacksJson();
    json["tracks"] = std::move(tracks);
    json["blob_bytes"] = blob_.size();
    return {std::move(json), std::move(blob_)};
  }

 private:
  // For each item the number of the event that it is drawn in.
  void Number(EventSource source, std::size_t size, std::vector<uint32_t>* numbers) const;
  Json TrackJson(const TimelineTrack& track);
  Json LaneJson(const TimelineTrack& track, const TimelineLane& lane);
  Json CounterJson(Counter counter);
  Json SampledJson(const Counter& counter);
  Json ShapesJson() const;
  Json StacksJson();
  Json SteadyJson() const;
  Json Take(ColumnWriter* column);
  // The item that stands for those that are drawn together, and the sums of all of them.
  struct Drawn {
    Interval time;
    uint32_t item = 0, count = 0;
    int64_t busy_ns = 0;
  };
  int64_t BusyNs(EventSource source, uint32_t item, const Interval& time) const;
  Drawn Draw(EventSource source, const std::vector<uint32_t>& items, std::size_t first, std::size_t last) const;
  void AddDetails(const Drawn& drawn, const EventDetails& details, uint64_t size_bytes);
  static uint64_t Event(uint32_t item, const std::vector<uint32_t>& numbers) {
    return item == kNone || numbers[item] == kNone ? 0 : uint64_t{numbers[item]} + 1;
  }

  const Trace& trace_;
  TimelineData timeline_;
  EventReader reader_;
  std::optional<SteadyTime> steady_;
  std::vector<uint32_t> op_events_, call_events_, range_events_;
  std::string blob_;
  ColumnWriter gap_{"gap", Coding::kVarint}, duration_{"duration", Coding::kVarint}, name_{"name", Coding::kVarint},
      kind_{"kind", Coding::kByte}, call_{"call", Coding::kDelta}, bytes_{"bytes", Coding::kVarint},
      shape_{"shape", Coding::kVarint}, memory_{"memory", Coding::kByte}, correlation_{"correlation", Coding::kDelta},
      result_{"result", Coding::kVarint}, color_{"color", Coding::kVarint}, payload_{"payload", Coding::kVarint},
      range_{"range", Coding::kDelta}, next_{"next", Coding::kDelta}, blame_{"blame", Coding::kDelta},
      function_{"function", Coding::kVarint}, object_{"object", Coding::kVarint}, other_{"other", Coding::kVarint},
      stack_{"stack", Coding::kDelta}, cpu_{"cpu", Coding::kVarint}, count_{"count", Coding::kVarint},
      busy_{"busy", Coding::kVarint};
  std::array<ColumnWriter*, 22> columns_ = {
      &gap_,     &duration_, &name_, &kind_,  &call_,     &bytes_,  &shape_, &memory_, &correlation_, &result_, &color_,
      &payload_, &range_,    &next_, &blame_, &function_, &object_, &other_, &stack_,  &cpu_,         &count_,  &busy_};
};

void Encoder::Number(EventSource source, std::size_t size, std::vector<uint32_t>* numbers) const {
  numbers->assign(size, kNone);
  for (const TimelineTrack& track : timeline_.tracks) {
    if (track.source != source) continue;
    const auto time_of = [&](uint32_t item) { return TimeOf(trace_, timeline_, source, item); };
    for (const TimelineLane& lane : track.lanes) {
      uint32_t number = lane.first;
      ForEachEvent(lane.items, timeline_.span.start_ns, timeline_.merged_below_ns, time_of,
                   [&](std::size_t first, std::size_t last) {
                     for (std::size_t i = first; i < last; ++i) (*numbers)[lane.items[i]] = number;
                     ++number;
                   });
    }
  }
}

// A sample has no duration, but stands for time of the processor.
int64_t Encoder::BusyNs(EventSource source, uint32_t item, const Interval& time) const {
  if (source != EventSource::kSample) return time.DurationNs();
  const CpuSample& sample = trace_.cpu_samples[item];
  return IsOfRunning(sample) ? std::max<int64_t>(0, sample.weight_ns) : 0;
}

Encoder::Drawn Encoder::Draw(EventSource source, const std::vector<uint32_t>& items, std::size_t first,
                             std::size_t last) const {
  Drawn drawn;
  int64_t longest_ns = -1;
  for (std::size_t i = first; i < last; ++i) {
    const Interval time = TimeOf(trace_, timeline_, source, items[i]);
    if (i == first) drawn.time = time;
    drawn.time.end_ns = std::max(drawn.time.end_ns, time.end_ns);
    drawn.busy_ns += BusyNs(source, items[i], time);
    ++drawn.count;
    if (time.DurationNs() <= longest_ns) continue;
    longest_ns = time.DurationNs();
    drawn.item = items[i];
  }
  return drawn;
}

Json Encoder::LaneJson(const TimelineTrack& track, const TimelineLane& lane) {
  int64_t before_ns = timeline_.span.start_ns;
  const auto time_of = [&](uint32_t item) { return TimeOf(trace_, timeline_, track.source, item); };
  ForEachEvent(lane.items, timeline_.span.start_ns, timeline_.merged_below_ns, time_of,
               [&](std::size_t first, std::size_t last) {
                 const Drawn drawn = Draw(track.source, lane.items, first, last);
                 const EventDetails details = reader_.Read(track.source, drawn.item);
                 uint64_t size_bytes = details.size_bytes;
                 for (std::size_t i = first; i < last && drawn.count > 1 && track.source == EventSource::kOp; ++i) {
                   if (lane.items[i] != drawn.item) size_bytes += trace_.ops[lane.items[i]].size_bytes;
                 }
                 gap_.Add(static_cast<uint64_t>(std::max<int64_t>(0, drawn.time.start_ns - before_ns)));
                 duration_.Add(static_cast<uint64_t>(std::max<int64_t>(0, drawn.time.DurationNs())));
                 before_ns = std::max(before_ns, drawn.time.end_ns);
                 AddDetails(drawn, details, size_bytes);
               });
  Json columns = Json::array();
  for (ColumnWriter* column : columns_) {
    if (column->HasValues()) columns.push_back(Take(column));
    column->Clear();
  }
  return {{"count", lane.count}, {"first", lane.first}, {"depth", lane.depth}, {"columns", std::move(columns)}};
}

void Encoder::AddDetails(const Drawn& drawn, const EventDetails& details, uint64_t size_bytes) {
  name_.Add(details.name);
  kind_.Add(static_cast<uint64_t>(details.kind));
  call_.Add(Event(details.call, call_events_));
  bytes_.Add(size_bytes);
  shape_.Add(details.shape);
  memory_.Add(details.memory);
  correlation_.Add(details.correlation);
  result_.Add(details.result);
  color_.Add(details.color);
  payload_.Add(details.payload);
  range_.Add(Event(details.range, range_events_));
  next_.Add(Event(details.next, op_events_));
  blame_.Add(details.blame_call != kNone ? Event(details.blame_call, call_events_)
                                         : Event(details.blame_range, range_events_));
  function_.Add(details.function);
  object_.Add(details.object);
  other_.Add(details.other);
  stack_.Add(details.stack);
  cpu_.Add(details.cpu);
  if (timeline_.merged_below_ns != 0) count_.Add(drawn.count);
  if (timeline_.merged_below_ns != 0 || details.kind == EventKind::kCpuSample)
    busy_.Add(static_cast<uint64_t>(drawn.busy_ns));
}

Json Encoder::Take(ColumnWriter* column) {
  Json json = {{"name", column->name()},
               {"coding", CodingName(column->coding())},
               {"offset", blob_.size()},
               {"bytes", column->bytes().size()}};
  blob_ += column->bytes();
  return json;
}

Json Encoder::CounterJson(Counter counter) {
  if (counter.metric_source != kNone) return SampledJson(counter);
  int64_t maximum = 0;
  for (const CounterPoint& point : counter.points) maximum = std::max(maximum, point.value);
  const int64_t resolution_ns = Thin(&counter.points);
  ColumnWriter time("time", Coding::kVarint), value("value", Coding::kDelta);
  int64_t before_ns = timeline_.span.start_ns;
  for (const CounterPoint& point : counter.points) {
    time.Add(static_cast<uint64_t>(std::max<int64_t>(0, point.time_ns - before_ns)));
    before_ns = std::max(before_ns, point.time_ns);
    value.Add(static_cast<uint64_t>(point.value));
  }
  Json columns = Json::array({Take(&time), Take(&value)});
  return {{"unit", counter.IsBytes() ? "bytes" : "count"},
          {"maximum", maximum},
          {"count", counter.points.size()},
          {"resolution_ns", resolution_ns},
          {"columns", std::move(columns)}};
}

// Means have two more digits than the samples.
Json Encoder::SampledJson(const Counter& counter) {
  constexpr std::size_t kMostPoints = 400'000, kFewestPoints = 2'000;
  const std::size_t most = std::clamp(kMostPoints / trace_.metric_sources.size(), kFewestPoints, kMostCounterPoints);
  int64_t slice_ns = 0;
  const std::vector<SampledPoint> points = SampledPoints(counter.points, timeline_.span, most, &slice_ns);
  const int32_t more_digits = slice_ns == 0 ? 0 : 2;
  const double units = slice_ns == 0 ? 1 : 100;
  ColumnWriter time("time", Coding::kVarint), value("value", Coding::kDelta), low("below", Coding::kVarint),
      high("above", Coding::kVarint), missing("missing", Coding::kByte);
  int64_t before_ns = timeline_.span.start_ns, last = 0;
  double maximum = 0;
  for (const SampledPoint& point : points) {
    time.Add(static_cast<uint64_t>(point.time_ns - before_ns));
    before_ns = point.time_ns;
    // What is missing costs nothing.
    if (point.is_measured) last = std::llround(point.mean * units);
    value.Add(static_cast<uint64_t>(last));
    low.Add(static_cast<uint64_t>(std::llround((point.mean - point.low) * units)));
    high.Add(static_cast<uint64_t>(std::llround((point.high - point.mean) * units)));
    missing.Add(point.is_measured ? 0 : 1);
    if (point.is_measured) maximum = std::max(maximum, point.high);
  }
  Json columns = Json::array({Take(&time), Take(&value)});
  for (ColumnWriter* column : {&low, &high, &missing}) {
    if (column->HasValues()) columns.push_back(Take(column));
  }
  const MetricSource& source = trace_.metric_sources[counter.metric_source];
  const std::string unit = counter.unit == "%" ? "percent" : Utf8(counter.unit);
  return {{"unit", unit.empty() ? "count" : unit},
          {"maximum", ScaledValue(source, static_cast<int64_t>(maximum))},
          {"count", points.size()},
          {"resolution_ns", slice_ns},
          {"scale", counter.scale - more_digits},
          {"columns", std::move(columns)}};
}

Json Encoder::TrackJson(const TimelineTrack& track) {
  Json lanes = Json::array();
  for (const TimelineLane& lane : track.lanes) lanes.push_back(LaneJson(track, lane));
  return {{"kind", TrackKindName(track.kind)},
          {"label", track.label},
          {"detail", track.detail},
          {"parent", track.parent},
          {"lanes", std::move(lanes)},
          {"counter", track.counter ? CounterJson(*track.counter) : Json()},
          {"is_folded", track.is_folded}};
}

Json Encoder::ShapesJson() const {
  Json shapes = Json::array();
  for (const uint32_t index : reader_.shapes()) {
    const trace::KernelShapeRecord& s = trace_.shapes[index];
    shapes.push_back({{"grid", {s.grid_x, s.grid_y, s.grid_z}},
                      {"block", {s.block_x, s.block_y, s.block_z}},
                      {"registers", s.registers_per_thread},
                      {"static_shared_bytes", s.static_shared_bytes},
                      {"dynamic_shared_bytes", s.dynamic_shared_bytes}});
  }
  return shapes;
}

Json Encoder::StacksJson() {
  ColumnWriter parent("parent", Coding::kDelta), name("name", Coding::kVarint), kind("kind", Coding::kByte);
  for (const PageStacks::Node& node : reader_.stacks().nodes()) {
    parent.Add(node.parent);
    name.Add(node.name);
    kind.Add(static_cast<uint64_t>(node.kind));
  }
  Json columns = Json::array();
  for (ColumnWriter* column : {&parent, &name, &kind}) {
    if (column->HasValues()) columns.push_back(Take(column));
  }
  return {{"count", reader_.stacks().nodes().size()}, {"columns", std::move(columns)}};
}

// The time that findings judge, which is where their links lead to.
Json Encoder::SteadyJson() const {
  if (!steady_) return nullptr;
  return {{"start_ns", steady_->time.start_ns - timeline_.span.start_ns},
          {"end_ns", steady_->time.end_ns - timeline_.span.start_ns}};
}

}  // namespace

EncodedTimeline EncodeTimeline(const AnalysisInput& input, const std::string& label, uint64_t budget,
                               const std::string& step) {
  return Encoder(input, budget, step).Encode(label);
}

}  // namespace gprof
