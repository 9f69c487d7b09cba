#include "tracer/capture/windows.h"

#include <algorithm>
#include <utility>

#include "tracer/capture/base_cost.h"
#include "tracer/capture/capture.h"
#include "tracer/capture/work_count.h"
#include "tracer/core/config.h"
#include "tracer/core/notice.h"
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
// Until it was measured a few times: the first windows of a program that warms up measure that.
constexpr double kPresumedSlowDown = 0.3, kMostPresumed = 1;
constexpr uint32_t kMeasured = 9, kEnoughMeasured = 3;

// Recording is off in all but the first; with a budget the base level is on then, as long as it fits.
enum class Phase : uint8_t {
  kRecord,   // recording is on, and calls are counted
  kCount,    // calls are counted
  kNothing,  // the same without the base level
  kRest
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
uint64_t rest_until_ns = 0;
constexpr uint64_t kLookNs = 500 * kMsNs;  // in a rest, at what the base level costs
constexpr uint64_t kLongestOfNothingNs = 500 * kMsNs;
BaseCost base_cost;
bool is_excess_told = false;
constexpr uint32_t kLooksBetweenComparisons = 4;
uint32_t looks = 0;               // in rests
bool is_comparison_next = false;  // after this window with the base level, which lies in a rest
bool is_comparing = false;        // with the last window without the base level, in which a call took so long
double nothing_ns = 0;

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

trace::RecordLevel Level() {
  if (phase == Phase::kRecord) return trace::RecordLevel::kAll;
  return IsBaseRecorded() ? trace::RecordLevel::kBase : trace::RecordLevel::kNothing;
}

void Write(const WorkCount& count) {
  const uint64_t now = MonotonicNs();
  Output().Add(trace::WorkRateRecord{count_ns, now - count_ns, ++window_number, static_cast<uint8_t>(Level()),
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
  base_cost.CountFrom(phase_ns, true);
}

void SayExcess(double share) {
  if (std::exchange(is_excess_told, true)) return;
  const auto hundredths = static_cast<uint64_t>(share * 10000 + 0.5);
  Message message;
  message << "between windows nothing is recorded: the base level, with NVTX ranges and waits, would cost about "
          << hundredths / 100 << "." << hundredths / 10 % 10 << hundredths % 10 << "% of the run time";
  Say(trace::NoticeLevel::kInfo, message);
}

void LeaveBaseUnlessItFits(double share) {
  if (!IsBaseRecorded() || base_cost.Fits(share)) return;
  SayExcess(share);
  SwitchBase(false);
}

// What is to be on when the window ends.
void ChooseBase() {
  if (Config().budget_ppm == 0) return;
  base_cost.Expect(base_cost.SinceThen(MonotonicNs()));
  if (!base_cost.Fits()) SayExcess(base_cost.Share());
  KeepBaseAfterWindows(base_cost.Fits());
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
  ChooseBase();
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
  return known < kEnoughMeasured ? std::clamp(likely, kPresumedSlowDown, kMostPresumed) : likely;
}

double Budget() { return Config().budget_ppm / 1e6; }

// How long recording has to rest, so that what it has cost is no more than is allowed of the time since the begin.
uint64_t RestNs(double after_ns) {
  const double around_ns = before_ns > 0 ? (before_ns + after_ns) / 2 : after_ns;
  if (around_ns > 0 && recorded_ns > 0) slow_downs[measured++ % kMeasured] = recorded_ns / around_ns - 1;
  const double slow_down = ExpectedSlowDown();
  spent_ns += static_cast<double>(recorded_length_ns) * slow_down / (1 + slow_down) + kSwitchCostNs;
  const double of_windows = Budget() - (IsBaseRecorded() ? base_cost.Share() : 0);
  const double needed_ns = spent_ns / of_windows;
  const auto passed_ns = static_cast<double>(MonotonicNs() - begin_ns);
  return needed_ns > passed_ns ? static_cast<uint64_t>(needed_ns - passed_ns) : 0;
}

void Rest() {
  Listen(false);
  TheCallSource()->listen();
  EnterPhase(Phase::kRest);
  next_ns = std::min(phase_ns + kLookNs, rest_until_ns);
  base_cost.CountFrom(MonotonicNs(), false);
}

void RestOrRecord() {
  const uint64_t now = MonotonicNs();
  rest_until_ns > now + 2 * count_length_ns ? Rest() : BeginRecording();
}

// The window without the base level lies between two that have it.
void EndComparison(double call_ns) {
  base_cost.Measure((before_ns + call_ns) / 2, nothing_ns);
  is_comparing = false;
  before_ns = call_ns;
  LeaveBaseUnlessItFits(base_cost.Share());
  RestOrRecord();
}

void BeginComparison() {
  SwitchBase(false);
  EnterPhase(Phase::kNothing);
}

// A program that is slow now is the last that should go unseen for longer: what was counted is then left.
void EndCountOfNothing() {
  Drain(Depth::kReady);
  const WorkCount count = ReadCount();
  const bool is_enough = count.calls >= kFewestCalls;
  if (is_enough) {
    Write(count);
    nothing_ns = NsOfCall(count);
    is_comparing = true;
  }
  SwitchBase(true);
  is_enough ? EnterPhase(Phase::kCount) : RestOrRecord();
}

bool IsComparisonDue() { return IsBaseRecorded() && base_cost.IsDue() && count_length_ns <= kLongestOfNothingNs; }

void EndCountWithout() {
  Drain(Depth::kReady);
  const WorkCount count = ReadCount();
  if (NeedsMore(count)) return;
  Write(count);
  const double call_ns = NsOfCall(count);
  if (is_comparing) return EndComparison(call_ns);
  if (std::exchange(is_comparison_next, false)) {
    before_ns = call_ns;
    return BeginComparison();
  }
  const bool follows_recording = recorded_length_ns != 0;
  const uint64_t rest_ns = Config().budget_ppm != 0 && follows_recording ? RestNs(call_ns) : 0;
  before_ns = call_ns;
  recorded_length_ns = 0;
  // Where there is no need to rest, there is none to look so often.
  length_ns = Config().budget_ppm != 0 && follows_recording && rest_ns == 0 ? std::min(2 * length_ns, kLongestNs)
                                                                            : count_length_ns;
  if (!follows_recording) return BeginRecording();
  rest_until_ns = MonotonicNs() + rest_ns;
  base_cost.CountRound();
  IsComparisonDue() ? BeginComparison() : RestOrRecord();
}

void EndRest() {
  Listen(true);
  TheCallSource()->listen();
  EnterPhase(Phase::kCount);
}

// A program whose windows cost much rests for minutes, and the base level is to be measured all the same.
bool IsComparisonDueInRest() {
  if (++looks % kLooksBetweenComparisons != 0) return false;
  base_cost.CountRound();
  return IsComparisonDue() && rest_until_ns > MonotonicNs() + 4 * count_length_ns;
}

// The program may do something else by now, of which the base level would record too much.
void LookInRest() {
  Drain(Depth::kReady);
  LeaveBaseUnlessItFits(base_cost.SinceThen(MonotonicNs()));
  base_cost.CountFrom(MonotonicNs(), false);
  next_ns = std::min(MonotonicNs() + kLookNs, rest_until_ns);
  is_comparison_next = IsComparisonDueInRest();
  if (is_comparison_next) EndRest();
}

}  // namespace

void StartWindows() {
  if (Config().capture_start != CaptureStart::kWindows) return;
  ResetWorkCount();
  has_seen_work = false;
  begin_ns = MonotonicNs();
  spent_ns = before_ns = 0;
  recorded_length_ns = measured = window_number = 0;
  is_comparing = is_comparison_next = false;
  looks = 0;
  is_excess_told = false;
  base_cost.Start(Budget());
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
  if (phase == Phase::kRest) return MonotonicNs() < rest_until_ns ? LookInRest() : EndRest();
  if (!is_counting) return CountFromNow();
  if (phase == Phase::kNothing) return EndCountOfNothing();
  phase == Phase::kRecord ? EndRecording() : EndCountWithout();
}

}  // namespace gprof::tracer
