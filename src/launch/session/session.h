// An interactive session: a program that runs with the tracer idle, and captures that are started and stopped by hand.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "launch/run/attendant.h"
#include "launch/run/progress.h"
#include "launch/salvage/run_folder_files.h"
#include "launch/salvage/salvage.h"

namespace gprof {

enum class SessionState { kIdle, kRecording, kStopping, kCancelling };

class Session : public Attendant {
 public:
  Session(std::string name, RunFolder* folder, Salvager* salvager);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void OnProgramStart(pid_t program) { program_ = program; }
  int64_t Attend(int64_t now_ns) override;

  // Each throws Error where the session is not in the state for it. They take effect at once; State() and Last() say
  // when every process has followed.
  void Start(const std::string& output, uint64_t device, uint64_t inode, uint64_t run);
  void Stop();
  void Cancel();
  // Ends the capture, then sends `signal` to the program, 0 for none. The session is closed for good.
  void Shutdown(int signal);
  // The program has ended: ends the capture and waits for the processes that live on, and for what dead ones left.
  void Finish();

  const std::string& name() const { return name_; }
  SessionState state() const { return state_; }
  bool is_closed() const { return is_closed_; }
  pid_t program() const { return program_; }
  const std::string& output() const { return folder_->order().output; }  // of the capture, or of the last one
  uint32_t captures() const { return captures_; }                        // started so far
  // Where each of them went, but for those that were cancelled.
  const std::vector<CaptureOrder>& traces() const { return traces_; }
  int64_t since_ns() const { return since_ns_; }  // of the state, CLOCK_MONOTONIC
  // How far the processes have followed the last order, and whether waiting for them is over.
  Progress Now() const { return ProgressOf(*folder_, epoch_); }
  const Progress& Last() const { return last_; }
  bool HasStarted(int64_t now_ns) const;

 private:
  void Enter(SessionState state, trace::CaptureWish wish, trace::CaptureTrigger trigger);
  void Leave();

  std::string name_;
  RunFolder* folder_;
  Salvager* salvager_;
  pid_t program_ = -1;
  SessionState state_ = SessionState::kIdle;
  uint32_t epoch_ = 0, captures_ = 0;
  int64_t since_ns_;
  std::vector<CaptureOrder> traces_;
  int output_descriptor_ = -1;  // open as long as it is recorded into, so that its inode number is not given away
  Progress last_;
  int shutdown_signal_ = 0;
  bool is_shutting_down_ = false, is_closed_ = false;
};

}  // namespace gprof
