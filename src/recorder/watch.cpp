#include "recorder/watch.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "analysis/facts/calls/error_names.h"
#include "base/units.h"
#include "gprof/trace/record.h"
#include "trace/file/typed_rows.h"

namespace gprof {
namespace {

using trace::NvtxEvent;
using trace::RecordKind;

constexpr std::size_t kSteps = 64, kFewestSteps = 8;  // for a median that means something
constexpr int32_t kOutOfMemory = 2, kNotReady = 600;

// Decoding takes longer than all else that a recorder does, so only what somebody asked about is decoded.
bool IsOfInterest(uint16_t kind, const WatchOptions& options) {
  switch (static_cast<RecordKind>(kind)) {
    case RecordKind::kApi:
    case RecordKind::kBaseCall:
      return options.on_out_of_memory || options.on_lost_context || options.on_any_error || options.hang_ns != 0;
    case RecordKind::kWorkRate:
    case RecordKind::kCapture:
    case RecordKind::kBaseTime:
      return true;
    case RecordKind::kNvtx:
      return !options.step.empty();
    case RecordKind::kKernel:
    case RecordKind::kMemcpy:
    case RecordKind::kPeerCopy:
    case RecordKind::kMemset:
    case RecordKind::kGraphLaunch:
      return options.idle_ns != 0;
    default:
      return false;
  }
}

// What the program does or has done. Clocks are read all the time, and threads that wait call the system again and
// again.
bool IsProgress(RecordKind kind) {
  switch (kind) {
    case RecordKind::kApi:
    case RecordKind::kBaseCall:
    case RecordKind::kKernel:
    case RecordKind::kMemcpy:
    case RecordKind::kPeerCopy:
    case RecordKind::kMemset:
    case RecordKind::kGraphLaunch:
    case RecordKind::kBaseGraph:
    case RecordKind::kMemory:
    case RecordKind::kNvtx:
    case RecordKind::kMpiCall:
    case RecordKind::kGemm:
    case RecordKind::kCollective:
    case RecordKind::kDirective:
    case RecordKind::kTensorBlock:
      return true;
    default:
      return false;
  }
}

template <class R>
constexpr bool kIsGpuWork = std::is_same_v<R, trace::KernelRecord> || std::is_same_v<R, trace::MemcpyRecord> ||
                            std::is_same_v<R, trace::PeerCopyRecord> || std::is_same_v<R, trace::MemsetRecord> ||
                            std::is_same_v<R, trace::GraphLaunchRecord>;

uint64_t Median(std::deque<uint64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Chunk ChunkOf(const trace::ChunkHeader& header, const std::vector<unsigned char>& body) {
  Chunk chunk;
  chunk.header = header;
  chunk.body = trace::ByteReader(body.data(), body.size());
  return chunk;
}

std::string Time(uint64_t ns) { return FormatNs(static_cast<double>(ns)); }

}  // namespace

// The records of one chunk, block by block: names come before those that use them.
class WatchSink {
 public:
  WatchSink(Watch* watch, const trace::ProcessKey& process) : watch_(*watch), process_(process) {}

  template <class R>
  void operator()(std::span<const R> rows) {
    if constexpr (std::is_same_v<R, trace::StringRecord>) {
      for (const R& row : rows) names_[row.id] = std::string_view(row.text.data, row.text.size);
    } else if constexpr (std::is_same_v<R, trace::NvtxRecord>) {
      for (const R& row : rows) TakeRange(row);
    } else if constexpr (std::is_same_v<R, trace::ApiRecord> || std::is_same_v<R, trace::BaseCallRecord>) {
      for (const R& row : rows) TakeCall(row);
    } else if constexpr (std::is_same_v<R, trace::WorkRateRecord>) {
      for (const R& row : rows) watch_.rates_.Take(process_, row, NameOf(row.function));
    } else if constexpr (std::is_same_v<R, trace::CaptureRecord> || std::is_same_v<R, trace::BaseTimeRecord>) {
      for (const R& row : rows) watch_.windows_[process_].Take(row);
    } else if constexpr (std::is_same_v<R, trace::MetricSourceRecord>) {
      for (const R& row : rows) TakeSource(row);
    } else if constexpr (std::is_same_v<R, trace::MetricBlockRecord>) {
      for (const R& row : rows) TakeSample(row);
    } else if constexpr (kIsGpuWork<R>) {
      for (const R& row : rows) {
        watch_.devices_[row.device].work.emplace_back(row.start_ns, row.start_ns + row.duration_ns);
      }
    }
  }

 private:
  void TakeRange(const trace::NvtxRecord& row) {
    const auto event = static_cast<NvtxEvent>(row.event);
    std::vector<Watch::Push>& open = watch_.pushes_[{process_, row.tid}];
    if (event == NvtxEvent::kPush) Push(row, &open);
    if (event != NvtxEvent::kPop || open.empty()) return;
    if (open.back().is_step && row.time_ns > open.back().time_ns) {
      watch_.ended_steps_.push_back({process_, open.back().time_ns, row.time_ns});
    }
    open.pop_back();
  }

  void TakeSource(const trace::MetricSourceRecord& row) {
    constexpr uint32_t kMost = 100'000;
    std::vector<Watch::Source>& sources = watch_.sources_[process_];
    if (row.id >= kMost) return;
    if (row.id >= sources.size()) sources.resize(row.id + 1);
    sources[row.id] = {true, NameOf(row.name) == "Xid", row.device};
  }

  void TakeSample(const trace::MetricBlockRecord& row) {
    const std::vector<Watch::Source>& sources = watch_.sources_[process_];
    if (row.source >= sources.size() || !sources[row.source].is_known) {
      watch_.has_new_source_ = true;
    } else if (sources[row.source].is_xid) {
      watch_.Tell("the driver logged Xid " + std::to_string(row.value) + " of GPU " +
                  std::to_string(sources[row.source].device));
    }
  }

  // Where ranges are not recorded all the time, a step within a step has been left meanwhile.
  void Push(const trace::NvtxRecord& row, std::vector<Watch::Push>* open) {
    const bool is_step = NameOf(row.message) == watch_.options_.step;
    if (is_step && watch_.windows_[process_].HasPauses()) {
      open->erase(std::ranges::find_if(*open, &Watch::Push::is_step), open->end());
    }
    open->push_back({row.time_ns, is_step});
  }

  template <class Call>
  void TakeCall(const Call& row) {
    // A thread that asks again and again whether something is ready makes no progress.
    if (row.result != kNotReady) watch_.TakeProgress(row.start_ns + row.duration_ns);
    const bool is_memory = row.result == kOutOfMemory;
    const bool is_lost = LosesContext(row.result);
    const bool is_other = row.result != 0 && row.result != kNotReady;
    const WatchOptions& options = watch_.options_;
    if (!(is_memory && options.on_out_of_memory) && !(is_lost && options.on_lost_context) &&
        !(is_other && options.on_any_error)) {
      return;
    }
    watch_.Tell(std::string(NameOf(row.function)) + " returned " +
                ErrorName(row.result, static_cast<trace::ApiDomain>(row.domain)) +
                (is_memory ? " (out of GPU memory)"
                 : is_lost ? " (the context is lost)"
                           : ""));
  }

  std::string_view NameOf(trace::StringId id) const {
    const auto at = names_.find(id.value);
    return at == names_.end() ? std::string_view() : at->second;
  }

  Watch& watch_;
  trace::ProcessKey process_;
  std::unordered_map<uint32_t, std::string_view> names_;
};

Watch::Watch(WatchOptions options) : options_(std::move(options)), decoder_(std::make_unique<RowDecoder>()) {}
Watch::~Watch() = default;

void Watch::Take(const Ring& ring, const RingChunk& chunk) {
  const trace::ChunkHeader& header = chunk.header;
  if (options_.on_xid && header.kind == static_cast<uint16_t>(RecordKind::kMetricBlock)) TakeMetrics(ring, chunk);
  if ((header.flags & trace::kChunkCollector) != 0 || header.process.image == trace::kFirstChunkImage) return;
  const auto kind = static_cast<RecordKind>(header.kind);
  const bool is_read = IsOfInterest(header.kind, options_) && ring.Read(chunk, &body_);
  const bool has_polls = (kind == RecordKind::kApi || kind == RecordKind::kBaseCall) && is_read;  // TakeCall has those
  if (IsProgress(kind) && !has_polls) TakeProgress(header.last_ns);
  NoteBaseProgress(kind, header);
  if (!is_read) return;
  decoder_->Decode(ChunkOf(header, body_), WatchSink(this, header.process));
}

// What a sample is of, is told before it and kept apart.
void Watch::TakeMetrics(const Ring& ring, const RingChunk& chunk) {
  for (int tries = 0; tries < 2 && ring.Read(chunk, &body_); ++tries) {
    has_new_source_ = false;
    decoder_->Decode(ChunkOf(chunk.header, body_), WatchSink(this, chunk.header.process));
    if (!has_new_source_) return;
    LearnSources(ring, chunk.header.process);
  }
}

void Watch::LearnSources(const Ring& ring, const trace::ProcessKey& process) {
  for (const RingChunk& chunk : ring.Chunks()) {
    const bool is_it = chunk.header.kind == static_cast<uint16_t>(RecordKind::kMetricSource);
    if (!is_it || !(chunk.header.process == process) || !ring.Read(chunk, &body_)) continue;
    decoder_->Decode(ChunkOf(chunk.header, body_), WatchSink(this, process));
  }
}

std::string Watch::Look(int64_t now_ns) {
  LookAtSteps(now_ns);
  LookAtDevices(now_ns);
  LookForHang(now_ns);
  return std::exchange(told_, {});
}

// A program tells of itself between two windows, or it does not: then nobody knows until the next one.
int64_t Watch::QuietNs(int64_t now_ns) const {
  uint64_t last_ns = last_progress_ns_;
  for (const auto& [process, windows] : windows_) {
    if (windows.IsInPause() && !tells_in_pauses_.contains(process)) return 0;
    last_ns = std::max(last_ns, windows.HasPauses() ? windows.window_since_ns() : 0);
  }
  return last_progress_ns_ == 0 ? 0 : std::max<int64_t>(now_ns - static_cast<int64_t>(last_ns), 0);
}

void Watch::NoteBaseProgress(trace::RecordKind kind, const trace::ChunkHeader& header) {
  const bool is_base = kind == RecordKind::kBaseCall || kind == RecordKind::kNvtx || kind == RecordKind::kBaseGraph;
  const auto windows = is_base ? windows_.find(header.process) : windows_.end();
  if (windows == windows_.end() || !windows->second.IsInPause()) return;
  tells_in_pauses_.insert(header.process);
}

// Of a process that is recorded in windows, or of none.
MeasuredSlowDown Watch::SlowDown(int64_t now_ns) const {
  trace::ProcessKey process;
  MeasuredSlowDown measured = rates_.Measure(&process);
  const auto windows = windows_.find(process);
  if (!measured.IsKnown() || windows == windows_.end()) return measured;
  const SeenWindows::Sums sums = windows->second.Until(static_cast<uint64_t>(now_ns));
  if (sums.all_ns == 0) return measured;
  measured.window_share = static_cast<double>(sums.window_ns) / static_cast<double>(sums.all_ns);
  measured.base_share = static_cast<double>(sums.base_ns) / static_cast<double>(sums.all_ns);
  return measured;
}

bool Watch::IsInPause(const trace::ProcessKey& process) const {
  const auto windows = windows_.find(process);
  return windows != windows_.end() && windows->second.IsInPause();
}

SeenWindows::Sums Watch::Windows(int64_t now_ns) const {
  SeenWindows::Sums most;
  for (const auto& [process, windows] : windows_) {
    const SeenWindows::Sums sums = windows.Until(static_cast<uint64_t>(now_ns));
    if (windows.HasPauses() && sums.windows > most.windows) most = sums;
  }
  return most;
}

void Watch::Tell(std::string what) {
  if (told_.empty()) told_ = std::move(what);
}

// Those that lie in a time of which all ranges are known; what is not known yet is looked at again.
void Watch::LookAtSteps(int64_t now_ns) {
  constexpr uint64_t kPatienceNs = 5'000'000'000;
  std::vector<EndedStep> later;
  for (const EndedStep& step : std::exchange(ended_steps_, {})) {
    const SeenWindows::Covered covered = windows_[step.process].Covers(step.from_ns, step.until_ns);
    const bool is_recent = step.until_ns + kPatienceNs > static_cast<uint64_t>(now_ns);
    if (covered == SeenWindows::Covered::kYes) TakeStep(step.until_ns - step.from_ns);
    if (covered == SeenWindows::Covered::kNotYet && is_recent) later.push_back(step);
  }
  ended_steps_.insert(ended_steps_.begin(), later.begin(), later.end());
}

void Watch::TakeStep(uint64_t duration_ns) {
  if (steps_.size() >= kFewestSteps) {
    const uint64_t median_ns = Median(steps_);
    const double factor = static_cast<double>(duration_ns) / static_cast<double>(std::max<uint64_t>(median_ns, 1));
    if (factor > options_.slow_factor) {
      char times[32];
      snprintf(times, sizeof times, "%.1f", factor);
      Tell("step '" + options_.step + "' took " + Time(duration_ns) + ", " + times + " times its median of " +
           Time(median_ns) +
           (options_.keep_ns != 0 && duration_ns > options_.keep_ns ? "; it began before what is kept (--keep)" : ""));
    }
  }
  steps_.push_back(duration_ns);
  if (steps_.size() > kSteps) steps_.pop_front();
}

// Work comes in the order in which it was delivered, so that of a round is put in order first. A gap that still lasts
// is told as soon as it is long enough.
// What a GPU does between two windows is not known.
void Watch::LookAtDevices(int64_t now_ns) {
  bool is_in_pause = false;
  uint64_t known_since_ns = 0;
  for (const auto& [process, windows] : windows_) {
    is_in_pause |= windows.IsInPause();
    if (windows.HasPauses()) known_since_ns = std::max(known_since_ns, windows.window_since_ns());
  }
  for (auto& [number, device] : devices_) {
    if (device.busy_until_ns != 0 && device.busy_until_ns < known_since_ns) {
      device.busy_until_ns = known_since_ns;
      device.is_told = false;
    }
    std::sort(device.work.begin(), device.work.end());
    for (const auto& [begin_ns, end_ns] : device.work) {
      const bool has_gap = device.busy_until_ns != 0 && begin_ns > device.busy_until_ns;
      if (has_gap && !device.is_told) TellIdle(number, begin_ns - device.busy_until_ns, "was");
      if (begin_ns > device.busy_until_ns) device.is_told = false;
      device.busy_until_ns = std::max(device.busy_until_ns, end_ns);
    }
    device.work.clear();
    const auto now = static_cast<uint64_t>(now_ns);
    if (is_in_pause || device.is_told || device.busy_until_ns == 0 || now <= device.busy_until_ns) continue;
    device.is_told = TellIdle(number, now - device.busy_until_ns, "has been");
  }
}

bool Watch::TellIdle(uint32_t device, uint64_t ns, const char* verb) {
  if (options_.idle_ns == 0 || ns < static_cast<uint64_t>(options_.idle_ns)) return false;
  Tell("GPU " + std::to_string(device) + " " + verb + " idle for " + Time(ns));
  return true;
}

void Watch::LookForHang(int64_t now_ns) {
  const int64_t quiet_ns = QuietNs(now_ns);
  const bool hangs = options_.hang_ns != 0 && quiet_ns >= options_.hang_ns;
  if (hangs && !is_hang_told_) Tell("no progress for " + Time(static_cast<uint64_t>(quiet_ns)));
  is_hang_told_ = hangs;
}

}  // namespace gprof
