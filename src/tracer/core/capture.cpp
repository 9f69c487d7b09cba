#include "tracer/core/capture.h"

#include <cstring>

#include "tracer/core/tracer.h"
#include "tracer/cupti/cupti_session.h"
#include "tracer/nvtx/given_names.h"
#include "tracer/store/arena.h"
#include "tracer/store/clock.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/log_rows.h"
#include "tracer/store/system_calls.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {

constinit std::atomic<bool> capture_is_on{false};
constinit std::atomic<NvtxPath> nvtx_path{NvtxPath::kRecord};

namespace {

using trace::CaptureEvent;
using trace::CaptureTrigger;

Lock lock;                                       // captures begin and end one at a time
bool is_over = false;                            // the range that was asked for has been
uint32_t number = 0;                             // of captures begun
constinit std::atomic<uint32_t> open_ranges{0};  // watched ones, on all threads
constinit std::atomic<uint32_t> steps_seen{0};
constinit std::atomic<bool> is_warm{false};  // CUPTI was switched on before the capture
uint32_t watched_domain = 0;

constexpr uint32_t kStarted = 64;
constinit std::atomic<uint64_t> started[kStarted] = {};  // watched start/end ranges that are open

// The last warm-ups: from when CUPTI was switched on to when the capture began, 0 until then.
struct WarmUpTime {
  std::atomic<uint64_t> from_ns, to_ns;
};
constexpr uint32_t kWarmUps = 256;
WarmUpTime warm_ups[kWarmUps] GPROF_IN_ARENA = {};
uint32_t warm_up_count = 0;

// [writer thread, or the last one of the process]
void Write(CaptureEvent event, CaptureTrigger trigger) {
  Writer().Add(trace::CaptureRecord{MonotonicNs(), static_cast<uint8_t>(event), static_cast<uint8_t>(trigger), number});
}

void Note(CaptureEvent event, CaptureTrigger trigger) {
  if (IsWriterThread()) return Write(event, trigger);
  ThreadLog* log = OwnLog();
  if (log == nullptr) return;
  const CaptureRow row{{RowType::kCapture, 0, sizeof(CaptureRow) / 8},
                       number,
                       Stamp(),
                       static_cast<uint8_t>(event),
                       static_cast<uint8_t>(trigger),
                       0,
                       0};
  Append(log, row);
}

void ChooseNvtxPath() {
  const CaptureStart start = Config().capture_start;
  const bool has_trigger = (start == CaptureStart::kNvtx || start == CaptureStart::kSteps) && !is_over;
  const NvtxPath untriggered = IsCapturing() ? NvtxPath::kRecord : NvtxPath::kIgnore;
  nvtx_path.store(has_trigger ? NvtxPath::kWatch : untriggered, std::memory_order_relaxed);
}

bool IsWatched(uint32_t domain, uint32_t id, const char* text, std::size_t size) {
  const TracerConfig& config = Config();
  if (config.capture_range[0] == 0) return false;
  if (config.capture_domain[0] != '*' && domain != watched_domain) return false;
  if (id != 0) {
    const trace::Text name = Strings().TextOf({id});
    text = name.data;
    size = name.size;
  }
  return size == std::strlen(config.capture_range) && std::memcmp(text, config.capture_range, size) == 0;
}

// How the step with this number, from 0, is recorded.
enum class StepKind : uint8_t { kIgnored, kWarmup, kActive, kOver };
StepKind KindOfStep(uint32_t step) {
  const StepSchedule& s = Config().steps;
  if (step < s.skip) return StepKind::kIgnored;
  const uint32_t cycle = s.wait + s.warmup + s.active;
  const uint32_t round = (step - s.skip) / cycle, place = (step - s.skip) % cycle;
  if (s.repeat != 0 && round >= s.repeat) return StepKind::kOver;
  if (place < s.wait) return StepKind::kIgnored;
  return place < s.wait + s.warmup ? StepKind::kWarmup : StepKind::kActive;
}

void WarmUp() {
  if (is_warm.exchange(true)) return;
  WarmUpTime& time = warm_ups[++warm_up_count % kWarmUps];
  time.to_ns.store(0, std::memory_order_relaxed);
  time.from_ns.store(MonotonicNs(), std::memory_order_relaxed);
  if (!IsCapturing()) SwitchCupti(true);
}

void OnStepBegins() {
  const StepKind kind = KindOfStep(steps_seen.fetch_add(1, std::memory_order_relaxed));
  if (kind == StepKind::kWarmup) WarmUp();
  if (kind == StepKind::kActive) BeginCapture(CaptureTrigger::kSteps);
}

void OnStepEnds() {
  const StepKind next = KindOfStep(steps_seen.load(std::memory_order_relaxed));
  if (next == StepKind::kActive) return;
  if (next == StepKind::kWarmup) WarmUp();
  EndCapture(CaptureTrigger::kSteps);
}

void OnRangeOpens() {
  if (Config().capture_start == CaptureStart::kSteps) return OnStepBegins();
  if (open_ranges.fetch_add(1, std::memory_order_acq_rel) == 0) BeginCapture(CaptureTrigger::kNvtx);
}

void OnRangeCloses() {
  if (Config().capture_start == CaptureStart::kSteps) return OnStepEnds();
  if (open_ranges.fetch_sub(1, std::memory_order_acq_rel) == 1 && Config().capture_end != CaptureEnd::kNone) {
    EndCapture(CaptureTrigger::kNvtx);
  }
}

// Whether the capture that ended was the last that triggers may start.
bool IsLast(CaptureTrigger trigger) {
  const TracerConfig& config = Config();
  if (trigger == CaptureTrigger::kSteps) {
    return KindOfStep(steps_seen.load(std::memory_order_relaxed)) == StepKind::kOver;
  }
  if (trigger != CaptureTrigger::kNvtx && trigger != CaptureTrigger::kProfilerApi) return false;
  if (config.capture_end != CaptureEnd::kRepeat) return true;
  return config.capture_repeat != 0 && number >= config.capture_repeat;
}

}  // namespace

void SetUpCapture() {
  const TracerConfig& config = Config();
  if (config.capture_domain[0] != 0 && config.capture_domain[0] != '*') {
    watched_domain = DomainOf(Strings().Intern(config.capture_domain));
  }
  if (config.capture_start == CaptureStart::kBegin) {
    number = 1;
    capture_is_on.store(true, std::memory_order_release);
  }
  ChooseNvtxPath();
}

void ResetCaptureAfterFork() {
  lock.ResetAfterFork();
  capture_is_on.store(false, std::memory_order_relaxed);
  open_ranges.store(0, std::memory_order_relaxed);
  number = 0;
  for (auto& range : started) range.store(0, std::memory_order_relaxed);
}

void BeginCapture(CaptureTrigger trigger) {
  ErrnoGuard errno_guard;
  const LockGuard guard(lock);
  if (IsCapturing() || is_over) return;
  ++number;
  // First CUPTI, so that nothing of the capture is missing; what it tells of before is left out by its time.
  SwitchCupti(true);
  if (is_warm.exchange(false)) {
    warm_ups[warm_up_count % kWarmUps].to_ns.store(MonotonicNs(), std::memory_order_relaxed);
  }
  Note(CaptureEvent::kStart, trigger);
  capture_is_on.store(true, std::memory_order_release);
  ChooseNvtxPath();
  trace::ArenaHeader& header = Header();
  header.captures_started.fetch_add(1, std::memory_order_relaxed);
  header.state.store(static_cast<uint32_t>(trace::ArenaState::kRecording), std::memory_order_release);
}

void EndCapture(CaptureTrigger trigger) {
  ErrnoGuard errno_guard;
  const LockGuard guard(lock);
  if (!IsCapturing()) return;
  capture_is_on.store(false, std::memory_order_release);
  Note(CaptureEvent::kStop, trigger);
  if (!is_warm.load(std::memory_order_relaxed)) SwitchCupti(false);
  is_over = is_over || IsLast(trigger);
  ChooseNvtxPath();
  trace::ArenaHeader& header = Header();
  header.captures_stopped.fetch_add(1, std::memory_order_relaxed);
  header.state.store(static_cast<uint32_t>(trace::ArenaState::kIdle), std::memory_order_release);
  if (is_over && Config().capture_end == CaptureEnd::kStopShutdown) RequestShutdown();
  WakeWriter();
}

void EndCaptureWithProcess() {
  if (Config().capture_start == CaptureStart::kBegin || !IsCapturing()) return;
  capture_is_on.store(false, std::memory_order_release);
  Write(CaptureEvent::kStop, CaptureTrigger::kEnd);
}

void OnProfilerStart() {
  if (Config().capture_start == CaptureStart::kProfilerApi) BeginCapture(CaptureTrigger::kProfilerApi);
}

void OnProfilerStop() {
  if (Config().capture_start == CaptureStart::kProfilerApi && Config().capture_end != CaptureEnd::kNone) {
    EndCapture(CaptureTrigger::kProfilerApi);
  }
}

void OnPushSeen(WatchedRange* watched, uint32_t domain, uint32_t id, const char* text, std::size_t size) {
  if (watched->is_open) {
    if (watched->domain == domain) ++watched->nested;
    return;
  }
  if (!IsWatched(domain, id, text, size)) return;
  *watched = {domain, 0, true};
  OnRangeOpens();
}

void OnPopSeen(WatchedRange* watched, uint32_t domain) {
  if (!watched->is_open || watched->domain != domain) return;
  if (watched->nested > 0) {
    --watched->nested;
    return;
  }
  watched->is_open = false;
  OnRangeCloses();
}

void OnStartSeen(uint64_t range, uint32_t domain, uint32_t id, const char* text, std::size_t size) {
  if (!IsWatched(domain, id, text, size)) return;
  for (auto& place : started) {
    uint64_t none = 0;
    if (!place.compare_exchange_strong(none, range, std::memory_order_acq_rel)) continue;
    return OnRangeOpens();
  }
}

void OnEndSeen(uint64_t range) {
  for (auto& place : started) {
    uint64_t expected = range;
    if (range == 0 || !place.compare_exchange_strong(expected, 0, std::memory_order_acq_rel)) continue;
    return OnRangeCloses();
  }
}

bool IsOfCapture(uint64_t start_ns, uint64_t end_ns) {
  const TracerConfig& config = Config();
  if (start_ns == 0 || config.capture_start != CaptureStart::kSteps || config.steps.warmup == 0) return true;
  for (const WarmUpTime& time : warm_ups) {
    const uint64_t from = time.from_ns.load(std::memory_order_relaxed);
    const uint64_t to = time.to_ns.load(std::memory_order_relaxed);
    if (from != 0 && start_ns >= from && (to == 0 || end_ns < to)) return false;
  }
  return true;
}

}  // namespace gprof::tracer
