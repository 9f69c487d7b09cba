// Trace Event JSON, with the categories, names and arguments of torch.profiler (Kineto), so that what was made for its
// traces reads ours. One event a line.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

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
#include "export/timeline/chrome_events.h"
#include "export/timeline/chrome_head.h"
#include "export/timeline/chrome_memory.h"
#include "export/timeline/chrome_operators.h"

namespace gprof {
namespace {

// Times count from such a point, which is the same for all ranks of a job: whole weeks since 1970. Less than 2^40 us is
// what a double holds to an eighth of a nanosecond. After the quarters of a year that torch.profiler counts from,
// Perfetto reads every fourth time one nanosecond late, and throws ranges away that seem to end after those around
// them.
constexpr int64_t kWeekNs = 604'800'000'000'000;

struct Times {
  int64_t base_ns = 0;   // that they count from
  int64_t shift_ns = 0;  // what is added to those of the trace
};

Times TimesOf(const Trace& trace) {
  const auto clock = BestClock(trace);
  if (!clock) return {};
  const auto offset_ns = static_cast<int64_t>(clock->realtime_ns - clock->monotonic_ns);
  const int64_t base_ns = static_cast<int64_t>(clock->realtime_ns) / kWeekNs * kWeekNs;
  return {base_ns, offset_ns - base_ns};
}

using Place = ChromePlace;

class ChromeWriter {
 public:
  ChromeWriter(const Trace& trace, const ExportOptions& options, OutputStream& out);
  void Write();

 private:
  void Host(uint32_t thread);
  void Call(uint32_t call, Place place);
  void Range(uint32_t range, Place place);
  void StartEndRanges();
  void Marks();
  void TensorBlocks();
  void Ops(uint32_t device);
  void Op(const GpuOp& op, Place place);
  void ProjectedRanges();
  void Counters();
  void SampledCounters();
  Place PlaceOf(const MetricSource& source);
  template <class HostCall>
  void HostCalls(const std::vector<HostCall>& all, std::string_view category, std::string_view row_name,
                 void (EventArgs::*args)(const HostCall&, ArgSink&));
  void Tracks();

  void CheckCorrelations();
  void Flow(char phase, uint32_t call, Place place, int64_t time_ns);
  void NameTrack(Place place, std::string name, uint64_t order);
  Place LaneOf(std::vector<Place>* lanes, std::size_t lane, const std::string& name);
  Place PlaceOf(uint32_t thread) const;

  struct TrackName {
    Place place;
    std::string name;
    uint64_t order;
  };

  const Trace& trace_;
  OutputStream& out_;
  ExportProgress progress_;
  Labels labels_;
  EventArgs args_;
  ChromeOperators operators_;
  TrackIds ids_;
  std::vector<bool> has_several_;  // processes, by device
  Times times_;
  ChromeEvents events_;
  std::vector<TrackName> tracks_;
  uint32_t host_pid_ = 0;              // of the counters of the host, 0 until it is needed
  bool has_good_correlations_ = true;  // no two calls with GPU work have the same one
};

ChromeWriter::ChromeWriter(const Trace& trace, const ExportOptions& options, OutputStream& out)
    : trace_(trace),
      out_(out),
      progress_(options, trace.api_calls.size() + trace.ranges.size() + trace.marks.size() +
                             trace.tensor_blocks.size() + trace.ops.size()),
      labels_(trace),
      args_(trace),
      operators_(trace, &labels_),
      ids_(trace),
      has_several_(DevicesOfSeveralProcesses(trace)),
      times_(TimesOf(trace)),
      events_(&labels_, times_.shift_ns, out) {
  args_.CountCorrelationsOn();
  CheckCorrelations();
}

void ChromeWriter::Write() {
  out_.Write(ChromeHead(trace_, times_.base_ns));
  for (uint32_t thread = 0; thread < trace_.threads.size(); ++thread) Host(thread);
  StartEndRanges();
  Marks();
  TensorBlocks();
  for (uint32_t device = 0; device < trace_.devices.size(); ++device) Ops(device);
  ProjectedRanges();
  Counters();
  SampledCounters();
  HostCalls(trace_.os_calls, "os_call", "OS calls", &EventArgs::OfOsCall);
  HostCalls(trace_.mpi_calls, "mpi_call", "MPI calls", &EventArgs::OfMpiCall);
  HostCalls(trace_.collectives, "collective", "NCCL operations", &EventArgs::OfCollective);
  HostCalls(trace_.directives, "directive", "OpenMP and OpenACC", &EventArgs::OfDirective);
  Tracks();
  out_.Write("\n]}\n");
}

void ChromeWriter::CheckCorrelations() {
  std::vector<uint64_t> correlations;
  for (const ApiCall& call : trace_.api_calls) {
    if (call.op_count != 0) correlations.push_back(args_.Correlation(call.process, call.correlation));
  }
  std::sort(correlations.begin(), correlations.end());
  has_good_correlations_ = std::adjacent_find(correlations.begin(), correlations.end()) == correlations.end();
}

// Of one call and all that it launched, as torch.profiler numbers them.
void ChromeWriter::Flow(char phase, uint32_t call, Place place, int64_t time_ns) {
  events_.Open(phase, "ac2g", labels_.Of("ac2g"), place, time_ns);
  const ApiCall& c = trace_.api_calls[call];
  const uint64_t id = has_good_correlations_ ? args_.Correlation(c.process, c.correlation) : uint64_t{call} + 1;
  events_.Id(id);
  if (phase == 'f') events_.Add(",\"bp\":\"e\"");
  events_.Close();
}

Place ChromeWriter::LaneOf(std::vector<Place>* lanes, std::size_t lane, const std::string& name) {
  while (lanes->size() <= lane) {
    lanes->push_back({lanes->front().pid, ids_.NewTid()});
    NameTrack(lanes->back(), fmt::format("{} #{}", name, lanes->size()), lanes->front().tid);
  }
  return (*lanes)[lane];
}

// ---- the host ----

Place ChromeWriter::PlaceOf(uint32_t thread) const {
  if (thread == kNone) return {};
  const uint32_t process = trace_.threads[thread].process;
  return {process == kNone ? 0 : ids_.Pid(process), ids_.Tid(thread)};
}

void ChromeWriter::Host(uint32_t thread) {
  const Thread& t = trace_.threads[thread];
  const std::string name = fmt::format("thread {} ({})", t.tid, Utf8(trace_.Text(t.name)));
  std::vector<Place> places = {PlaceOf(thread)};
  NameTrack(places.front(), name, t.tid);
  Lanes lanes(Lanes::Nesting::kNested);
  ForEachHostEvent(trace_, thread, [&](const HostEvent& event) {
    progress_.Add();
    const Place place = LaneOf(&places, lanes.Place(event.time), name);
    if (event.call != kNone) return Call(event.call, place);
    Range(event.range, place);
  });
}

void ChromeWriter::Range(uint32_t range, Place place) {
  const NvtxRange& r = trace_.ranges[range];
  const ChromeOperator* const op = operators_.Of(range);
  events_.Open('X', op != nullptr ? "cpu_op" : "user_annotation", op != nullptr ? op->label : labels_.Of(r.name), place,
               r.start_ns);
  events_.Duration({r.start_ns, r.end_ns});
  events_.Args([&](ChromeArgs& sink) {
    args_.OfRange(range, sink);
    if (op != nullptr) operators_.AddArgs(range, *op, sink);
  });
  events_.Close();
}

void ChromeWriter::Call(uint32_t call, Place place) {
  const ApiCall& c = trace_.api_calls[call];
  events_.Open('X', c.domain == trace::ApiDomain::kDriver ? "cuda_driver" : "cuda_runtime", labels_.Of(c.function),
               place, c.start_ns);
  events_.Duration({c.start_ns, c.end_ns});
  events_.Args([&](ArgSink& sink) { args_.OfCall(call, sink); });
  events_.Close();
  if (c.op_count != 0) Flow('s', call, place, c.start_ns);
}

// Ranges that need not nest stand above their process, each on its own.
void ChromeWriter::StartEndRanges() {
  for (uint32_t i = 0; i < trace_.ranges.size(); ++i) {
    const NvtxRange& range = trace_.ranges[i];
    if (range.is_push_pop) continue;
    progress_.Add();
    const Place place = PlaceOf(range.thread);
    for (const char phase : {'b', 'e'}) {
      events_.Open(phase, "user_annotation", labels_.Of(range.name), place,
                   phase == 'b' ? range.start_ns : range.end_ns);
      events_.Id(EventArgs::ExternalId(i));
      if (phase == 'b') events_.Args([&](ArgSink& sink) { args_.OfRange(i, sink); });
      events_.Close();
    }
  }
}

void ChromeWriter::Marks() {
  for (uint32_t i = 0; i < trace_.marks.size(); ++i) {
    const NvtxMark& mark = trace_.marks[i];
    progress_.Add();
    events_.Open('i', "user_annotation", labels_.Of(mark.name), PlaceOf(mark.thread), mark.time_ns);
    events_.Add(",\"s\":\"t\"");
    events_.Args([&](ArgSink& sink) { args_.OfMark(i, sink); });
    events_.Close();
  }
}

void ChromeWriter::TensorBlocks() {
  const ChromeMemory memory(trace_);
  for (const TensorBlock& block : trace_.tensor_blocks) {
    progress_.Add();
    events_.Open('i', "cpu_instant_event", labels_.Of("[memory]"), PlaceOf(block.thread), block.time_ns);
    events_.Add(",\"s\":\"t\"");
    events_.Args([&](ArgSink& sink) { memory.AddArgs(block, sink); });
    events_.Close();
  }
}

// ---- the GPUs ----

void ChromeWriter::Ops(uint32_t device) {
  struct Stream {
    std::string name;
    std::vector<Place> places;
    Lanes lanes{Lanes::Nesting::kFlat};
  };
  std::map<uint32_t, Stream> streams;
  const Trace::Slice slice = trace_.device_ops[device];
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    const GpuOp& op = trace_.ops[i];
    progress_.Add();
    const auto [found, is_new] = streams.try_emplace(op.stream);
    Stream& stream = found->second;
    if (is_new) {
      stream.name = StreamTitle(trace_, op.stream, has_several_[device]);
      stream.places.push_back({ids_.DevicePid(device), ids_.StreamTid(device, op.stream)});
      NameTrack(stream.places.front(), stream.name, stream.places.front().tid);
    }
    Op(op, LaneOf(&stream.places, stream.lanes.Place({op.start_ns, op.end_ns}), stream.name));
  }
}

void ChromeWriter::Op(const GpuOp& op, Place place) {
  constexpr std::string_view kCategories[] = {"kernel", "gpu_memcpy", "gpu_memcpy", "gpu_memset", "gpu_graph"};
  events_.Open('X', kCategories[static_cast<std::size_t>(op.kind)], labels_.Of(op), place, op.start_ns);
  events_.Duration({op.start_ns, op.end_ns});
  events_.Args([&](ArgSink& sink) {
    args_.OfOp(op, sink);
    // A reader knows it by the call otherwise.
    if (op.api == kNone && trace_.processes.size() > 1) sink.Uint("process", ids_.Pid(op.process));
  });
  events_.Close();
  if (op.api != kNone) Flow('f', op.api, place, op.start_ns);
}

void ChromeWriter::ProjectedRanges() {
  std::vector<Place> places;
  Lanes lanes(Lanes::Nesting::kNested);
  std::pair<uint32_t, uint32_t> of = {kNone, kNone};
  std::string name;
  for (const ProjectedRange& range : ProjectRanges(trace_)) {
    // As torch.profiler, which has annotations there, and no operators: readers would count them twice.
    if (range.device == kNone || operators_.Of(range.range) != nullptr) continue;
    if (places.empty() || of != std::pair{range.device, range.stream}) {
      of = {range.device, range.stream};
      name = "NVTX of " + StreamTitle(trace_, range.stream, has_several_[range.device]);
      places = {{ids_.DevicePid(range.device), ids_.NewTid()}};
      lanes = Lanes(Lanes::Nesting::kNested);
      NameTrack(places.front(), name, ids_.StreamTid(range.device, range.stream));
    }
    const Place place = LaneOf(&places, lanes.Place(range.time), name);
    events_.Open('X', "gpu_user_annotation", labels_.Of(trace_.ranges[range.range].name), place, range.time.start_ns);
    events_.Duration(range.time);
    events_.Args([&](ArgSink& sink) { sink.Uint("External id", EventArgs::ExternalId(range.range)); });
    events_.Close();
  }
}

// Curves of what runs and waits would be two fifths of the file: Perfetto's own format has them.
void ChromeWriter::Counters() {
  for (uint32_t device = 0; device < trace_.devices.size(); ++device) {
    const Counter counter = MemoryInUse(trace_, device);
    const uint32_t label = labels_.Of(counter.name);
    for (const CounterPoint& point : counter.points) {
      events_.Open('C', "gpu_counter", label, {ids_.DevicePid(device), 0}, point.time_ns);
      events_.Args([&](ArgSink& sink) { sink.Int("bytes", point.value); });
      events_.Close();
    }
  }
}

// A counter belongs to a process: one that measures less says so in its name.
Place ChromeWriter::PlaceOf(const MetricSource& source) {
  if (source.device != kNone) return {ids_.DevicePid(source.device), 0};
  if (source.process != kNone && source.scope != trace::MetricScope::kHost) return {ids_.Pid(source.process), 0};
  if (host_pid_ == 0) host_pid_ = ids_.NewTid();
  return {host_pid_, 0};
}

// Viewers have no sign for what was not measured: the counter is 0 there.
void ChromeWriter::SampledCounters() {
  for (uint32_t i = 0; i < trace_.metric_sources.size(); ++i) {
    const MetricSource& source = trace_.metric_sources[i];
    const Place place = PlaceOf(source);
    std::string name = NameWithUnit(trace_, source);
    const bool is_of_host = source.device == kNone && place.pid == host_pid_;
    const bool is_of_less = source.thread != kNone || (is_of_host && source.scope != trace::MetricScope::kHost);
    if (is_of_less) name += " of " + Utf8(SampledThing(trace_, source));
    const uint32_t label = labels_.Of(std::string_view(name));
    const std::string_view category = source.device == kNone ? "host_counter" : "gpu_counter";
    for (const CounterPoint& point : SampledCounter(trace_, i).points) {
      events_.Open('C', category, label, place, point.time_ns);
      events_.Args([&](ArgSink& sink) {
        sink.Real("value", point.value == kNotMeasured ? 0 : ScaledValue(source, point.value));
      });
      events_.Close();
    }
  }
}

// In rows of their own: scripts take all that is in the row of a thread for calls and ranges.
template <class HostCall>
void ChromeWriter::HostCalls(const std::vector<HostCall>& all, std::string_view category, std::string_view row_name,
                             void (EventArgs::*args)(const HostCall&, ArgSink&)) {
  for (const auto& [at, calls] : ByThread(all)) {
    const Place thread =
        at.thread == kNone ? Place{at.process == kNone ? 0 : ids_.Pid(at.process), 0} : PlaceOf(at.thread);
    const std::string name = fmt::format("{} of thread {}", row_name, thread.tid);
    std::vector<Place> places = {{thread.pid, ids_.NewTid()}};
    NameTrack(places.front(), name, thread.tid);
    Lanes lanes(Lanes::Nesting::kNested);
    for (const uint32_t i : calls) {
      const HostCall& call = all[i];
      const Interval time{call.start_ns, call.end_ns};
      events_.Open('X', category, labels_.Of(NameOfCall(call)), LaneOf(&places, lanes.Place(time), name),
                   call.start_ns);
      events_.Duration(time);
      events_.Args([&](ArgSink& sink) { (args_.*args)(call, sink); });
      events_.Close();
    }
  }
}

// ---- who is who ----

void ChromeWriter::NameTrack(Place place, std::string name, uint64_t order) {
  tracks_.push_back({place, std::move(name), order});
}

void ChromeWriter::Tracks() {
  constexpr uint64_t kGpusLast = 16'777'216;
  for (uint32_t i = 0; i < trace_.processes.size(); ++i) {
    const Place place = {ids_.Pid(i), 0};
    events_.Metadata("process_name", place, "name", ProcessTitle(trace_, i), trace_.start_ns);
    events_.Metadata("process_labels", place, "labels", "CPU", trace_.start_ns);
    events_.MetadataIndex("process_sort_index", place, place.pid, trace_.start_ns);
  }
  for (uint32_t i = 0; i < trace_.devices.size(); ++i) {
    const Place place = {ids_.DevicePid(i), 0};
    events_.Metadata("process_name", place, "name", DeviceTitle(trace_, i), trace_.start_ns);
    events_.Metadata("process_labels", place, "labels", fmt::format("GPU {}", trace_.devices[i].ordinal),
                     trace_.start_ns);
    events_.MetadataIndex("process_sort_index", place, kGpusLast + i, trace_.start_ns);
  }
  if (host_pid_ != 0) events_.Metadata("process_name", {host_pid_, 0}, "name", "host", trace_.start_ns);
  for (const TrackName& track : tracks_) {
    events_.Metadata("thread_name", track.place, "name", track.name, trace_.start_ns);
    events_.MetadataIndex("thread_sort_index", track.place, track.order, trace_.start_ns);
  }
}

}  // namespace

void WriteChrome(const Trace& trace, const ExportOptions& options, OutputStream& out) {
  ChromeWriter(trace, options, out).Write();
}

}  // namespace gprof
