// Starts and stops recording in every process of a run: the timers and the signal of `profile`.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "launch/run/attendant.h"
#include "launch/run/launch.h"
#include "launch/run/progress.h"
#include "launch/salvage/run_folder_files.h"

namespace gprof {

class CaptureControl : public Attendant {
 public:
  // `order` names the trace file. Publishes what holds at the start of the program.
  CaptureControl(RunFolder* folder, const LaunchOptions& options, CaptureOrder order);

  void OnProgramStart(pid_t program, int64_t now_ns);
  int64_t Attend(int64_t now_ns) override;
  void OnCaptureSignal() override;

  bool has_ended_program() const { return has_ended_program_; }

 private:
  void Record(trace::CaptureTrigger trigger);
  void Stop(trace::CaptureTrigger trigger);
  void AttendTimers(int64_t now_ns);
  void AttendKill(int64_t now_ns);
  void AttendShutdown(int64_t now_ns);

  RunFolder* folder_;
  CaptureOptions options_;
  std::function<void(const std::string&)> say_;
  CaptureOrder order_;
  pid_t program_ = -1;
  int64_t start_ns_ = kNoDeadline, stop_ns_ = kNoDeadline;
  int64_t kill_ns_ = kNoDeadline;  // when not even the processes that are slow to stop are waited for
  int64_t look_ns_ = kNoDeadline;  // when to look for processes that want the end
  uint32_t stop_epoch_ = 0;
  bool has_ended_program_ = false;
};

}  // namespace gprof
