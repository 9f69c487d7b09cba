#include "tracer/capture/capture.h"

#include <cstring>

#include "tracer/core/tracer.h"
#include "tracer/store/clock.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/log_rows.h"
#include "tracer/store/memory/arena.h"
#include "tracer/store/thread_log.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {

constinit std::atomic<bool> capture_is_on{false}, base_is_on{false};

namespace {

using trace::CaptureEvent;
using trace::CaptureTrigger;

Lock lock;                                   // captures begin and end one at a time
bool is_over = false;                        // the range that was asked for has been
uint32_t number = 0;                         // of captures begun
bool keeps_base = false;                     // after windows
uint64_t base_since_ns = 0;                  // outside of windows, as far as it is not told; 0: it is off
constinit std::atomic<uint32_t> ended{0};    // CapturesEnded
constinit std::atomic<bool> is_warm{false};  // between a warm-up and its capture

// The last warm-ups: from when the first collector was switched on to when the capture began, 0 until then.
struct WarmUpTime {
  std::atomic<uint64_t> from_ns, to_ns;
};
constexpr uint32_t kWarmUps = 256;
WarmUpTime warm_ups[kWarmUps] GPROF_IN_ARENA = {};
uint32_t warm_up_count = 0;

struct CaptureRow {
  RowHeader header;
  uint32_t number;
  uint64_t stamp;
  uint8_t event, trigger;
  uint16_t unused;
  uint32_t also_unused;
};

// [writer thread, or the last one of the process]
void Write(CaptureEvent event, CaptureTrigger trigger) {
  Output().Add(trace::CaptureRecord{MonotonicNs(), static_cast<uint8_t>(event), static_cast<uint8_t>(trigger), number});
}

void TellBaseTimeUntil(uint64_t now_ns) {
  if (base_since_ns == 0) return;
  Output().Add(trace::BaseTimeRecord{base_since_ns, now_ns - base_since_ns});
  base_since_ns = now_ns;
}

void EndBaseTime(uint64_t now_ns) {
  TellBaseTimeUntil(now_ns);
  base_since_ns = 0;
}

// As whoever samples from outside sees it.
void SetState() {
  const auto state = IsBaseRecorded() ? trace::ArenaState::kRecording : trace::ArenaState::kIdle;
  Header().state.store(static_cast<uint32_t>(state), std::memory_order_release);
}

void Note(CaptureEvent event, CaptureTrigger trigger) {
  if (IsWriterThread()) return Write(event, trigger);
  ThreadLog* log = OwnLog();
  if (log == nullptr) return;
  const CaptureRow row{RowHeaderOf<CaptureRow>(RowType::kCapture),
                       number,
                       Stamp(),
                       static_cast<uint8_t>(event),
                       static_cast<uint8_t>(trigger),
                       0,
                       0};
  Append(log, row);
}

// Whether the capture that ended was the last that triggers may start.
bool IsLast(CaptureTrigger trigger) {
  const TracerConfig& config = Config();
  if (trigger != CaptureTrigger::kNvtx && trigger != CaptureTrigger::kProfilerApi) return false;
  if (config.capture_end != CaptureEnd::kRepeat) return true;
  return config.capture_repeat != 0 && number >= config.capture_repeat;
}

}  // namespace

bool CapturesAreOver() { return is_over; }

uint32_t CapturesEnded() { return ended.load(std::memory_order_acquire); }

void SetUpCapture() {
  const TracerConfig& config = Config();
  if (config.capture_start == CaptureStart::kBegin) {
    number = 1;
    base_is_on.store(true, std::memory_order_relaxed);
    capture_is_on.store(true, std::memory_order_release);
  }
}

void ResetCaptureAfterFork() {
  lock.ResetAfterFork();
  capture_is_on.store(false, std::memory_order_relaxed);
  base_is_on.store(false, std::memory_order_relaxed);
  keeps_base = false;
  base_since_ns = 0;
  number = 0;
  ended.store(0, std::memory_order_relaxed);
}

void BeginCapture(CaptureTrigger trigger) {
  ErrnoGuard errno_guard;
  const LockGuard guard(lock);
  if (IsCapturing() || is_over) return;
  ++number;
  // First, so that nothing of the capture is missing; what they tell of before is left out by its time.
  SwitchWarmUpCollectors(true);
  if (is_warm.exchange(false)) {
    warm_ups[warm_up_count % kWarmUps].to_ns.store(MonotonicNs(), std::memory_order_relaxed);
  }
  if (base_since_ns != 0) EndBaseTime(MonotonicNs());
  Note(CaptureEvent::kStart, trigger);
  base_is_on.store(true, std::memory_order_relaxed);
  capture_is_on.store(true, std::memory_order_release);
  SwitchCollectors(true);
  Header().captures_started.fetch_add(1, std::memory_order_relaxed);
  SetState();
}

void EndCapture(CaptureTrigger trigger, bool is_last) {
  ErrnoGuard errno_guard;
  const LockGuard guard(lock);
  if (!IsCapturing()) return;
  const bool goes_on = keeps_base && trigger == CaptureTrigger::kWindow;
  if (!goes_on) base_is_on.store(false, std::memory_order_relaxed);
  capture_is_on.store(false, std::memory_order_release);
  Note(CaptureEvent::kStop, trigger);
  if (goes_on) base_since_ns = MonotonicNs();
  if (!is_warm.load(std::memory_order_relaxed)) SwitchWarmUpCollectors(false);
  is_over = is_over || is_last || IsLast(trigger);
  SwitchCollectors(false);
  Header().captures_stopped.fetch_add(1, std::memory_order_relaxed);
  SetState();
  // After its last row, which whoever sees the number is going to write.
  if (trigger != CaptureTrigger::kWindow && trigger != CaptureTrigger::kProfiler) {
    ended.fetch_add(1, std::memory_order_release);
  }
  if (is_over && Config().capture_end == CaptureEnd::kStopShutdown) RequestShutdown();
  WakeWriter();
}

void KeepBaseAfterWindows(bool keeps) { keeps_base = keeps; }

void SwitchBase(bool on) {
  const LockGuard guard(lock);
  if (IsCapturing() || is_over || on == IsBaseRecorded()) return;
  const uint64_t now_ns = MonotonicNs();
  base_is_on.store(on, std::memory_order_release);
  on ? void(base_since_ns = now_ns) : EndBaseTime(now_ns);
  SwitchBaseCollectors(on);
  SetState();
}

void TellBaseTime(DrainRound* round) {
  if (round->depth != Depth::kReady && round->depth != Depth::kEnd) TellBaseTimeUntil(MonotonicNs());
}

void WarmUpForCapture() {
  if (is_warm.exchange(true)) return;
  WarmUpTime& time = warm_ups[++warm_up_count % kWarmUps];
  time.to_ns.store(0, std::memory_order_relaxed);
  time.from_ns.store(MonotonicNs(), std::memory_order_relaxed);
  if (!IsCapturing()) SwitchWarmUpCollectors(true);
}

void EndCaptureWithProcess() {
  if (Config().capture_start == CaptureStart::kBegin || !IsCapturing()) return;
  capture_is_on.store(false, std::memory_order_release);
  base_is_on.store(false, std::memory_order_release);
  Write(CaptureEvent::kStop, CaptureTrigger::kEnd);
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

void ConvertCaptureRow(const RowHeader* header, const RowSource& source) {
  const auto& row = *reinterpret_cast<const CaptureRow*>(header);
  source.output->Add(trace::CaptureRecord{source.clock.ToNs(row.stamp), row.event, row.trigger, row.number},
                     source.cursor);
}

}  // namespace gprof::tracer
