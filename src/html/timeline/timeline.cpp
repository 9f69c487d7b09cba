#include "html/timeline/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "analysis/causes/idle_parts.h"
#include "analysis/facts/gaps/gaps.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/topics/tracks/gpu_states.h"
#include "analysis/topics/tracks/metric_samples.h"
#include "base/text.h"
#include "base/units.h"
#include "export/events/track_ids.h"
#include "html/timeline/host_rows.h"
#include "html/timeline/lane_maker.h"
#include "html/timeline/request_rows.h"

namespace gprof {
namespace {

class LayoutMaker {
 public:
  explicit LayoutMaker(const AnalysisInput& input)
      : input_(input), trace_(input.trace()), host_rows_(input), request_rows_(trace_), marks_(trace_.threads.size()) {
    for (uint32_t i = 0; i < trace_.marks.size(); ++i) {
      if (trace_.marks[i].thread != kNone) marks_[trace_.marks[i].thread].push_back(i);
    }
  }

  TimelineData Make() {
    for (uint32_t device = 0; device < trace_.devices.size(); ++device) AddDevice(device);
    for (uint32_t process = 0; process < trace_.processes.size(); ++process) AddProcess(process);
    AddStartEndRanges(kNone, -1);
    AddThreadsOf(kNone, -1);
    AddSampled("host", -1, [&](const MetricSource& source) { return IsOfHost(source); });
    data_.span = {trace_.start_ns, std::max(trace_.start_ns, trace_.end_ns)};
    for (const TimelineTrack& track : data_.tracks) {
      for (const TimelineLane& lane : track.lanes) {
        data_.trace_event_count += lane.items.size();
        data_.span.start_ns =
            std::min(data_.span.start_ns, TimeOf(trace_, data_, track.source, lane.items.front()).start_ns);
        data_.span.end_ns = std::max(data_.span.end_ns, TimeOf(trace_, data_, track.source, lane.items.back()).end_ns);
      }
    }
    return std::move(data_);
  }

 private:
  int32_t AddTrack(TimelineTrack track) {
    data_.tracks.push_back(std::move(track));
    return static_cast<int32_t>(data_.tracks.size()) - 1;
  }
  void AddLanes(TrackKind kind, EventSource source, int32_t parent, std::string label, std::string detail,
                std::vector<TimelineLane> lanes) {
    if (!lanes.empty()) AddTrack({kind, source, parent, std::move(label), std::move(detail), std::move(lanes), {}});
  }
  // A group that turned out to be empty is left out.
  void DropIfEmpty(int32_t track) {
    if (static_cast<std::size_t>(track) + 1 == data_.tracks.size()) data_.tracks.pop_back();
  }

  void AddDevice(uint32_t device);
  bool IsOfHost(const MetricSource& source) const;
  template <class IsWanted>
  void AddSampled(std::string label, int32_t parent, IsWanted&& is_wanted);
  void AddIdle(uint32_t device, int32_t parent);
  uint32_t ThreadAfter(const Gap& gap) const;
  uint32_t RangeWith(NameId path, uint32_t thread, int64_t time_ns) const;
  NameId LongestWait(uint32_t thread, const Interval& time) const;
  void AddStreams(uint32_t device, int32_t parent);
  std::string StreamDetail(uint32_t stream) const;
  void AddProcess(uint32_t process);
  void AddStartEndRanges(uint32_t process, int32_t parent);
  void AddOverhead(uint32_t process, int32_t parent);
  void AddThreadsOf(uint32_t process, int32_t parent);
  void AddNvtx(uint32_t thread, int32_t parent);
  void AddMarks(uint32_t thread, int32_t parent);
  void AddCalls(uint32_t thread, int32_t parent);
  template <class Records, class IsWanted>
  std::vector<TimelineLane> SideBySide(const Records& records, IsWanted&& is_wanted) const;

  const AnalysisInput& input_;
  const Trace& trace_;
  HostRows host_rows_;
  RequestRows request_rows_;
  std::vector<std::vector<uint32_t>> marks_;  // by thread
  TimelineData data_;
};

// ---- the GPUs ----

void LayoutMaker::AddDevice(uint32_t device) {
  const trace::DeviceRecord& properties = trace_.devices[device].properties;
  std::string detail;
  if (properties.sm_count != 0) {
    detail = fmt::format("{} multiprocessors, {}", properties.sm_count, FormatBytes(properties.memory_bytes));
  }
  const int32_t group =
      AddTrack({TrackKind::kDevice, EventSource::kNothing, -1, DeviceTitle(trace_, device), detail, {}, {}});
  for (const auto make : {RunningOps, QueuedOps, MemoryInUse}) {
    Counter counter = make(trace_, device);
    if (counter.points.empty()) continue;
    const std::string label(counter.name);
    AddTrack({TrackKind::kCounter, EventSource::kNothing, group, label, "", {}, std::move(counter)});
  }
  AddSampled("GPU metrics", group, [&](const MetricSource& source) { return source.device == device; });
  AddIdle(device, group);
  AddStreams(device, group);
  DropIfEmpty(group);
}

// ---- what was sampled ----

// Of the machine, or of what is not in the trace.
bool LayoutMaker::IsOfHost(const MetricSource& source) const {
  if (source.scope == trace::MetricScope::kHost) return true;
  return source.device == kNone && source.process == kNone;
}

// In a group, which is folded where it is long.
template <class IsWanted>
void LayoutMaker::AddSampled(std::string label, int32_t parent, IsWanted&& is_wanted) {
  constexpr std::size_t kFewCounters = 2;
  const int32_t group = AddTrack({TrackKind::kMetrics, EventSource::kNothing, parent, std::move(label), "", {}, {}});
  // What a folded group shows is the first: how busy something was says more than its clock. Others begin with shares.
  std::vector<uint32_t> sources;
  for (uint32_t i = 0; i < trace_.metric_sources.size(); ++i) {
    if (is_wanted(trace_.metric_sources[i]) && !trace_.SamplesOf(i).empty()) sources.push_back(i);
  }
  const auto place = [&](uint32_t i) {
    const MetricSource& source = trace_.metric_sources[i];
    const std::string_view name = trace_.Text(source.name), unit = trace_.Text(source.unit);
    const bool is_best = source.device == kNone || FindSource(trace_, source.device, name, unit) == i;
    return std::tuple(PlaceOfCounter(name), !is_best, unit != "%");
  };
  std::stable_sort(sources.begin(), sources.end(), [&](uint32_t a, uint32_t b) { return place(a) < place(b); });
  for (const uint32_t i : sources) {
    const MetricSource& source = trace_.metric_sources[i];
    std::string name = NameWithUnit(trace_, source);
    const bool is_of_group = source.scope == trace::MetricScope::kHost || source.device != kNone ||
                             (source.scope == trace::MetricScope::kProcess && source.process != kNone);
    if (!is_of_group) name += " of " + Utf8(SampledThing(trace_, source));
    const std::string origin = Utf8(trace_.Text(source.origin));
    AddTrack({TrackKind::kCounter,
              EventSource::kNothing,
              group,
              std::move(name),
              origin.empty() ? "sampled" : "sampled, source: " + origin,
              {},
              SampledCounter(trace_, i)});
  }
  data_.tracks[static_cast<std::size_t>(group)].is_folded =
      data_.tracks.size() > static_cast<std::size_t>(group) + 1 + kFewCounters;
  DropIfEmpty(group);
}

void LayoutMaker::AddIdle(uint32_t device, int32_t parent) {
  TimelineLane lane;
  ForEachExplainedGap(input_, device, [&](const Gap& gap, std::span<const Part> parts) {
    int64_t at_ns = gap.start_ns;
    const uint32_t thread = ThreadAfter(gap);
    for (const Part& part : parts) {
      const int64_t end_ns = at_ns + part.duration_ns;
      const uint32_t range = part.call() == kNone ? RangeWith(part.path(), thread, at_ns) : kNone;
      lane.items.push_back(static_cast<uint32_t>(data_.idle_parts.size()));
      const NameId function =
          part.cause == Cause::kOs || part.cause == Cause::kMpi ? LongestWait(thread, {at_ns, end_ns}) : NameId{};
      data_.idle_parts.push_back({at_ns, end_ns, part.cause, part.call(), range, gap.after, function});
      at_ns = end_ns;
    }
  });
  if (lane.items.empty()) return;
  // A selection keeps gaps in order, but captures cut some of them.
  const auto is_before = [this](uint32_t a, uint32_t b) {
    return data_.idle_parts[a].start_ns < data_.idle_parts[b].start_ns;
  };
  if (!std::is_sorted(lane.items.begin(), lane.items.end(), is_before))
    std::stable_sort(lane.items.begin(), lane.items.end(), is_before);
  AddTrack({TrackKind::kGaps,
            EventSource::kIdlePart,
            parent,
            "idle",
            "time without an operation, by its cause",
            {lane},
            {}});
}

// Of the call that ended the gap.
uint32_t LayoutMaker::ThreadAfter(const Gap& gap) const {
  if (gap.after == kNone) {
    const DeviceWindow& window = trace_.device_windows[gap.device];
    return window.has_next_call ? window.next_call.thread : kNone;
  }
  const uint32_t call = trace_.ops[gap.after].api;
  return call == kNone ? kNone : trace_.api_calls[call].thread;
}

// The range with that path that the thread was in.
uint32_t LayoutMaker::RangeWith(NameId path, uint32_t thread, int64_t time_ns) const {
  if (path.value == 0) return kNone;
  uint32_t range = RangeAround(trace_, thread, time_ns);
  while (range != kNone && trace_.ranges[range].path != path) {
    const uint32_t parent = trace_.ranges[range].parent;
    range = parent < range ? parent : kNone;
  }
  return range;
}

// The call of the operating system or of MPI that took most of the time; none where it was not recorded.
NameId LayoutMaker::LongestWait(uint32_t thread, const Interval& time) const {
  NameId function;
  int64_t longest_ns = 0;
  for (const ThreadWait& wait : input_.shared().host().waits.Within(thread, time.start_ns, time.end_ns)) {
    const int64_t ns = OverlapNs(time, wait);
    if (wait.call == kNone || ns <= longest_ns) continue;
    longest_ns = ns;
    function = wait.is_mpi ? trace_.mpi_calls[wait.call].function : trace_.os_calls[wait.call].function;
  }
  return function;
}

void LayoutMaker::AddStreams(uint32_t device, int32_t parent) {
  std::map<uint32_t, LaneMaker> streams;  // what has no stream comes last, as kNone is the largest number
  const Trace::Slice slice = trace_.device_ops[device];
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    streams[trace_.ops[i].stream].Add(i, TimeOf(trace_, data_, EventSource::kOp, i), 0);
  }
  for (auto& [stream, lanes] : streams) {
    AddLanes(TrackKind::kStream, EventSource::kOp, parent, StreamTitle(trace_, stream, trace_.processes.size() > 1),
             StreamDetail(stream), lanes.Finish());
  }
}

std::string LayoutMaker::StreamDetail(uint32_t stream) const {
  if (stream == kNone) return "";
  const Stream& s = trace_.streams[stream];
  std::string detail = fmt::format("stream {}", s.id);
  if (s.is_default) detail += ", default stream of its context";
  if (s.is_created) detail += ", created by the program";
  if (s.is_non_blocking) detail += ", non-blocking";
  if (s.priority != 0) detail += fmt::format(", priority {}", s.priority);
  if (s.names_given > 1) detail += fmt::format(", was given {} names", s.names_given);
  return detail;
}

// ---- the host ----

void LayoutMaker::AddProcess(uint32_t process) {
  const Process& p = trace_.processes[process];
  const std::string command_line = Utf8(trace_.Text(p.command_line));
  const int32_t group = AddTrack({TrackKind::kProcess,
                                  EventSource::kNothing,
                                  -1,
                                  fmt::format("{} ({})", ProcessTitle(trace_, process), p.pid),
                                  command_line,
                                  {},
                                  {}});
  AddSampled("load", group, [&](const MetricSource& source) {
    return source.process == process && source.device == kNone && !IsOfHost(source);
  });
  request_rows_.AddTo(process, group, &data_);
  AddStartEndRanges(process, group);
  AddThreadsOf(process, group);
  AddOverhead(process, group);
  DropIfEmpty(group);
}

template <class Records, class IsWanted>
std::vector<TimelineLane> LayoutMaker::SideBySide(const Records& records, IsWanted&& is_wanted) const {
  std::vector<uint32_t> wanted;
  for (uint32_t i = 0; i < records.size(); ++i) {
    if (is_wanted(records[i])) wanted.push_back(i);
  }
  std::sort(wanted.begin(), wanted.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(records[a].start_ns, -records[a].end_ns, a) <
           std::tuple(records[b].start_ns, -records[b].end_ns, b);
  });
  LaneMaker lanes;
  for (const uint32_t i : wanted) lanes.Add(i, {records[i].start_ns, records[i].end_ns}, 0);
  return lanes.Finish();
}

void LayoutMaker::AddStartEndRanges(uint32_t process, int32_t parent) {
  AddLanes(TrackKind::kNvtx, EventSource::kRange, parent, "NVTX start/end", "start/end ranges, which may overlap",
           SideBySide(trace_.ranges, [&](const NvtxRange& range) {
             if (range.is_push_pop) return false;
             return (range.thread == kNone ? kNone : trace_.threads[range.thread].process) == process;
           }));
}

void LayoutMaker::AddOverhead(uint32_t process, int32_t parent) {
  AddLanes(TrackKind::kOverhead, EventSource::kOverhead, parent, "recording", "profiling overhead (CUPTI)",
           SideBySide(trace_.overheads, [&](const Overhead& overhead) { return overhead.process == process; }));
}

void LayoutMaker::AddThreadsOf(uint32_t process, int32_t parent) {
  for (uint32_t i = 0; i < trace_.threads.size(); ++i) {
    const Thread& thread = trace_.threads[i];
    if (thread.process != process) continue;
    const std::string name = Utf8(trace_.Text(thread.name));
    const int32_t group = AddTrack({TrackKind::kThread,
                                    EventSource::kNothing,
                                    parent,
                                    fmt::format("thread {}{}{}", thread.tid, name.empty() ? "" : " ", name),
                                    "",
                                    {},
                                    {}});
    AddMarks(i, group);
    AddNvtx(i, group);
    AddCalls(i, group);
    // Threads that never call CUDA are many and seldom looked at.
    data_.tracks[static_cast<std::size_t>(group)].is_folded =
        data_.tracks.size() == static_cast<std::size_t>(group) + 1;
    host_rows_.AddTo(i, group, &data_);
    DropIfEmpty(group);
  }
}

void LayoutMaker::AddNvtx(uint32_t thread, int32_t parent) {
  const Trace::Slice slice = trace_.thread_ranges[thread];
  LaneMaker lanes;
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    const NvtxRange& range = trace_.ranges[i];
    if (range.is_push_pop) lanes.Add(i, {range.start_ns, range.end_ns}, range.depth);
  }
  AddLanes(TrackKind::kNvtx, EventSource::kRange, parent, "NVTX", "push/pop ranges", lanes.Finish());
}

void LayoutMaker::AddMarks(uint32_t thread, int32_t parent) {
  if (marks_[thread].empty()) return;
  TimelineLane lane;
  lane.items = marks_[thread];
  AddLanes(TrackKind::kMarks, EventSource::kMark, parent, "NVTX marks", "", {std::move(lane)});
}

void LayoutMaker::AddCalls(uint32_t thread, int32_t parent) {
  const Trace::Slice slice = trace_.thread_api_calls[thread];
  LaneMaker lanes;
  std::vector<uint16_t> depths(slice.last - slice.first);
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    const uint32_t caller = trace_.api_calls[i].parent;
    // As deep as the call within a call within … of the program, which ends in a trace that says otherwise, too.
    if (caller >= slice.first && caller < i && depths[caller - slice.first] < UINT16_MAX) {
      depths[i - slice.first] = static_cast<uint16_t>(depths[caller - slice.first] + 1);
    }
    lanes.Add(i, TimeOf(trace_, data_, EventSource::kCall, i), depths[i - slice.first]);
  }
  AddLanes(TrackKind::kApi, EventSource::kCall, parent, "CUDA API", "CUDA runtime and driver calls", lanes.Finish());
}

uint64_t CountEvents(const Trace& trace, const TimelineData& timeline, int64_t merged_below_ns) {
  uint64_t count = 0;
  for (const TimelineTrack& track : timeline.tracks) {
    const auto time_of = [&](uint32_t item) { return TimeOf(trace, timeline, track.source, item); };
    for (const TimelineLane& lane : track.lanes) {
      ForEachEvent(lane.items, timeline.span.start_ns, merged_below_ns, time_of,
                   [&](std::size_t, std::size_t) { ++count; });
    }
  }
  return count;
}

// The smallest power of two that makes few enough events of them; 0 where there are few enough.
int64_t MergedBelow(const Trace& trace, uint64_t budget, const TimelineData& timeline) {
  if (timeline.trace_event_count <= budget) return 0;
  int low = 0, high = 1;  // 2^low may be too little, 2^high is not: all is in one slice
  while (high < 62 && int64_t{1} << high <= timeline.span.DurationNs()) ++high;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (CountEvents(trace, timeline, int64_t{1} << middle) <= budget) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return int64_t{1} << low;
}

}  // namespace

Interval TimeOf(const Trace& trace, const TimelineData& timeline, EventSource source, uint32_t item) {
  switch (source) {
    case EventSource::kOp:
      return {trace.ops[item].start_ns, trace.ops[item].end_ns};
    case EventSource::kCall:
      return {trace.api_calls[item].start_ns, trace.api_calls[item].end_ns};
    case EventSource::kRange:
      return {trace.ranges[item].start_ns, trace.ranges[item].end_ns};
    case EventSource::kMark:
      return {trace.marks[item].time_ns, trace.marks[item].time_ns};
    case EventSource::kIdlePart:
      return {timeline.idle_parts[item].start_ns, timeline.idle_parts[item].end_ns};
    case EventSource::kOverhead:
      return {trace.overheads[item].start_ns, trace.overheads[item].end_ns};
    case EventSource::kMpiCall:
      return {trace.mpi_calls[item].start_ns, trace.mpi_calls[item].end_ns};
    case EventSource::kOsCall:
      return {trace.os_calls[item].start_ns, trace.os_calls[item].end_ns};
    case EventSource::kThreadState:
      return {timeline.thread_states[item].start_ns, timeline.thread_states[item].end_ns};
    case EventSource::kSample:
      return {trace.cpu_samples[item].time_ns, trace.cpu_samples[item].time_ns};
    case EventSource::kRequestSlice:
      return timeline.request_slices[item].slice.time;
    case EventSource::kNothing:
      break;
  }
  return {};
}

TimelineData LayOut(const AnalysisInput& input) { return LayoutMaker(input).Make(); }

void NumberEvents(const Trace& trace, uint64_t budget, TimelineData* timeline) {
  timeline->merged_below_ns = MergedBelow(trace, budget, *timeline);
  timeline->event_count = 0;
  for (TimelineTrack& track : timeline->tracks) {
    const auto time_of = [&](uint32_t item) { return TimeOf(trace, *timeline, track.source, item); };
    for (TimelineLane& lane : track.lanes) {
      lane.first = static_cast<uint32_t>(timeline->event_count);
      lane.count = 0;
      ForEachEvent(lane.items, timeline->span.start_ns, timeline->merged_below_ns, time_of,
                   [&](std::size_t, std::size_t) { ++lane.count; });
      timeline->event_count += lane.count;
    }
  }
}

}  // namespace gprof
