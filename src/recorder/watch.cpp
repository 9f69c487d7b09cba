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
      return options.on_out_of_memory || options.on_lost_context || options.on_any_error || options.hang_ns != 0;
    case RecordKind::kWorkRate:
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
    case RecordKind::kKernel:
    case RecordKind::kMemcpy:
    case RecordKind::kPeerCopy:
    case RecordKind::kMemset:
    case RecordKind::kGraphLaunch:
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
    } else if constexpr (std::is_same_v<R, trace::ApiRecord>) {
      for (const R& row : rows) TakeCall(row);
    } else if constexpr (std::is_same_v<R, trace::WorkRateRecord>) {
      for (const R& row : rows) watch_.rates_.Take(process_, row, NameOf(row.function));
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
    if (event == NvtxEvent::kPush) open.push_back({row.time_ns, NameOf(row.message) == watch_.options_.step});
    if (event != NvtxEvent::kPop || open.empty()) return;
    if (open.back().is_step && row.time_ns > open.back().time_ns) watch_.TakeStep(row.time_ns - open.back().time_ns);
    open.pop_back();
  }

  void TakeCall(const trace::ApiRecord& row) {
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
  if ((header.flags & trace::kChunkCollector) != 0 || header.process.image == trace::kFirstChunkImage) return;
  const auto kind = static_cast<RecordKind>(header.kind);
  const bool is_read = IsOfInterest(header.kind, options_) && ring.Read(chunk, &body_);
  const bool has_polls = kind == RecordKind::kApi && is_read;  // which TakeCall leaves out
  if (IsProgress(kind) && !has_polls) TakeProgress(header.last_ns);
  if (!is_read) return;
  Chunk decoded;
  decoded.header = header;
  decoded.body = trace::ByteReader(body_.data(), body_.size());
  decoder_->Decode(decoded, WatchSink(this, header.process));
}

std::string Watch::Look(int64_t now_ns) {
  LookAtDevices(now_ns);
  LookForHang(now_ns);
  return std::exchange(told_, {});
}

int64_t Watch::QuietNs(int64_t now_ns) const {
  const auto last_ns = static_cast<int64_t>(last_progress_ns_);
  return last_ns == 0 ? 0 : std::max<int64_t>(now_ns - last_ns, 0);
}

void Watch::Tell(std::string what) {
  if (told_.empty()) told_ = std::move(what);
}

void Watch::TakeStep(uint64_t duration_ns) {
  if (steps_.size() >= kFewestSteps) {
    const uint64_t median_ns = Median(steps_);
    const double factor = static_cast<double>(duration_ns) / static_cast<double>(std::max<uint64_t>(median_ns, 1));
    if (factor > options_.slow_factor) {
      char times[32];
      snprintf(times, sizeof times, "%.1f", factor);
      Tell("step '" + options_.step + "' took " + Time(duration_ns) + ", " + times + " times its median of " +
           Time(median_ns));
    }
  }
  steps_.push_back(duration_ns);
  if (steps_.size() > kSteps) steps_.pop_front();
}

// Work comes in the order in which it was delivered, so that of a round is put in order first. A gap that still lasts
// is told as soon as it is long enough.
void Watch::LookAtDevices(int64_t now_ns) {
  for (auto& [number, device] : devices_) {
    std::sort(device.work.begin(), device.work.end());
    for (const auto& [begin_ns, end_ns] : device.work) {
      const bool has_gap = device.busy_until_ns != 0 && begin_ns > device.busy_until_ns;
      if (has_gap && !device.is_told) TellIdle(number, begin_ns - device.busy_until_ns, "was");
      if (begin_ns > device.busy_until_ns) device.is_told = false;
      device.busy_until_ns = std::max(device.busy_until_ns, end_ns);
    }
    device.work.clear();
    const auto now = static_cast<uint64_t>(now_ns);
    if (device.is_told || device.busy_until_ns == 0 || now <= device.busy_until_ns) continue;
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
