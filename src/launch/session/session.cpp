#include "launch/session/session.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/machine/descriptor.h"
#include "gprof/error.h"

namespace gprof {
namespace {

using trace::CaptureTrigger;
using trace::CaptureWish;

constexpr int64_t kSessionPollNs = 10'000'000;
constexpr int64_t kStartPatienceNs = 5'000'000'000, kStopPatienceNs = 30'000'000'000;

bool IsFile(int descriptor, uint64_t device, uint64_t inode) {
  struct stat status;
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_dev == device &&
         status.st_ino == inode;
}

}  // namespace

Session::Session(std::string name, RunFolder* folder, Salvager* salvager)
    : name_(std::move(name)), folder_(folder), salvager_(salvager), since_ns_(MonotonicNs()) {}

Session::~Session() {
  if (output_descriptor_ >= 0) close(output_descriptor_);
}

void Session::Enter(SessionState state, CaptureWish wish, CaptureTrigger trigger) {
  CaptureOrder order = folder_->order();
  order.wish = wish;
  order.trigger = trigger;
  epoch_ = folder_->Publish(order);
  state_ = state;
  since_ns_ = MonotonicNs();
}

void Session::Start(const std::string& output, uint64_t device, uint64_t inode, uint64_t run) {
  if (is_shutting_down_) throw Error(ExitCode::kUsage, "the session is being shut down");
  if (state_ == SessionState::kRecording) {
    throw Error(ExitCode::kUsage, "already recording to '" + this->output() + "'", "gprof-cli stop ends the capture");
  }
  if (state_ != SessionState::kIdle) {
    throw Error(ExitCode::kUsage, "the previous capture is still being written", "try again in a moment");
  }
  const int descriptor = OpenHigh(output.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK, 0);
  if (descriptor < 0) throw Error(ExitCode::kUnreadable, "cannot open '" + output + "': " + std::strerror(errno));
  if (!IsFile(descriptor, device, inode)) {
    close(descriptor);
    throw Error(ExitCode::kUnreadable, "'" + output + "' is not the file created for the capture",
                "run launch and start in the same container with the same mounts");
  }
  output_descriptor_ = descriptor;
  ++captures_;
  CaptureOrder order = folder_->order();
  order.output = output;
  order.device = device;
  order.inode = inode;
  order.run = run;
  order.wish = CaptureWish::kRecord;
  order.trigger = CaptureTrigger::kCommand;
  traces_.push_back(order);
  epoch_ = folder_->Publish(order);
  state_ = SessionState::kRecording;
  since_ns_ = MonotonicNs();
}

bool Session::HasStarted(int64_t now_ns) const {
  return state_ != SessionState::kRecording || now_ns > since_ns_ + kStartPatienceNs || Now().IsComplete();
}

void Session::Stop() {
  if (state_ != SessionState::kRecording) {
    throw Error(ExitCode::kUsage, "nothing is being recorded", "start a capture with gprof-cli start");
  }
  Enter(SessionState::kStopping, CaptureWish::kIdle, CaptureTrigger::kCommand);
}

void Session::Cancel() {
  if (state_ != SessionState::kRecording) {
    throw Error(ExitCode::kUsage, "nothing is being recorded", "start a capture with gprof-cli start");
  }
  folder_->ForgetTrace(traces_.back().run);
  traces_.pop_back();
  Enter(SessionState::kCancelling, CaptureWish::kCancel, CaptureTrigger::kCommand);
  salvager_->DropUnlessDone(epoch_);
}

void Session::Shutdown(int signal) {
  if (is_shutting_down_) throw Error(ExitCode::kUsage, "the session is being shut down already");
  is_shutting_down_ = true;
  shutdown_signal_ = signal;
  if (state_ == SessionState::kRecording) Stop();
}

int64_t Session::Attend(int64_t now_ns) {
  const bool is_waiting = state_ == SessionState::kStopping || state_ == SessionState::kCancelling;
  if (is_waiting) {
    // What dead processes left belongs to it as well.
    salvager_->Sweep(true);
    const bool is_recovering = salvager_->Poll();
    last_ = Now();
    const bool is_written = last_.IsComplete() && !is_recovering;
    if (is_written || now_ns > since_ns_ + kStopPatienceNs) Leave();
  }
  if (is_shutting_down_ && !is_closed_ && state_ == SessionState::kIdle) {
    is_closed_ = true;
    if (shutdown_signal_ != 0) SignalProgram(*folder_, program_, shutdown_signal_);
  }
  return state_ == SessionState::kStopping || state_ == SessionState::kCancelling ? now_ns + kSessionPollNs
                                                                                  : kNoDeadline;
}

void Session::Leave() {
  const CaptureOrder& order = folder_->order();
  // By now the name may be somebody else's.
  struct stat status;
  const bool is_ours =
      stat(order.output.c_str(), &status) == 0 && status.st_dev == order.device && status.st_ino == order.inode;
  if (state_ == SessionState::kCancelling && is_ours) unlink(order.output.c_str());
  close(output_descriptor_);
  output_descriptor_ = -1;
  state_ = SessionState::kIdle;
  since_ns_ = MonotonicNs();
}

void Session::Finish() {
  if (state_ == SessionState::kRecording) Enter(SessionState::kStopping, CaptureWish::kIdle, CaptureTrigger::kEnd);
  const int64_t deadline_ns = MonotonicNs() + kStartPatienceNs;
  while (state_ != SessionState::kIdle && MonotonicNs() < deadline_ns) {
    Attend(MonotonicNs());
    const timespec pause = {0, kSessionPollNs};
    if (state_ != SessionState::kIdle) nanosleep(&pause, nullptr);
  }
  is_shutting_down_ = is_closed_ = true;
}

}  // namespace gprof
