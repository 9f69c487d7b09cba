// Perfetto's own format: TrackEvent packets with interned names. Threads have their calls and NVTX ranges, GPUs their
// streams, NVTX ranges and counters below them; flows lead from a call to what it launched. Rows below a thread have
// its calls of the operating system, the times when it did not run, and its CPU samples.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/facts/places/stack_names.h"
#include "analysis/facts/recording/clock_quality.h"
#include "analysis/topics/tracks/metric_samples.h"
#include "base/text.h"
#include "export/events/by_thread.h"
#include "export/events/counter_curves.h"
#include "export/events/event_args.h"
#include "export/events/host_events.h"
#include "export/events/labels.h"
#include "export/events/lanes.h"
#include "export/events/projected_ranges.h"
#include "export/events/track_ids.h"
#include "export/exporters.h"
#include "export/timeline/perfetto_packets.h"
#include "export/timeline/perfetto_requests.h"

namespace gprof {
namespace {

using PacketType = PerfettoPackets::EventType;

// The operations that each call launched.
class OpsOfCalls {
 public:
  explicit OpsOfCalls(const Trace& trace) {
    for (uint32_t i = 0; i < trace.ops.size(); ++i) {
      if (trace.ops[i].api != kNone) pairs_.emplace_back(trace.ops[i].api, i);
    }
    std::sort(pairs_.begin(), pairs_.end());
  }
  template <class F>
  void ForEach(uint32_t call, F&& f) const {
    auto at = std::lower_bound(pairs_.begin(), pairs_.end(), std::pair<uint32_t, uint32_t>{call, 0});
    for (; at != pairs_.end() && at->first == call; ++at) f(at->second);
  }

 private:
  std::vector<std::pair<uint32_t, uint32_t>> pairs_;
};

// A row of the timeline, which is as many tracks as it takes for its events to nest.
class Row {
 public:
  Row(PerfettoPackets* packets, Lanes::Nesting nesting, uint64_t first_track, PerfettoPackets::Track more)
      : packets_(packets), lanes_(nesting), more_(more), name_(more.name), tracks_{first_track} {}

  // The track to begin an event in.
  uint64_t Begin(Interval time) {
    const std::size_t lane =
        lanes_.Place(time, [&](std::size_t l, int64_t end_ns) { packets_->End(tracks_[l], end_ns); });
    while (tracks_.size() <= lane) {
      more_.name = name_;
      tracks_.push_back(packets_->AddTrack(more_));
    }
    return tracks_[lane];
  }
  void Finish() {
    lanes_.Finish([&](std::size_t lane, int64_t end_ns) { packets_->End(tracks_[lane], end_ns); });
  }

 private:
  PerfettoPackets* packets_;
  Lanes lanes_;
  PerfettoPackets::Track more_;
  std::string name_;
  std::vector<uint64_t> tracks_;
};

class PerfettoWriter {
 public:
  PerfettoWriter(const Trace& trace, const ExportOptions& options, OutputStream& out)
      : trace_(trace),
        packets_(out),
        progress_(options, trace.api_calls.size() + trace.ranges.size() + trace.marks.size() + trace.ops.size()),
        labels_(trace),
        args_(trace),
        ids_(trace),
        has_several_(DevicesOfSeveralProcesses(trace)),
        ops_of_calls_(trace) {}

  void Write() {
    const auto clock = BestClock(trace_);
    packets_.Clocks(clock ? clock->monotonic_ns : static_cast<uint64_t>(trace_.start_ns),
                    clock ? clock->realtime_ns : 0);
    Processes();
    for (uint32_t thread = 0; thread < trace_.threads.size(); ++thread) Host(thread);
    StartEndRanges();
    Marks();
    const std::vector<ProjectedRange> projected = ProjectRanges(trace_);
    for (uint32_t device = 0; device < trace_.devices.size(); ++device) {
      Streams(device);
      Ops(device);
    }
    ProjectedRanges(projected);
    Counters();
    SampledCounters();
    HostCalls(trace_.os_calls, "os_call", "OS calls", &EventArgs::OfOsCall);
    HostCalls(trace_.mpi_calls, "mpi_call", "MPI calls", &EventArgs::OfMpiCall);
    HostCalls(trace_.collectives, "collective", "NCCL operations", &EventArgs::OfCollective);
    HostCalls(trace_.directives, "directive", "OpenMP and OpenACC", &EventArgs::OfDirective);
    Switches();
    Samples();
    WriteRequests(trace_, process_tracks_, FlowOf, &labels_, &packets_);
  }

 private:
  void Processes();
  void Host(uint32_t thread);
  void Call(uint32_t call, uint64_t track);
  void StartEndRanges();
  void Marks();
  void Streams(uint32_t device);
  void Ops(uint32_t device);
  void Op(uint32_t op, uint64_t track);
  void ProjectedRanges(const std::vector<ProjectedRange>& projected);
  void Counters();
  void SampledCounters();
  uint64_t TrackAround(const MetricSource& source);
  template <class HostCall>
  void HostCalls(const std::vector<HostCall>& all, std::string_view category, std::string_view row_name,
                 void (EventArgs::*args)(const HostCall&, ArgSink&));
  void Switches();
  void Samples();
  PerfettoPackets::Track RowBelow(ThreadOfProcess at, std::string_view name) const;
  PerfettoPackets::Track StreamTrack(uint32_t device, uint32_t stream, const std::string& name, bool is_nvtx) const;
  uint64_t ProcessTrackOf(uint32_t thread) const;

  // A flow belongs to its operation.
  static uint64_t FlowOf(uint32_t op) { return uint64_t{op} + 1; }

  const Trace& trace_;
  PerfettoPackets packets_;
  ExportProgress progress_;
  Labels labels_;
  EventArgs args_;
  TrackIds ids_;
  std::vector<bool> has_several_;  // processes, by device
  OpsOfCalls ops_of_calls_;
  std::vector<uint64_t> process_tracks_, thread_tracks_, device_tracks_;
  uint64_t host_track_ = 0;  // 0 until it is needed
};

// ---- the host ----

void PerfettoWriter::Processes() {
  for (uint32_t i = 0; i < trace_.processes.size(); ++i) {
    const Process& process = trace_.processes[i];
    process_tracks_.push_back(packets_.ProcessTrack(ids_.Pid(i), ProcessTitle(trace_, i),
                                                    Utf8(trace_.Text(process.command_line)),
                                                    Utf8(trace_.Text(process.host))));
  }
  for (uint32_t i = 0; i < trace_.threads.size(); ++i) {
    const Thread& thread = trace_.threads[i];
    const uint32_t pid = thread.process == kNone ? 0 : ids_.Pid(thread.process);
    thread_tracks_.push_back(packets_.ThreadTrack(ProcessTrackOf(i), pid, ids_.Tid(i), Utf8(trace_.Text(thread.name))));
  }
}

uint64_t PerfettoWriter::ProcessTrackOf(uint32_t thread) const {
  const uint32_t process = thread == kNone ? kNone : trace_.threads[thread].process;
  return process == kNone ? 0 : process_tracks_[process];
}

void PerfettoWriter::Host(uint32_t thread) {
  Row row(&packets_, Lanes::Nesting::kNested, thread_tracks_[thread],
          {.parent = thread_tracks_[thread], .name = "overlapping calls and ranges"});
  ForEachHostEvent(trace_, thread, [&](const HostEvent& event) {
    progress_.Add();
    const uint64_t track = row.Begin(event.time);
    if (event.call != kNone) return Call(event.call, track);
    const uint32_t label = labels_.Of(trace_.ranges[event.range].name);
    packets_.Event(PacketType::kBegin, track, event.time.start_ns, "user_annotation", label, labels_.Text(label),
                   [&](ArgSink& sink, auto&) { args_.OfRange(event.range, sink); });
  });
  row.Finish();
}

void PerfettoWriter::Call(uint32_t call, uint64_t track) {
  const ApiCall& c = trace_.api_calls[call];
  const uint32_t label = labels_.Of(c.function);
  const std::string_view category = c.domain == trace::ApiDomain::kDriver ? "cuda_driver" : "cuda_runtime";
  packets_.Event(PacketType::kBegin, track, c.start_ns, category, label, labels_.Text(label),
                 [&](ArgSink& sink, protozero::pbf_writer& event) {
                   ops_of_calls_.ForEach(call,
                                         [&](uint32_t op) { PerfettoPackets::AddFlow(FlowOf(op), false, &event); });
                   args_.OfCall(call, sink);
                 });
}

void PerfettoWriter::StartEndRanges() {
  std::map<uint32_t, std::vector<uint32_t>> by_process;
  for (uint32_t i = 0; i < trace_.ranges.size(); ++i) {
    const NvtxRange& range = trace_.ranges[i];
    if (range.is_push_pop) continue;
    by_process[range.thread == kNone ? kNone : trace_.threads[range.thread].process].push_back(i);
  }
  for (auto& [process, ranges] : by_process) {
    std::sort(ranges.begin(), ranges.end(), [&](uint32_t a, uint32_t b) {
      const NvtxRange &r = trace_.ranges[a], &s = trace_.ranges[b];
      return std::tuple(r.start_ns, -r.end_ns, a) < std::tuple(s.start_ns, -s.end_ns, b);
    });
    const PerfettoPackets::Track track{.parent = ProcessTrackOf(trace_.ranges[ranges.front()].thread),
                                       .name = "NVTX start/end ranges"};
    Row row(&packets_, Lanes::Nesting::kFlat, packets_.AddTrack(track), track);
    for (const uint32_t range : ranges) {
      const NvtxRange& r = trace_.ranges[range];
      progress_.Add();
      const uint32_t label = labels_.Of(r.name);
      packets_.Event(PacketType::kBegin, row.Begin({r.start_ns, r.end_ns}), r.start_ns, "user_annotation", label,
                     labels_.Text(label), [&](ArgSink& sink, auto&) { args_.OfRange(range, sink); });
    }
    row.Finish();
  }
}

void PerfettoWriter::Marks() {
  for (uint32_t i = 0; i < trace_.marks.size(); ++i) {
    const NvtxMark& mark = trace_.marks[i];
    progress_.Add();
    const uint32_t label = labels_.Of(mark.name);
    packets_.Event(PacketType::kInstant, mark.thread == kNone ? 0 : thread_tracks_[mark.thread], mark.time_ns,
                   "user_annotation", label, labels_.Text(label), [&](ArgSink& sink, auto&) { args_.OfMark(i, sink); });
  }
}

// ---- the GPUs ----

void PerfettoWriter::Streams(uint32_t device) {
  device_tracks_.push_back(packets_.AddTrack(
      {.name = DeviceTitle(trace_, device), .order = static_cast<int32_t>(device), .has_ordered_children = true}));
}

// Below its GPU: counters first, then stream by stream its NVTX ranges and its operations.
PerfettoPackets::Track PerfettoWriter::StreamTrack(uint32_t device, uint32_t stream, const std::string& name,
                                                   bool is_nvtx) const {
  constexpr int32_t kLast = 1 << 30;
  const int32_t order = stream == kNone ? kLast : static_cast<int32_t>(2 * stream + 100);
  const uint64_t key = stream == kNone ? 0 : 2 * (uint64_t{stream} + 1) + (is_nvtx ? 1 : 0);
  return {.parent = device_tracks_[device], .name = name, .order = order - (is_nvtx ? 1 : 0), .merge_key = key};
}

void PerfettoWriter::Ops(uint32_t device) {
  std::map<uint32_t, Row> rows;
  const Trace::Slice slice = trace_.device_ops[device];
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    const GpuOp& op = trace_.ops[i];
    progress_.Add();
    auto found = rows.find(op.stream);
    if (found == rows.end()) {
      const std::string name = StreamTitle(trace_, op.stream, has_several_[device]);
      const PerfettoPackets::Track track = StreamTrack(device, op.stream, name, false);
      found = rows.try_emplace(op.stream, &packets_, Lanes::Nesting::kFlat, packets_.AddTrack(track), track).first;
    }
    Op(i, found->second.Begin({op.start_ns, op.end_ns}));
  }
  for (auto& [stream, row] : rows) row.Finish();
}

void PerfettoWriter::Op(uint32_t index, uint64_t track) {
  constexpr std::string_view kCategories[] = {"kernel", "gpu_memcpy", "gpu_memcpy", "gpu_memset", "gpu_graph"};
  const GpuOp& op = trace_.ops[index];
  const uint32_t label = labels_.Of(op);
  packets_.Event(PacketType::kBegin, track, op.start_ns, kCategories[static_cast<std::size_t>(op.kind)], label,
                 labels_.Text(label), [&](ArgSink& sink, protozero::pbf_writer& event) {
                   if (op.api != kNone) PerfettoPackets::AddFlow(FlowOf(index), true, &event);
                   args_.OfOp(op, sink);
                 });
}

void PerfettoWriter::ProjectedRanges(const std::vector<ProjectedRange>& projected) {
  for (std::size_t i = 0; i < projected.size();) {
    const uint32_t device = projected[i].device, stream = projected[i].stream;
    const std::string name = "NVTX of " + StreamTitle(trace_, stream, has_several_[device]);
    const PerfettoPackets::Track track = StreamTrack(device, stream, name, true);
    Row row(&packets_, Lanes::Nesting::kNested, packets_.AddTrack(track), track);
    for (; i < projected.size() && projected[i].device == device && projected[i].stream == stream; ++i) {
      const ProjectedRange& range = projected[i];
      const uint32_t label = labels_.Of(trace_.ranges[range.range].name);
      packets_.Event(PacketType::kBegin, row.Begin(range.time), range.time.start_ns, "gpu_user_annotation", label,
                     labels_.Text(label), [&](ArgSink& sink, auto&) {
                       sink.Uint("External id", EventArgs::ExternalId(range.range));
                       sink.Uint("operations", range.op_count);
                     });
    }
    row.Finish();
  }
}

void PerfettoWriter::Counters() {
  int32_t order = 0;
  ForEachCounter(trace_, [&](const Counter& counter) {
    const uint64_t track = packets_.AddTrack({.parent = device_tracks_[counter.device],
                                              .name = counter.name,
                                              .order = order++,
                                              .is_counter = true,
                                              .unit = counter.unit});
    for (const CounterPoint& point : counter.points) packets_.CounterValue(track, point.time_ns, point.value);
  });
}

// Of a thread, a process or a device of the trace, else of the host.
uint64_t PerfettoWriter::TrackAround(const MetricSource& source) {
  if (source.device != kNone) return device_tracks_[source.device];
  if (source.thread != kNone) return thread_tracks_[source.thread];
  if (source.process != kNone && source.scope == trace::MetricScope::kProcess) return process_tracks_[source.process];
  if (host_track_ == 0) host_track_ = packets_.AddTrack({.name = "host"});
  return host_track_;
}

// Viewers have no sign for what was not measured: the counter is 0 there.
void PerfettoWriter::SampledCounters() {
  constexpr int32_t kBehindOthers = 50;
  for (uint32_t i = 0; i < trace_.metric_sources.size(); ++i) {
    const MetricSource& source = trace_.metric_sources[i];
    const uint64_t around = TrackAround(source);
    const Counter counter = SampledCounter(trace_, i);
    std::string name = Utf8(counter.name);
    if (around == host_track_ && source.scope != trace::MetricScope::kHost)
      name += " of " + Utf8(SampledThing(trace_, source));
    const std::string unit = Utf8(counter.unit);
    const uint64_t track =
        packets_.AddTrack({.parent = around, .name = name, .order = kBehindOthers, .is_counter = true, .unit = unit});
    for (const CounterPoint& point : counter.points) {
      const double value = point.value == kNotMeasured ? 0 : ScaledValue(source, point.value);
      packets_.CounterValue(track, point.time_ns, value);
    }
  }
}

// ---- threads between their calls ----

PerfettoPackets::Track PerfettoWriter::RowBelow(ThreadOfProcess at, std::string_view name) const {
  if (at.thread != kNone) return {.parent = thread_tracks_[at.thread], .name = name};
  return {.parent = at.process == kNone ? 0 : process_tracks_[at.process], .name = name};
}

template <class HostCall>
void PerfettoWriter::HostCalls(const std::vector<HostCall>& all, std::string_view category, std::string_view row_name,
                               void (EventArgs::*args)(const HostCall&, ArgSink&)) {
  for (const auto& [at, calls] : ByThread(all)) {
    const PerfettoPackets::Track track = RowBelow(at, row_name);
    Row row(&packets_, Lanes::Nesting::kNested, packets_.AddTrack(track), track);
    for (const uint32_t i : calls) {
      const HostCall& call = all[i];
      const uint32_t label = labels_.Of(NameOfCall(call));
      packets_.Event(PacketType::kBegin, row.Begin({call.start_ns, call.end_ns}), call.start_ns, category, label,
                     labels_.Text(label), [&](ArgSink& sink, auto&) { (args_.*args)(call, sink); });
    }
    row.Finish();
  }
}

void PerfettoWriter::Switches() {
  for (const auto& [at, switches] : ByThread(trace_.switches)) {
    const PerfettoPackets::Track track = RowBelow(at, "off the processor");
    Row row(&packets_, Lanes::Nesting::kFlat, packets_.AddTrack(track), track);
    for (const uint32_t i : switches) {
      const ThreadSwitch& off = trace_.switches[i];
      const uint32_t label = labels_.Of(std::string_view(off.is_preempted ? "preempted" : "waiting"));
      packets_.Event(PacketType::kBegin, row.Begin({off.start_ns, off.end_ns}), off.start_ns, "switch", label,
                     labels_.Text(label), [&](ArgSink& sink, auto&) {
                       if (off.cpu != kNone) sink.Uint("cpu", off.cpu);
                     });
    }
    row.Finish();
  }
}

void PerfettoWriter::Samples() {
  for (const auto& [at, samples] : ByThread(trace_.cpu_samples)) {
    const uint64_t track = packets_.AddTrack(RowBelow(at, "CPU samples"));
    for (const uint32_t i : samples) {
      const CpuSample& sample = trace_.cpu_samples[i];
      const bool has_frame = sample.stack != kNone && trace_.stacks[sample.stack].frame != kNone;
      const std::string name = has_frame ? FrameName(trace_, trace_.stacks[sample.stack].frame) : "?";
      const uint32_t label = labels_.Of(std::string_view(name));
      packets_.Event(PacketType::kInstant, track, sample.time_ns, "cpu_sample", label, labels_.Text(label),
                     [&](ArgSink& sink, auto&) { args_.OfSample(sample, sink); });
    }
  }
}

}  // namespace

void WritePerfetto(const Trace& trace, const ExportOptions& options, OutputStream& out) {
  PerfettoWriter(trace, options, out).Write();
}

}  // namespace gprof
