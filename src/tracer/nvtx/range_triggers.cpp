#include "tracer/nvtx/range_triggers.h"

#include <atomic>
#include <cstring>

#include "tracer/capture/capture.h"
#include "tracer/capture/delay_windows.h"
#include "tracer/core/tracer.h"
#include "tracer/nvtx/given_names.h"
#include "tracer/store/interned_names.h"

namespace gprof::tracer {

namespace {

using trace::CaptureTrigger;

constinit std::atomic<uint32_t> open_ranges{0};  // watched ones, on all threads
constinit std::atomic<uint32_t> steps_seen{0};
uint32_t watched_domain = 0;

constexpr uint32_t kStarted = 64;
constinit std::atomic<uint64_t> started[kStarted] = {};  // watched start/end ranges that are open

bool IsWatched(uint32_t domain, uint32_t id, const char* text, std::size_t size) {
  const TracerConfig& config = Config();
  if (config.capture_range[0] == 0) return false;
  if (config.capture_domain[0] != '*' && domain != watched_domain) return false;
  if (id != 0) {
    const trace::Text name = Names().TextOf({id});
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

void OnStepBegins() {
  const StepKind kind = KindOfStep(steps_seen.fetch_add(1, std::memory_order_relaxed));
  if (kind == StepKind::kWarmup) WarmUpForCapture();
  if (kind == StepKind::kActive) BeginCapture(CaptureTrigger::kSteps);
}

void OnStepEnds() {
  const StepKind next = KindOfStep(steps_seen.load(std::memory_order_relaxed));
  if (next == StepKind::kActive) return;
  if (next == StepKind::kWarmup) WarmUpForCapture();
  EndCapture(CaptureTrigger::kSteps, next == StepKind::kOver);
}

OpenRange Opened(uint32_t domain, uint32_t id, const char* text, std::size_t size) {
  return {NameOfDomain(domain), id != 0 ? trace::StringId{id} : Names().Intern(text, size)};
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

}  // namespace

void OnPushSeen(ThreadLog* log, uint32_t domain, uint32_t id, const char* text, std::size_t size) {
  if (KeepsOpenRanges()) NotePush(log, Opened(domain, id, text, size));
  WatchedRange* watched = &log->watched;
  if (watched->is_open) {
    if (watched->domain == domain) ++watched->nested;
    return;
  }
  if (!IsWatched(domain, id, text, size)) return;
  *watched = {domain, 0, true};
  OnRangeOpens();
}

void OnPopSeen(ThreadLog* log, uint32_t domain) {
  if (KeepsOpenRanges()) NotePop(log, NameOfDomain(domain));
  WatchedRange* watched = &log->watched;
  if (!watched->is_open || watched->domain != domain) return;
  if (watched->nested > 0) {
    --watched->nested;
    return;
  }
  watched->is_open = false;
  OnRangeCloses();
}

void OnStartSeen(uint64_t range, uint32_t domain, uint32_t id, const char* text, std::size_t size) {
  if (KeepsOpenRanges()) NoteStart(range, Opened(domain, id, text, size));
  if (!IsWatched(domain, id, text, size)) return;
  for (auto& place : started) {
    uint64_t none = 0;
    if (!place.compare_exchange_strong(none, range, std::memory_order_acq_rel)) continue;
    return OnRangeOpens();
  }
}

void OnEndSeen(uint64_t range) {
  if (KeepsOpenRanges()) NoteEnd(range);
  for (auto& place : started) {
    uint64_t expected = range;
    if (range == 0 || !place.compare_exchange_strong(expected, 0, std::memory_order_acq_rel)) continue;
    return OnRangeCloses();
  }
}

void SetUpRangeTriggers() {
  const TracerConfig& config = Config();
  if (config.capture_domain[0] != 0 && config.capture_domain[0] != '*') {
    watched_domain = DomainOf(Names().Intern(config.capture_domain));
  }
}

void ChooseNvtxPath(bool is_capturing) {
  const CaptureStart start = Config().capture_start;
  const bool has_trigger = (start == CaptureStart::kNvtx || start == CaptureStart::kSteps) && !CapturesAreOver();
  const NvtxPath untriggered = is_capturing ? NvtxPath::kRecord : NvtxPath::kIgnore;
  nvtx_path.store(has_trigger || KeepsOpenRanges() || DelaysRanges() ? NvtxPath::kWatch : untriggered,
                  std::memory_order_relaxed);
}

void ResetRangeTriggersAfterFork() {
  open_ranges.store(0, std::memory_order_relaxed);
  for (auto& range : started) range.store(0, std::memory_order_relaxed);
  ResetOpenRangesAfterFork();
}

}  // namespace gprof::tracer
