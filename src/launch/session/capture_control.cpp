#include "launch/session/capture_control.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace gprof {
namespace {

using trace::CaptureTrigger;
using trace::CaptureWish;

constexpr int64_t kPollNs = 10'000'000;
constexpr int64_t kLookNs = 50'000'000;
constexpr int64_t kPatienceNs = 5'000'000'000;

}  // namespace

CaptureControl::CaptureControl(RunFolder* folder, const LaunchOptions& options, CaptureOrder order)
    : folder_(folder), options_(options.capture), say_(options.say), order_(std::move(order)) {
  const bool starts_at_once = options_.delay_ns == 0 && options_.toggle_signal == 0;
  if (!options_.IsCommanded()) {
    order_.wish = CaptureWish::kTriggered;
  } else {
    order_.wish = starts_at_once ? CaptureWish::kRecord : CaptureWish::kIdle;
  }
  folder_->Publish(order_);
}

void CaptureControl::OnProgramStart(pid_t program, int64_t now_ns) {
  program_ = program;
  if (options_.delay_ns != 0) start_ns_ = now_ns + options_.delay_ns;
  if (options_.duration_ns != 0) stop_ns_ = now_ns + options_.delay_ns + options_.duration_ns;
  if (options_.ends_program && options_.kill_signal != 0) look_ns_ = now_ns;
}

void CaptureControl::Record(CaptureTrigger trigger) {
  order_.wish = CaptureWish::kRecord;
  order_.trigger = trigger;
  folder_->Publish(order_);
}

void CaptureControl::Stop(CaptureTrigger trigger) {
  order_.wish = CaptureWish::kIdle;
  order_.trigger = trigger;
  stop_epoch_ = folder_->Publish(order_);
}

void CaptureControl::OnCaptureSignal() {
  if (options_.toggle_signal == 0) return;  // it is for somebody else
  const bool records = order_.wish == CaptureWish::kRecord;
  if (records) {
    Stop(CaptureTrigger::kSignal);
  } else {
    Record(CaptureTrigger::kSignal);
  }
  say_(records ? "recording stopped; send the signal again to resume" : "recording; send the signal again to stop");
}

int64_t CaptureControl::Attend(int64_t now_ns) {
  AttendTimers(now_ns);
  AttendShutdown(now_ns);
  AttendKill(now_ns);
  const int64_t poll_ns = kill_ns_ == kNoDeadline ? kNoDeadline : now_ns + kPollNs;
  return std::min({start_ns_, stop_ns_, poll_ns, look_ns_});
}

void CaptureControl::AttendTimers(int64_t now_ns) {
  if (now_ns >= start_ns_) {
    start_ns_ = kNoDeadline;
    Record(CaptureTrigger::kDelay);
  }
  if (now_ns < stop_ns_) return;
  stop_ns_ = kNoDeadline;
  Stop(CaptureTrigger::kDelay);
  if (options_.kill_signal != 0) {
    kill_ns_ = now_ns + kPatienceNs;
  } else {
    say_("capture duration reached, recording stopped; the program keeps running");
  }
}

void CaptureControl::AttendShutdown(int64_t now_ns) {
  if (now_ns < look_ns_) return;
  look_ns_ = now_ns + kLookNs;
  const std::vector<Arena> arenas = folder_->Arenas();
  const bool is_wanted =
      std::any_of(arenas.begin(), arenas.end(), [](const Arena& arena) { return arena.wants_shutdown; });
  if (!is_wanted) return;
  look_ns_ = kNoDeadline;
  Stop(CaptureTrigger::kCommand);
  kill_ns_ = now_ns + kPatienceNs;
}

void CaptureControl::AttendKill(int64_t now_ns) {
  if (kill_ns_ == kNoDeadline) return;
  if (now_ns < kill_ns_ && !ProgressOf(*folder_, stop_epoch_).IsComplete()) return;
  kill_ns_ = kNoDeadline;
  has_ended_program_ = true;
  SignalProgram(*folder_, program_, options_.kill_signal);
}

}  // namespace gprof
