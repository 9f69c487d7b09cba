// What was sampled of GPUs, and calls of the operating system.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "import/nsight/nsight_import.h"
#include "import/nsight/nsight_values.h"

namespace gprof {
namespace {

// Exports of ours have fractions, those of Nsight Systems whole numbers.
constexpr int32_t kFractionScale = -3;
constexpr double kFractionUnits = 1000;
// Clocks are called MHz and written in Hz: no clock has so many MHz.
constexpr int64_t kMostMegahertz = 100'000;
constexpr int32_t kHertzAsMegahertz = -6;
// What lies beyond is no time and no value.
constexpr int64_t kMaxSampleNs = int64_t{1} << 59;
constexpr double kMostValue = 1e18;

// What functions wait for, by the beginning of their names.
struct FunctionObject {
  std::string_view prefix;
  trace::OsObject object;
};
constexpr FunctionObject kObjects[] = {
    {"pthread_mutex", trace::OsObject::kMutex},
    {"pthread_rwlock", trace::OsObject::kRwLock},
    {"pthread_cond", trace::OsObject::kCondition},
    {"pthread_barrier", trace::OsObject::kBarrier},
    {"pthread_join", trace::OsObject::kThread},
    {"pthread_timedjoin", trace::OsObject::kThread},
    {"sem_", trace::OsObject::kSemaphore},
    {"wait", trace::OsObject::kProcess},
    {"read", trace::OsObject::kFile},
    {"pread", trace::OsObject::kFile},
    {"write", trace::OsObject::kFile},
    {"pwrite", trace::OsObject::kFile},
    {"open", trace::OsObject::kFile},
    {"close", trace::OsObject::kFile},
    {"fopen", trace::OsObject::kFile},
    {"fclose", trace::OsObject::kFile},
    {"fread", trace::OsObject::kFile},
    {"fwrite", trace::OsObject::kFile},
    {"fsync", trace::OsObject::kFile},
    {"send", trace::OsObject::kSocket},
    {"recv", trace::OsObject::kSocket},
    {"connect", trace::OsObject::kSocket},
    {"accept", trace::OsObject::kSocket},
    {"ioctl", trace::OsObject::kDevice},
    {"nanosleep", trace::OsObject::kTimer},
    {"clock_nanosleep", trace::OsObject::kTimer},
    {"usleep", trace::OsObject::kTimer},
    {"sleep", trace::OsObject::kTimer},
    {"mmap", trace::OsObject::kMemory},
    {"munmap", trace::OsObject::kMemory},
    {"poll", trace::OsObject::kPoll},
    {"ppoll", trace::OsObject::kPoll},
    {"select", trace::OsObject::kPoll},
    {"epoll_", trace::OsObject::kPoll},
};

trace::OsObject ObjectOf(std::string_view function) {
  const auto* found = std::find_if(std::begin(kObjects), std::end(kObjects),
                                   [&](const FunctionObject& known) { return function.starts_with(known.prefix); });
  return found == std::end(kObjects) ? trace::OsObject::kNone : found->object;
}

// "SMs Active [Throughput %]" is a name and a unit.
std::pair<std::string_view, std::string_view> NameAndUnit(std::string_view text) {
  const std::size_t open = text.rfind(" [");
  if (open == std::string_view::npos || !text.ends_with(']')) return {text, ""};
  const std::string_view unit = text.substr(open + 2, text.size() - open - 3);
  return {text.substr(0, open), unit == "Throughput %" ? "%" : unit};
}

}  // namespace

void NsightImport::ReadOsCalls() {
  constexpr std::string_view kTable = "OSRT_API";
  constexpr int64_t kWholeCall = 27;  // ENUM_NSYS_EVENT_CLASS; others have the entry or the return alone
  if (!file_.HasTable(kTable)) return;
  static constexpr Columns kColumns{"start", "end", "globalTid", "nameId", "returnValue", "eventClass"};
  SqliteRows rows(file_, kTable, kColumns);
  while (rows.Next()) {
    // Threads of the tool's own, in processes that did nothing with CUDA, are no part of the program.
    if (rows.Int(kColumns["eventClass"], kWholeCall) != kWholeCall ||
        !processes_.contains(rows.Int(kColumns["globalTid"]) >> kGlobalThreadBits))
      continue;
    Enter(rows, kColumns["globalTid"]);
    trace::OsCallRecord r;
    r.tid = ThreadOf(rows.Int(kColumns["globalTid"]));
    r.result = rows.Int(kColumns["returnValue"]);
    const uint32_t text = rows.IsNull(kColumns["nameId"]) ? 0 : TextOf(rows.Int(kColumns["nameId"]));
    if (!TakeSpan(rows, &r)) continue;
    r.function = builder_.Name(text);
    r.object_kind = static_cast<uint8_t>(ObjectOf(builder_.TextOf(text)));
    NoteThread(r.tid);
    builder_.Add(r);
  }
}

// A sample is of the time since the one before it of the same counter. It belongs to no process: those of the tool
// that were sampled before the program began are left out, as they lie before all times of the trace.
void NsightImport::ReadGpuMetrics() {
  constexpr std::string_view kTable = "GPU_METRICS";
  if (!file_.HasTable(kTable)) return;
  static constexpr Columns kColumns{"timestamp", "typeId", "metricId", "value"};
  const double units = builder_.recorder().starts_with("gprof-cli") ? kFractionUnits : 1;
  builder_.Enter(0);
  SqliteRows rows(file_, kTable, kColumns);
  while (rows.Next()) {
    const int64_t time_ns = rows.Int(kColumns["timestamp"]), type = rows.Int(kColumns["typeId"]),
                  metric = rows.Int(kColumns["metricId"]);
    const double value = rows.Real(kColumns["value"]) * units;
    if (!IsGood(rows) || time_ns <= -kMaxSampleNs || time_ns >= kMaxSampleNs || time_ns + shift_ns_ < 1 ||
        !(std::abs(value) < kMostValue))
      continue;
    uint32_t& at = metrics_(static_cast<uint64_t>(type), static_cast<uint64_t>(metric));
    if (at == kNone) {
      at = static_cast<uint32_t>(metric_tracks_.size());
      metric_tracks_.push_back({type, metric});
    }
    AddMetricSample(at, static_cast<uint64_t>(time_ns + shift_ns_), std::llround(value));
  }
  AddMetricSources();
}

void NsightImport::AddMetricSample(uint32_t at, uint64_t time_ns, int64_t value) {
  MetricTrack& track = metric_tracks_[at];
  trace::MetricBlockRecord r;
  r.source = at + 1;
  r.value = value;
  const bool has_before = track.last_ns != 0 && time_ns > track.last_ns;
  uint64_t length_ns = has_before ? time_ns - track.last_ns : 0;
  if (has_before && track.period_ns != 0 && length_ns > 2 * track.period_ns) {
    trace::MetricLossRecord loss;
    loss.start_ns = track.last_ns;
    loss.duration_ns = length_ns - track.period_ns;
    loss.source = r.source;
    builder_.Add(loss);
    length_ns = track.period_ns;
  }
  if (length_ns != 0) track.period_ns = track.period_ns == 0 ? length_ns : std::min(track.period_ns, length_ns);
  r.start_ns = time_ns - length_ns;
  r.duration_ns = length_ns;
  track.last_ns = time_ns;
  track.largest = std::max(track.largest, value);
  builder_.Add(r);
}

void NsightImport::AddMetricSources() {
  constexpr std::string_view kTable = "TARGET_INFO_GPU_METRICS";
  std::map<std::pair<int64_t, int64_t>, std::string> names;
  if (file_.HasTable(kTable)) {
    constexpr std::string_view kColumns[] = {"typeId", "metricId", "metricName"};
    SqliteRows rows(file_, kTable, kColumns);
    while (rows.Next()) names.try_emplace({rows.Int(0), rows.Int(1)}, rows.Text(2));
  }
  const std::vector<Gpu> gpus = ReadGpus();
  const bool is_ours = builder_.recorder().starts_with("gprof-cli");
  for (uint32_t i = 0; i < metric_tracks_.size(); ++i) {
    const MetricTrack& track = metric_tracks_[i];
    const auto named = names.find({track.type, track.metric});
    const auto [name, unit] = named == names.end() ? std::pair<std::string_view, std::string_view>("not known", "")
                                                   : NameAndUnit(named->second);
    trace::MetricSourceRecord r;
    r.id = i + 1;
    r.name = builder_.Name(builder_.Text(name));
    r.unit = builder_.Name(builder_.Text(unit));
    r.origin = builder_.Name(builder_.Text("pm"));
    r.metric_kind = static_cast<uint8_t>(trace::MetricKind::kRate);
    r.scope = static_cast<uint8_t>(trace::MetricScope::kDevice);
    r.period_ns = track.period_ns;
    r.device = static_cast<uint32_t>(track.type & 0xFF);  // the number of the GPU
    const bool is_in_hertz = unit == "MHz" && track.largest > kMostMegahertz;
    r.scale = is_ours ? kFractionScale : is_in_hertz ? kHertzAsMegahertz : 0;
    const auto gpu = std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& g) { return g.id == r.device; });
    if (gpu != gpus.end()) r.device_uuid = builder_.Name(gpu->uuid);
    builder_.Add(r);
  }
}

}  // namespace gprof
