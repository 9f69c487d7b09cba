// Trace Event JSON, with the categories, names and arguments of torch.profiler (Kineto), so that what was made for its
// traces reads ours. One event a line.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/tracks/metric_samples.h"
#include "base/text.h"
#include "export/events/by_thread.h"
#include "export/events/counter_curves.h"
#include "export/events/event_args.h"
#include "export/events/host_events.h"
#include "export/events/labels.h"
#include "export/events/lanes.h"
#include "export/events/projected_ranges.h"
#include "export/events/real_time.h"
#include "export/events/track_ids.h"
#include "export/exporters.h"
#include "export/output/json_text.h"
#include "gprof/version.h"

namespace gprof {
namespace {

// Times count from such a point, which is the same for all ranks of a job: whole weeks since 1970. Less than 2^40 us is
// what a double holds to an eighth of a nanosecond. After the quarters of a year that torch.profiler counts from,
// Perfetto reads every fourth time one nanosecond late, and throws ranges away that seem to end after those around
// them.
constexpr int64_t kWeekNs = 604'800'000'000'000;

// Writes arguments into the line of their event.
class JsonArgs : public ArgSink {
 public:
  explicit JsonArgs(std::string* line) : line_(line) {}
  void Start() { is_first_ = true; }
  void Int(std::string_view key, int64_t value) override {
    Key(key);
    AppendInteger(value, line_);
  }
  void Uint(std::string_view key, uint64_t value) override {
    Key(key);
    AppendInteger(value, line_);
  }
  void Real(std::string_view key, double value) override {
    Key(key);
    AppendJsonNumber(value, line_);
  }
  void Bool(std::string_view key, bool value) override {
    Key(key);
    *line_ += value ? "true" : "false";
  }
  void Text(std::string_view key, std::string_view value) override {
    Key(key);
    AppendJsonString(Utf8(value), line_);
  }
  void Dim(std::string_view key, uint32_t x, uint32_t y, uint32_t z) override {
    Key(key);
    for (const auto& [before, size] : {std::pair{'[', x}, {',', y}, {',', z}}) {
      *line_ += before;
      AppendInteger(size, line_);
    }
    *line_ += ']';
  }

 private:
  void Key(std::string_view key) {
    if (!is_first_) *line_ += ',';
    is_first_ = false;
    AppendJsonString(key, line_);
    *line_ += ':';
  }

  std::string* line_;
  bool is_first_ = true;
};

struct Place {
  uint32_t pid = 0, tid = 0;
};

class ChromeWriter {
 public:
  ChromeWriter(const Trace& trace, const ExportOptions& options, OutputStream& out);
  void Write();

 private:
  void Head();
  void Devices();
  void Versions();
  void Ranks();
  void Host(uint32_t thread);
  void Call(uint32_t call, Place place);
  void StartEndRanges();
  void Marks();
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

  void Open(char phase, std::string_view category, uint32_t label, Place place, int64_t time_ns);
  void Duration(Interval time);
  template <class F>
  void Args(F&& f);
  void CheckCorrelations();
  void Flow(char phase, uint32_t call, Place place, int64_t time_ns);
  void Close();
  void Metadata(std::string_view name, Place place, std::string_view key, std::string_view text);
  void MetadataIndex(std::string_view name, Place place, uint64_t index);
  void NameTrack(Place place, std::string name, uint64_t order);
  Place LaneOf(std::vector<Place>* lanes, std::size_t lane, const std::string& name);
  const std::string& Quoted(uint32_t label);
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
  TrackIds ids_;
  std::vector<bool> has_several_;       // processes, by device
  int64_t base_ns_ = 0, shift_ns_ = 0;  // what is added to a time of the trace
  std::vector<std::string> quoted_;     // by label
  std::vector<TrackName> tracks_;
  uint32_t host_pid_ = 0;  // of the counters of the host, 0 until it is needed
  std::string line_;
  JsonArgs sink_;
  bool is_first_event_ = true;
  bool has_good_correlations_ = true;  // no two calls with GPU work have the same one
};

ChromeWriter::ChromeWriter(const Trace& trace, const ExportOptions& options, OutputStream& out)
    : trace_(trace),
      out_(out),
      progress_(options, trace.api_calls.size() + trace.ranges.size() + trace.marks.size() + trace.ops.size()),
      labels_(trace),
      args_(trace),
      ids_(trace),
      has_several_(DevicesOfSeveralProcesses(trace)),
      sink_(&line_) {
  if (const auto clock = BestClock(trace)) {
    const auto offset_ns = static_cast<int64_t>(clock->realtime_ns - clock->monotonic_ns);
    const int64_t start_ns = static_cast<int64_t>(clock->realtime_ns);
    base_ns_ = start_ns / kWeekNs * kWeekNs;
    shift_ns_ = offset_ns - base_ns_;
  }
  args_.CountCorrelationsOn();
  CheckCorrelations();
}

void ChromeWriter::Write() {
  Head();
  for (uint32_t thread = 0; thread < trace_.threads.size(); ++thread) Host(thread);
  StartEndRanges();
  Marks();
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

// ---- what stands before the events ----

void ChromeWriter::Head() {
  line_ = "{\n\"schemaVersion\": 1,\n\"displayTimeUnit\": \"ns\",\n\"traceName\": ";
  AppendJsonString(Utf8(trace_.path), &line_);
  line_ += ",\n\"generator\": ";
  AppendJsonString(std::string("gprof-cli ") + kVersion, &line_);
  line_ += ",\n";
  if (base_ns_ != 0) fmt::format_to(std::back_inserter(line_), "\"baseTimeNanoseconds\": {},\n", base_ns_);
  Versions();
  Ranks();
  Devices();
  line_ += "\"traceEvents\": [";
  out_.Write(line_);
}

void ChromeWriter::Versions() {
  if (trace_.processes.empty()) return;
  const Process& process = trace_.processes.front();
  const auto add = [&](std::string_view key, uint32_t version) {
    if (version != 0) fmt::format_to(std::back_inserter(line_), "\"{}\": {},\n", key, version);
  };
  add("cupti_version", process.cupti_version);
  add("cuda_runtime_version", process.runtime_version);
  add("cuda_driver_version", process.driver_version);
}

// A reader of several files tells them apart by their rank, and takes one rank a file.
void ChromeWriter::Ranks() {
  std::set<std::pair<int32_t, uint32_t>> ranks;
  for (const Process& process : trace_.processes) {
    if (process.rank >= 0) ranks.insert({process.rank, process.world_size});
  }
  const auto [rank, world_size] = ranks.size() == 1 ? *ranks.begin() : std::pair<int32_t, uint32_t>{0, 1};
  fmt::format_to(std::back_inserter(line_),
                 "\"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": {}, \"world_size\": {}}},\n", rank,
                 std::max<uint32_t>(world_size, 1));
}

void ChromeWriter::Devices() {
  line_ += "\"deviceProperties\": [";
  for (uint32_t i = 0; i < trace_.devices.size(); ++i) {
    const Device& device = trace_.devices[i];
    const trace::DeviceRecord& f = device.facts;
    fmt::format_to(std::back_inserter(line_), "{}\n  {{\"id\": {}, \"name\": ", i == 0 ? "" : ",", device.ordinal);
    AppendJsonString(Utf8(trace_.Text(device.name)), &line_);
    fmt::format_to(std::back_inserter(line_),
                   ", \"totalGlobalMem\": {}, \"computeMajor\": {}, \"computeMinor\": {}, \"maxThreadsPerBlock\": {}, "
                   "\"maxThreadsPerMultiprocessor\": {}, \"regsPerBlock\": {}, \"warpSize\": {}, "
                   "\"sharedMemPerBlock\": {}, \"numSms\": {}, \"regsPerMultiprocessor\": {}, "
                   "\"sharedMemPerMultiprocessor\": {}}}",
                   f.memory_bytes, f.compute_major, f.compute_minor, f.max_threads_per_block, f.max_threads_per_sm,
                   f.max_registers_per_block, f.warp_size, f.max_shared_bytes_per_block, f.sm_count,
                   f.max_registers_per_sm, f.max_shared_bytes_per_sm);
  }
  line_ += "],\n";
}

// ---- pieces of events ----

const std::string& ChromeWriter::Quoted(uint32_t label) {
  if (quoted_.size() <= label) quoted_.resize(labels_.size());
  if (quoted_[label].empty()) AppendJsonString(labels_.Text(label), &quoted_[label]);
  return quoted_[label];
}

void ChromeWriter::Open(char phase, std::string_view category, uint32_t label, Place place, int64_t time_ns) {
  line_ = is_first_event_ ? "\n" : ",\n";
  is_first_event_ = false;
  line_ += "{\"ph\":\"";
  line_ += phase;
  line_ += "\",\"cat\":\"";
  line_ += category;
  line_ += "\",\"name\":";
  line_ += Quoted(label);
  line_ += ",\"pid\":";
  AppendInteger(place.pid, &line_);
  line_ += ",\"tid\":";
  AppendInteger(place.tid, &line_);
  line_ += ",\"ts\":";
  AppendMicroseconds(time_ns + shift_ns_, &line_);
}

void ChromeWriter::Duration(Interval time) {
  line_ += ",\"dur\":";
  AppendMicroseconds(time.DurationNs(), &line_);
}

template <class F>
void ChromeWriter::Args(F&& f) {
  line_ += ",\"args\":{";
  sink_.Start();
  f(sink_);
  line_ += '}';
}

void ChromeWriter::Close() {
  line_ += '}';
  out_.Write(line_);
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
  Open(phase, "ac2g", labels_.Of("ac2g"), place, time_ns);
  const ApiCall& c = trace_.api_calls[call];
  const uint64_t id = has_good_correlations_ ? args_.Correlation(c.process, c.correlation) : uint64_t{call} + 1;
  line_ += ",\"id\":";
  AppendInteger(id, &line_);
  if (phase == 'f') line_ += ",\"bp\":\"e\"";
  Close();
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
    Open('X', "user_annotation", labels_.Of(trace_.ranges[event.range].name), place, event.time.start_ns);
    Duration(event.time);
    Args([&](ArgSink& sink) { args_.OfRange(event.range, sink); });
    Close();
  });
}

void ChromeWriter::Call(uint32_t call, Place place) {
  const ApiCall& c = trace_.api_calls[call];
  Open('X', c.domain == trace::ApiDomain::kDriver ? "cuda_driver" : "cuda_runtime", labels_.Of(c.function), place,
       c.start_ns);
  Duration({c.start_ns, c.end_ns});
  Args([&](ArgSink& sink) { args_.OfCall(call, sink); });
  Close();
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
      Open(phase, "user_annotation", labels_.Of(range.name), place, phase == 'b' ? range.start_ns : range.end_ns);
      fmt::format_to(std::back_inserter(line_), ",\"id\":{}", EventArgs::ExternalId(i));
      if (phase == 'b') Args([&](ArgSink& sink) { args_.OfRange(i, sink); });
      Close();
    }
  }
}

void ChromeWriter::Marks() {
  for (uint32_t i = 0; i < trace_.marks.size(); ++i) {
    const NvtxMark& mark = trace_.marks[i];
    progress_.Add();
    Open('i', "user_annotation", labels_.Of(mark.name), PlaceOf(mark.thread), mark.time_ns);
    line_ += ",\"s\":\"t\"";
    Args([&](ArgSink& sink) { args_.OfMark(i, sink); });
    Close();
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
  Open('X', kCategories[static_cast<std::size_t>(op.kind)], labels_.Of(op), place, op.start_ns);
  Duration({op.start_ns, op.end_ns});
  Args([&](ArgSink& sink) {
    args_.OfOp(op, sink);
    // A reader knows it by the call otherwise.
    if (op.api == kNone && trace_.processes.size() > 1) sink.Uint("process", ids_.Pid(op.process));
  });
  Close();
  if (op.api != kNone) Flow('f', op.api, place, op.start_ns);
}

void ChromeWriter::ProjectedRanges() {
  std::vector<Place> places;
  Lanes lanes(Lanes::Nesting::kNested);
  std::pair<uint32_t, uint32_t> of = {kNone, kNone};
  std::string name;
  for (const ProjectedRange& range : ProjectRanges(trace_)) {
    if (range.device == kNone) continue;
    if (places.empty() || of != std::pair{range.device, range.stream}) {
      of = {range.device, range.stream};
      name = "NVTX of " + StreamTitle(trace_, range.stream, has_several_[range.device]);
      places = {{ids_.DevicePid(range.device), ids_.NewTid()}};
      lanes = Lanes(Lanes::Nesting::kNested);
      NameTrack(places.front(), name, ids_.StreamTid(range.device, range.stream));
    }
    const Place place = LaneOf(&places, lanes.Place(range.time), name);
    Open('X', "gpu_user_annotation", labels_.Of(trace_.ranges[range.range].name), place, range.time.start_ns);
    Duration(range.time);
    Args([&](ArgSink& sink) { sink.Uint("External id", EventArgs::ExternalId(range.range)); });
    Close();
  }
}

// Curves of what runs and waits would be two fifths of the file: Perfetto's own format has them.
void ChromeWriter::Counters() {
  for (uint32_t device = 0; device < trace_.devices.size(); ++device) {
    const Counter counter = MemoryInUse(trace_, device);
    const uint32_t label = labels_.Of(counter.name);
    for (const CounterPoint& point : counter.points) {
      Open('C', "gpu_counter", label, {ids_.DevicePid(device), 0}, point.time_ns);
      Args([&](ArgSink& sink) { sink.Int("bytes", point.value); });
      Close();
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
      Open('C', category, label, place, point.time_ns);
      Args([&](ArgSink& sink) {
        sink.Real("value", point.value == kNotMeasured ? 0 : ScaledValue(source, point.value));
      });
      Close();
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
      Open('X', category, labels_.Of(NameOfCall(call)), LaneOf(&places, lanes.Place(time), name), call.start_ns);
      Duration(time);
      Args([&](ArgSink& sink) { (args_.*args)(call, sink); });
      Close();
    }
  }
}

// ---- who is who ----

void ChromeWriter::NameTrack(Place place, std::string name, uint64_t order) {
  tracks_.push_back({place, std::move(name), order});
}

void ChromeWriter::Metadata(std::string_view name, Place place, std::string_view key, std::string_view text) {
  Open('M', "__metadata", labels_.Of(name), place, trace_.start_ns);
  Args([&](ArgSink& sink) { sink.Text(key, text); });
  Close();
}

void ChromeWriter::MetadataIndex(std::string_view name, Place place, uint64_t index) {
  Open('M', "__metadata", labels_.Of(name), place, trace_.start_ns);
  Args([&](ArgSink& sink) { sink.Uint("sort_index", index); });
  Close();
}

void ChromeWriter::Tracks() {
  constexpr uint64_t kGpusLast = 16'777'216;
  for (uint32_t i = 0; i < trace_.processes.size(); ++i) {
    const Place place = {ids_.Pid(i), 0};
    Metadata("process_name", place, "name", ProcessTitle(trace_, i));
    Metadata("process_labels", place, "labels", "CPU");
    MetadataIndex("process_sort_index", place, place.pid);
  }
  for (uint32_t i = 0; i < trace_.devices.size(); ++i) {
    const Place place = {ids_.DevicePid(i), 0};
    Metadata("process_name", place, "name", DeviceTitle(trace_, i));
    Metadata("process_labels", place, "labels", fmt::format("GPU {}", trace_.devices[i].ordinal));
    MetadataIndex("process_sort_index", place, kGpusLast + i);
  }
  if (host_pid_ != 0) Metadata("process_name", {host_pid_, 0}, "name", "host");
  for (const TrackName& track : tracks_) {
    Metadata("thread_name", track.place, "name", track.name);
    MetadataIndex("thread_sort_index", track.place, track.order);
  }
}

}  // namespace

void WriteChrome(const Trace& trace, const ExportOptions& options, OutputStream& out) {
  ChromeWriter(trace, options, out).Write();
}

}  // namespace gprof
