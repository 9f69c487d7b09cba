#include "tracer/capture/windows.h"

#include <algorithm>

#include "tracer/capture/capture.h"
#include "tracer/capture/work_count.h"
#include "tracer/core/config.h"
#include "tracer/store/chunk_output.h"
#include "tracer/store/interned_names.h"
#include "tracer/system/system_calls.h"
#include "tracer/writing/drain.h"

namespace gprof::tracer {
namespace {

constexpr uint64_t kMsNs = 1000000;
constexpr uint64_t kLengthNs = 100 * kMsNs;
constexpr uint64_t kLongestNs = 2000 * kMsNs;
constexpr uint64_t kSettleNs = 10 * kMsNs;  // after a switch nothing is counted: calls and work are still under way
constexpr uint32_t kManyCalls = 32, kFewestCalls = 8;  // of a window, for a rate that means something
// To count a call takes some 0.4 µs: of functions that are called more often the program would notice that.
constexpr uint64_t kCheapCallsPerSecond = 5000;
constexpr uint64_t kSwitchCostNs = kMsNs / 2;  // of the program, for both switches of a window
constexpr double kPresumedSlowDown = 0.3;      // until it was measured a few times
constexpr uint32_t kMeasured = 9, kEnoughMeasured = 3;

enum class Phase : uint8_t {
  kRecord,  // recording is on, and calls are counted
  kCount,   // it is off, and calls are counted
  kRest     // it is off
};

Phase phase = Phase::kRecord;
bool is_counting = false;
bool has_seen_work = false;
uint64_t next_ns = 0, phase_ns = 0, count_ns = 0, begin_ns = 0;
uint64_t worked_from_ns = 0;           // in this window
uint64_t count_length_ns = kLengthNs;  // of windows without recording
uint64_t length_ns = kLengthNs;        // and of those with
uint32_t window_number = 0;

// Of a budget.
double spent_ns = 0;
double before_ns = 0, recorded_ns = 0;  // for a call, in the last windows without and with recording; 0: not known
uint64_t recorded_length_ns = 0;        // of the window with recording
double slow_downs[kMeasured] = {};
uint32_t measured = 0;

void EnterPhase(Phase next) {
  EndCount();
  is_counting = false;
  phase = next;
  phase_ns = MonotonicNs();
  next_ns = phase_ns + kSettleNs;
}

void CountFromNow() {
  BeginCount();
  is_counting = true;
  count_ns = MonotonicNs();
  next_ns = count_ns + (phase == Phase::kRecord ? length_ns : count_length_ns);
  if (phase == Phase::kRecord && TheCallSource() != nullptr) TheCallSource()->forget();
}

double NsOfCall(const WorkCount& count) {
  return count.calls < 2 ? 0 : static_cast<double>(count.span_ns) / (count.calls - 1);
}

void Write(const WorkCount& count) {
  const uint64_t now = MonotonicNs();
  Output().Add(trace::WorkRateRecord{count_ns, now - count_ns, ++window_number, phase == Phase::kRecord,
                                     TheCallSource()->name(counted_function.load(std::memory_order_relaxed)),
                                     count.calls, count.span_ns, count.threads});
}

void LookAgainSoon() { next_ns = MonotonicNs() + kLengthNs / 2; }

// A program that is slow at times gets longer windows, up to a limit.
bool NeedsMore(const WorkCount& count) {
  if (count.calls >= kManyCalls || MonotonicNs() - count_ns >= kLongestNs) return false;
  if (count.calls >= kFewestCalls && MonotonicNs() - count_ns >= 2 * count_length_ns) return false;
  LookAgainSoon();
  return true;
}

// Of the time before, a program that has hardly called CUDA yet, nothing was spent. It may have begun to just now, so
// how often it calls what is seen from here on.
void LookFromWorkOn() {
  has_seen_work = true;
  worked_from_ns = count_ns;
  CountFromNow();
  LookAgainSoon();
}

// Windows are as long as the function that is counted needs. One that is cheap to count is looked for a while.
void PickFunction() {
  const uint64_t looked_ns = MonotonicNs() - count_ns;
  if (TheCallSource() == nullptr) {
    CountFromNow();
    return LookAgainSoon();
  }
  const bool looks_on = looked_ns < kLongestNs / 2;
  const auto most = static_cast<uint32_t>(kCheapCallsPerSecond * looked_ns / (1000 * kMsNs));
  const uint32_t function = TheCallSource()->pick(looks_on ? kManyCalls : kFewestCalls, most, !looks_on);
  if (function == 0) {
    if (!looks_on) CountFromNow();
    return LookAgainSoon();
  }
  if (!has_seen_work) return LookFromWorkOn();
  ChooseCounted(function);
  const uint64_t needed_ns = looked_ns * kManyCalls / TheCallSource()->calls(function);
  length_ns = count_length_ns = std::min(kLongestNs, std::max(kLengthNs, needed_ns));
  CountFromNow();
}

void BeginRecording() {
  BeginCapture(trace::CaptureTrigger::kWindow);
  EnterPhase(Phase::kRecord);
  worked_from_ns = phase_ns;
}

void EndRecording() {
  Drain(Depth::kReady);
  if (counted_function.load(std::memory_order_relaxed) == 0) return PickFunction();
  const WorkCount count = ReadCount();
  if (count.calls < kFewestCalls && MonotonicNs() - count_ns >= 3 * count_length_ns) {
    ChooseCounted(0);  // the program does something else now
    return PickFunction();
  }
  if (NeedsMore(count)) return;
  Write(count);
  recorded_ns = NsOfCall(count);
  recorded_length_ns = MonotonicNs() - worked_from_ns;
  Listen(true);
  EndCapture(trace::CaptureTrigger::kWindow);
  Drain(Depth::kAll);
  EnterPhase(Phase::kCount);
}

// The upper quartile of the last ones, so that what is allowed is not exceeded by chance.
double ExpectedSlowDown() {
  const uint32_t known = std::min(measured, kMeasured);
  double sorted[kMeasured];
  std::copy(slow_downs, slow_downs + known, sorted);
  std::sort(sorted, sorted + known);
  const double likely = known == 0 ? 0 : std::max(0.0, sorted[known - 1 - known / 4]);
  return known < kEnoughMeasured ? std::max(likely, kPresumedSlowDown) : likely;
}

// How long recording has to rest, so that what it has cost is no more than is allowed of the time since the begin.
uint64_t RestNs(double after_ns) {
  const double around_ns = before_ns > 0 ? (before_ns + after_ns) / 2 : after_ns;
  if (around_ns > 0 && recorded_ns > 0) slow_downs[measured++ % kMeasured] = recorded_ns / around_ns - 1;
  const double slow_down = ExpectedSlowDown();
  spent_ns += static_cast<double>(recorded_length_ns) * slow_down / (1 + slow_down) + kSwitchCostNs;
  const double needed_ns = spent_ns * 1e6 / Config().budget_ppm;
  const auto passed_ns = static_cast<double>(MonotonicNs() - begin_ns);
  return needed_ns > passed_ns ? static_cast<uint64_t>(needed_ns - passed_ns) : 0;
}

void Rest(uint64_t rest_ns) {
  Listen(false);
  TheCallSource()->listen();
  EnterPhase(Phase::kRest);
  next_ns = phase_ns + rest_ns;
}

void EndCountWithout() {
  Drain(Depth::kReady);
  const WorkCount count = ReadCount();
  if (NeedsMore(count)) return;
  Write(count);
  const double call_ns = NsOfCall(count);
  const bool follows_recording = recorded_length_ns != 0;
  const uint64_t rest_ns = Config().budget_ppm != 0 && follows_recording ? RestNs(call_ns) : 0;
  before_ns = call_ns;
  recorded_length_ns = 0;
  // Where there is no need to rest, there is none to look so often.
  length_ns = Config().budget_ppm != 0 && follows_recording && rest_ns == 0 ? std::min(2 * length_ns, kLongestNs)
                                                                            : count_length_ns;
  rest_ns > 2 * count_length_ns ? Rest(rest_ns) : BeginRecording();
}

void EndRest() {
  Listen(true);
  TheCallSource()->listen();
  EnterPhase(Phase::kCount);
}

}  // namespace

void StartWindows() {
  if (Config().capture_start != CaptureStart::kWindows) return;
  ResetWorkCount();
  has_seen_work = false;
  begin_ns = MonotonicNs();
  spent_ns = before_ns = 0;
  recorded_length_ns = measured = window_number = 0;
  length_ns = count_length_ns = kLengthNs;
  BeginRecording();
}

uint64_t WindowLeftNs() {
  if (Config().capture_start != CaptureStart::kWindows) return ~0ull;
  const uint64_t now = MonotonicNs();
  return next_ns > now ? next_ns - now : 0;
}

void CarryOutWindow() {
  if (WindowLeftNs() > 0) return;
  if (phase == Phase::kRest) return EndRest();
  if (!is_counting) return CountFromNow();
  phase == Phase::kRecord ? EndRecording() : EndCountWithout();
}

}  // namespace gprof::tracer
